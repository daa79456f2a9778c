import fs from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as fileIo from '../../../../../src/results/stores/file/file-io.ts';

const { asStoreError, closeFile, openFile, unusableFolder, writeDurably } = fileIo;

/** The module on a system that transfers at most three bytes in a call, as some do near the end of a disk or after a signal. */
async function withShortTransfers(): Promise<typeof fileIo> {
  const { read, write } = fs;
  const short = (whole: unknown): unknown => {
    const call: (...parameters: unknown[]) => Promise<unknown> = promisify(whole as () => void);
    const custom = (descriptor: number, bytes: Uint8Array, offset: number, length: number, at: number): unknown =>
      call(descriptor, bytes, offset, Math.min(length, 3), at);
    return Object.assign(() => undefined, { [promisify.custom]: custom });
  };
  Object.assign(fs, { read: short(read), write: short(write) });
  syncBuiltinESMExports();
  try {
    // Another instance of the module, which takes these functions when it is loaded.
    const path = '../../../../../src/results/stores/file/file-io.ts?short';
    return (await import(path)) as typeof fileIo;
  } finally {
    Object.assign(fs, { read, write });
    syncBuiltinESMExports();
  }
}

it.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('%s says that the disk is full, and names no path', (code) => {
  const error = asStoreError(Object.assign(new Error(`${code}: write '/secret/path'`), { code }));
  expect(error.code).toBe('store-full');
  expect(error.message).toMatch(
    /^no space for the result: the disk of the result store is full\. Delete unused results/,
  );
  expect(error.message).not.toContain('/secret');
});

it.each([
  [{ code: 'EACCES', path: '/data' }, 'the folder `/data` of the result store cannot be used (EACCES): '],
  [{ code: 'EIO' }, 'a folder of the result store cannot be used (EIO): '],
  [{ path: '/data' }, 'the folder `/data` of the result store cannot be used (unknown error): '],
])('the administrator is told which folder cannot be used: %j', (fields, start) => {
  const { code, message } = unusableFolder(Object.assign(new Error('x'), fields));
  expect(code).toBe('store-unavailable');
  expect(message.startsWith(start)).toBe(true);
});

describe('the bytes of a file', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-io-'));
    path = join(folder, 'file');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function range(from: number, to: number, { openFile, readRange, closeFile } = fileIo): Promise<Buffer> {
    const descriptor = await openFile(path, 'r');
    try {
      return await readRange(descriptor, from, to);
    } finally {
      await closeFile(descriptor);
    }
  }

  it('are read exactly, into memory of the same size', async () => {
    await writeFile(path, '0123456789');
    const bytes = await range(3, 7);
    expect([bytes.toString(), bytes.buffer.byteLength]).toEqual(['3456', 4]);
    expect((await range(3, 3)).length).toBe(0);
    await expect(range(3, 11)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('are complete where the system reads and writes fewer at once than requested', async () => {
    const slow = await withShortTransfers();
    const text = 'abcdefghijklmnopqrstuvwxyz';
    await slow.writeDurably(path, text);
    expect(await readFile(path, 'utf8')).toBe(text);
    expect((await range(2, 25, slow)).toString()).toBe(text.slice(2, 25));
    const descriptor = await openFile(path, 'r+');
    await slow.writeAll(descriptor, Buffer.from('0123456789'), 5);
    await closeFile(descriptor);
    expect(await readFile(path, 'utf8')).toBe('abcde0123456789pqrstuvwxyz');
  });

  it('are not written into a file that exists', async () => {
    await writeFile(path, 'old');
    await expect(writeDurably(path, 'new')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(path, 'utf8')).toBe('old');
  });
});
