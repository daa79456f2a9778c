import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { execute } from '../../support/execute.ts';

const PROGRAM = join(import.meta.dirname, 'full-disk-program.ts');

/** Whether this machine lets a process have mounts of its own. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const SKIPPED = canMount() ? '' : ' (skipped: `unshare -rm` does not work on this machine)';

describe(`a file store whose disk is full${SKIPPED}`, () => {
  it.skipIf(SKIPPED)('reports it, leaves nothing of what it could not store, and keeps the rest', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-full-'));
    try {
      const script = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" "$3" "$1"';
      const args = ['-rm', 'sh', '-c', script, 'sh', folder, process.execPath, PROGRAM];
      const { stdout } = await execute('unshare', args, { timeout: WAIT_LIMIT_MS });
      expect(JSON.parse(stdout)).toEqual({
        large: 'store-full',
        small: 'store-full',
        note: 'store-full',
        renewal: 'store-full',
        again: 'stored',
        leftovers: [[], []],
        isKept: true,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
