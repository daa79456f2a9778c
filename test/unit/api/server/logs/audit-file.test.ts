import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../../../support/execute.ts';
import { AuditFile } from '../../../../../src/api/server/logs/audit-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('the audit file', () => {
  it('is rotated by its size, keeps a number of files, and loses no record in those', async () => {
    const errors: unknown[] = [];
    const path = join(folder, 'logs/audit.jsonl');
    const options = {
      path,
      maxBytes: 600,
      maxFiles: 2,
      now: Date.now,
      onError: (error: unknown) => errors.push(error),
    };
    const file = new AuditFile(options);
    for (let index = 0; index < 20; index++) file.append({ index, text: 'x'.repeat(10) });
    file.close();
    const again = new AuditFile(options);
    again.append({ index: 20, text: 'x'.repeat(10) });
    again.close();
    expect(errors).toEqual([]);
    expect((await readdir(join(folder, 'logs'))).sort()).toEqual(['audit.jsonl', 'audit.jsonl.1', 'audit.jsonl.2']);
    const lines: number[] = [];
    for (const name of ['audit.jsonl.2', 'audit.jsonl.1', 'audit.jsonl']) {
      const text = await readFile(join(folder, 'logs', name), 'utf8');
      expect(text.length).toBeLessThanOrEqual(600);
      lines.push(...indexes(text));
    }
    expect(lines.length).toBeGreaterThan(5);
    expect(lines).toEqual(Array.from({ length: lines.length }, (_, offset) => 21 - lines.length + offset));
  });

  it('reports a failure once', async () => {
    const errors: unknown[] = [];
    const file = new AuditFile({
      path: join(folder, 'audit.jsonl'),
      maxBytes: 1000,
      maxFiles: 1,
      now: Date.now,
      onError: (error) => errors.push(error),
    });
    file.close();
    file.append({ index: 1 });
    file.append({ index: 2 });
    expect(errors).toHaveLength(1);
  });

  it('keeps the records that it could not write, and says how many are missing', async () => {
    const path = join(folder, 'audit.jsonl');
    await symlink('/dev/full', path);
    const [events, failed]: [string[], number[]] = [[], []];
    const file = new AuditFile({
      path,
      maxBytes: 3 * 1024 * 1024,
      maxFiles: 5,
      now: Date.now,
      onFailed: () => failed.push(1),
      onError: () => events.push('failed'),
      onRecovered: (missing) => events.push(`recovered, ${missing} missing`),
    });
    const text = 'x'.repeat(1024 * 1024);
    for (let index = 0; index < 6; index++) file.append({ index, text });
    expect([events, failed.length, file.problem()]).toEqual([['failed'], 6, 'the last record could not be written']);
    // The size of the file is that of its records, so the next attempt begins another file, which has room.
    await rm(path);
    file.append({ index: 6 });
    expect(events).toEqual(['failed']);
    file.close();
  });

  it('does not divide a record that was written in part between two files', async () => {
    const path = join(folder, 'audit.jsonl');
    const options = { path, maxBytes: 300_000, maxFiles: 2 };
    const script = [
      `import { AuditFile } from ${JSON.stringify(join(import.meta.dirname, '../../../../../src/api/server/logs/audit-file.ts'))};`,
      `const file = new AuditFile({ ...${JSON.stringify(options)}, now: Date.now, onError: () => undefined });`,
      // The signal of the limit is ignored by Node; the write stops at 100 blocks of 1024 bytes.
      `for (let index = 0; index < 3; index++) file.append({ index, text: 'x'.repeat(60_000) });`,
      `console.log(file.problem());`,
      `(await import('node:child_process')).execFileSync('prlimit', ['--fsize=unlimited', '--pid', String(process.pid)]);`,
      `file.retry(); console.log(file.problem()); file.append({ index: 3 }); file.close();`,
    ].join('\n');
    const limited = [
      '-c',
      'ulimit -S -f 100; exec "$@"',
      'bash',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
    ];
    const { stdout } = await execute('bash', limited);
    expect(stdout).toBe('the last record could not be written\nundefined\n');
    expect(indexes(await readFile(path, 'utf8'))).toEqual([0, 1, 2, 3]);
  });
});

/** The indexes of the records, without those of starts. */
function indexes(text: string): number[] {
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type?: string; index: number });
  return records.filter(({ type }) => type !== 'start').map(({ index }) => index);
}
