import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stripped } from '../../../tools/image/stripped-program.ts';

it('runs as before, without what only debuggers read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'olap-warden-stripped-'));
  try {
    const file = join(folder, 'node');
    const whole = readFileSync(process.execPath);
    const size = whole.length;
    writeFileSync(file, stripped(whole), { mode: 0o755 });
    const output = execFileSync(file, [
      '-p',
      '[process.version, typeof fetch, crypto.hash("sha256", "").length].join()',
    ]);
    expect(String(output)).toBe(`${process.version},function,64\n`);
    expect(readFileSync(file).length).toBeLessThan(0.9 * size);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('refuses what is no program for Linux', () => {
  expect(() => stripped(Buffer.from('#!/bin/sh\n'))).toThrow('the program is not a 64-bit ELF file');
});
