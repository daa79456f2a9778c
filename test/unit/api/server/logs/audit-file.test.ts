import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
    const options = { path, maxBytes: 100, maxFiles: 2, onError: (error: unknown) => errors.push(error) };
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
      expect(text.length).toBeLessThanOrEqual(100);
      for (const line of text.trimEnd().split('\n')) lines.push((JSON.parse(line) as { index: number }).index);
    }
    expect(lines).toEqual(Array.from({ length: lines.length }, (_, offset) => 21 - lines.length + offset));
  });

  it('reports a failure once', async () => {
    const errors: unknown[] = [];
    const file = new AuditFile({
      path: join(folder, 'audit.jsonl'),
      maxBytes: 1000,
      maxFiles: 1,
      onError: (error) => errors.push(error),
    });
    file.close();
    file.append({ index: 1 });
    file.append({ index: 2 });
    expect(errors).toHaveLength(1);
  });
});
