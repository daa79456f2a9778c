import { readlinkSync } from 'node:fs';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ResultRecord } from '../../../../../src/results/result-store.ts';
import { BufferPool } from '../../../../../src/results/stores/file/buffer-pool.ts';
import { openFile } from '../../../../../src/results/stores/file/file-io.ts';
import { type OpenFile, OpenFiles } from '../../../../../src/results/stores/file/open-files.ts';
import { submission } from '../../answers.ts';

const MAX_IDLE = 64;

describe.runIf(process.platform === 'linux')('the open files of a store', () => {
  let folder: string;
  let now: number;
  let files: OpenFiles;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-open-'));
    now = 5000;
    files = new OpenFiles(new BufferPool(), { monotonic: () => now });
  });
  afterEach(async () => {
    files.close();
    await rm(folder, { recursive: true });
  });

  async function add(requestId: string): Promise<OpenFile> {
    const path = join(folder, requestId);
    await writeFile(path, '[1]');
    const record = submission({ requestId }) as ResultRecord;
    return files.add(await openFile(path, 'r'), { record, index: undefined });
  }

  /** Whether the descriptor is open and belongs to the file: descriptor numbers are reused. */
  function isOpen({ descriptor, cached }: OpenFile): boolean {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(join(folder, cached.record.requestId));
    } catch {
      return false;
    }
  }

  it('closes the least recently used idle files above the limit, and no file in use', async () => {
    const used = await add('used');
    const idle: OpenFile[] = [];
    for (let i = 0; i < MAX_IDLE + 2; i++) idle.push(await add(`idle-${i}`));
    for (const file of idle) await files.release(file);
    await vi.waitFor(() => expect(idle.map(isOpen).indexOf(true)).toBe(2));
    expect(idle.filter(isOpen)).toHaveLength(MAX_IDLE);
    expect([isOpen(used), files.acquire('idle-0'), files.acquire('idle-1')]).toEqual([true, undefined, undefined]);
    expect(files.acquire('idle-2')).toBe(idle[2]);
  });

  it('does not count a file that is used again as idle', async () => {
    const used = await add('used');
    await files.release(used);
    expect(files.acquire('used')).toBe(used);
    for (let i = 0; i < MAX_IDLE; i++) await files.release(await add(`idle-${i}`));
    expect(files.acquire('idle-0')).toBeDefined();
    expect(files.acquire('used')).toBe(used);
  });

  it('closes a forgotten file after its last user', async () => {
    const file = await add('a');
    expect(files.acquire('a')).toBe(file);
    files.forget('a');
    expect(files.acquire('a')).toBeUndefined();
    await files.release(file);
    expect(isOpen(file)).toBe(true);
    await files.release(file);
    expect(isOpen(file)).toBe(false);
  });

  it('detects after a moment that another process deleted a file', async () => {
    await files.release(await add('a'));
    await unlink(join(folder, 'a'));
    now += 100;
    expect(files.acquire('a')).toBeDefined();
    now += 1;
    expect(files.acquire('a')).toBeUndefined();
  });
});
