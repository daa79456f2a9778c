import { spawn } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditFile } from '../../../../../src/api/server/logs/audit-file.ts';
import { run } from '../../../../../src/commands/run.ts';
import { execute } from '../../../../support/execute.ts';
import { once } from '../../../../support/once.ts';

const AUDIT_FILE = join(import.meta.dirname, '../../../../../src/api/server/logs/audit-file.ts');

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
  path = join(folder, 'audit.jsonl');
});
afterEach(() => rm(folder, { recursive: true }));

/** Opens the file as a process does, appends records and closes it. */
function write(count: number, options: { maxBytes?: number; maxFiles?: number } = {}): void {
  const file = openFile(options);
  for (let index = 0; index < count; index++) file.append({ type: 'write', index });
  file.close();
}

function openFile({ maxBytes = 1_000_000, maxFiles = 5 } = {}): AuditFile {
  return new AuditFile({ path, maxBytes, maxFiles, now: Date.now, onError: () => undefined });
}

/** `olap-warden audit verify <file>`. */
async function verify(): Promise<{ code: number; out: string }> {
  let out = '';
  const print = (text: string): void => void (out += text);
  const code = await run(['audit', 'verify', path], { env: {}, stdout: print, stderr: print });
  return { code, out: out.replaceAll(`${folder}/`, '').replaceAll(/writer [0-9a-f]{12}/g, 'writer W') };
}

/** Changes the lines of the file. */
async function edit(change: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  await writeFile(path, change(lines).join('\n'));
}

/** The chain as `docs/rbac.md` describes it, read without any part of the gateway. */
const PYTHON = `
import hashlib, json, sys
last = {}
before = '0' * 64
for name in sys.argv[1:]:
    for line in open(name, 'rb').read().split(b'\\n'):
        if not line: continue
        record = json.loads(line)
        writer, previous = record['writer'], record['previous']
        number, expected = last.get(writer, (0, before))
        assert record['sequence'] == number + 1, (record, number)
        assert previous == expected, record
        before = hashlib.sha256(line).hexdigest()
        last[writer] = (record['sequence'], before)
print(len(last), sum(number for number, _ in last.values()))
`;

describe('the chain of an audit file', () => {
  it('goes on over rotations and starts, as an independent reader finds by the documentation', async () => {
    write(10, { maxBytes: 900 });
    write(10, { maxBytes: 900, maxFiles: 20 });
    const { code, out } = await verify();
    expect(out).toMatch(/^audit\.jsonl: \d+ records of \d processes in \d+ files: complete\n/);
    expect(code).toBe(0);
    const fresh = join(folder, 'audit.jsonl');
    await rm(folder, { recursive: true });
    folder = await mkdtemp(join(tmpdir(), 'audit-'));
    path = join(folder, 'audit.jsonl');
    write(5);
    write(5);
    expect(fresh).not.toBe(path);
    const { stdout } = await execute('python3', ['-c', PYTHON, path]);
    expect(stdout).toBe('2 12\n');
  });

  it('shows a record that is missing', async () => {
    write(10);
    await edit((lines) => lines.toSpliced(4, 2));
    const { code, out } = await verify();
    expect(out).toContain('audit.jsonl:5: records 5 to 6 are missing (writer W)\n');
    expect(code).toBe(1);
  });

  it('shows a record that was changed', async () => {
    write(10);
    await edit((lines) => lines.map((line) => line.replace('"index":3', '"index":4')));
    const { code, out } = await verify();
    expect(out).toContain('audit.jsonl:6: record 5 was changed: its hash is not that in record 6 (writer W)\n');
    expect(code).toBe(1);
  });

  it('shows a record that was cut, one that is repeated, and a beginning that is missing', async () => {
    write(10);
    await edit((lines) => lines.map((line, index) => (index === 5 ? line.slice(0, 30) : line)));
    expect((await verify()).out).toContain('audit.jsonl:6: a record was cut: the line is not a record\n');
    await rm(path);
    write(10);
    await edit((lines) => lines.toSpliced(5, 0, lines[4]!));
    expect((await verify()).out).toContain('audit.jsonl:6: record 5 is repeated or not in its order');
    await rm(path);
    write(10);
    await edit((lines) => lines.slice(3));
    expect(await verify()).toMatchObject({
      code: 1,
      out: expect.stringContaining('audit.jsonl:1: records 1 to 3 are missing'),
    });
  });

  it('shows that the last records of an earlier process are missing, and those of a whole rotated file', async () => {
    write(5);
    await edit((lines) => lines.slice(0, 4).concat(''));
    write(5);
    // The next start refers to the last line that it found.
    expect((await verify()).code).toBe(0);
    await edit((lines) => lines.toSpliced(3, 1));
    expect((await verify()).out).toContain('the last record before this start was changed, or is missing');
    await rm(path);
    write(30, { maxBytes: 1200, maxFiles: 20 });
    await rm(`${path}.2`);
    expect((await verify()).out).toMatch(/audit\.jsonl\.1:1: records \d+ to \d+ are missing/);
  });

  it('goes on after a process that was killed in the middle of a line, and the next start says so', async () => {
    write(3);
    await appendFile(path, '{"type":"write","ind');
    const incomplete: number[] = [];
    const file = new AuditFile({
      path,
      maxBytes: 1_000_000,
      maxFiles: 5,
      now: Date.now,
      onError: () => undefined,
      onIncomplete: (bytes) => incomplete.push(bytes),
    });
    expect((await verify()).code).toBe(1);
    file.append({ type: 'write' });
    file.close();
    expect(incomplete).toEqual([20]);
    expect(await readFile(path, 'utf8')).toContain('"type":"start"');
    const { code, out } = await verify();
    expect(out).toContain('audit.jsonl:5: note: a record is incomplete, because its process ended while it wrote it');
    expect(code).toBe(0);
    // Not if the line is shortened later.
    await edit((lines) => lines.map((line) => (line === '{"type":"write","ind' ? '{"type":"w' : line)));
    expect((await verify()).code).toBe(1);
  });

  it('of two processes that write into one file are two chains', async () => {
    const script = `import { AuditFile } from ${JSON.stringify(AUDIT_FILE)};
const file = new AuditFile({ path: ${JSON.stringify(path)}, maxBytes: 1e7, maxFiles: 2, now: Date.now, onError: () => undefined });
for (let index = 0; index < 300; index++) file.append({ type: 'write', index, text: 'x'.repeat(500) });
file.close();`;
    const processes = [1, 2].map(() =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }),
    );
    const codes = await Promise.all(processes.map(async (child) => (await once(child, 'exit'))[0] as number));
    expect(codes).toEqual([0, 0]);
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringContaining('602 records of 2 processes') });
  });

  it('loses no complete record when the process is killed', async () => {
    const script = `import { AuditFile } from ${JSON.stringify(AUDIT_FILE)};
const file = new AuditFile({ path: ${JSON.stringify(path)}, maxBytes: 1e7, maxFiles: 2, now: Date.now, onError: () => undefined });
for (let index = 0; ; index++) { file.append({ type: 'write', index }); if (index === 200) process.kill(process.pid, 'SIGKILL'); }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    await once(child, 'exit');
    write(2);
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringContaining('205 records of 2 processes') });
  });

  it('shows records that did not fit into memory while the disk was full', async () => {
    const file = openFile();
    file.append({ type: 'write' });
    const text = 'x'.repeat(1024 * 1024);
    // As if the disk were full: the descriptor is closed.
    file.close();
    for (let index = 0; index < 6; index++) file.append({ type: 'write', text });
    expect(file.sequence).toBe(8);
    expect((await verify()).code).toBe(0);
  });
});

describe('olap-warden audit', () => {
  it('reports usage errors and files that cannot be read', async () => {
    const call = async (...args: string[]): Promise<[number, string]> => {
      let out = '';
      const print = (text: string): void => void (out += text);
      return [await run(['audit', ...args], { env: {}, stdout: print, stderr: print }), out];
    };
    expect(await call()).toMatchObject([2, expect.stringContaining('missing `verify`')]);
    expect(await call('verify')).toMatchObject([2, expect.stringContaining('missing FILE')]);
    expect(await call('verify', path)).toMatchObject([2, expect.stringContaining('ENOENT')]);
    expect(await call('--help')).toMatchObject([0, expect.stringContaining('Usage: olap-warden audit verify FILE')]);
  });
});
