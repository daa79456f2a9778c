import { close, fsync, open, read, write } from 'node:fs';
import { promisify } from 'node:util';
import { errorCode } from '../../../platform/plain-error.ts';
import { damaged, QueryError, UnusableStoreError } from '../../errors.ts';

// Plain descriptors, because a FileHandle needs an object with a finalizer for each page.
export const openFile = promisify(open);
export const closeFile = promisify(close);
export const syncFile = promisify(fsync);
const readSome = promisify(read);
const writeSome = promisify(write);

/** Makes a rename within the folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const descriptor = await openFile(folder, 'r');
  try {
    await syncFile(descriptor);
  } finally {
    await closeFile(descriptor);
  }
}

/**
 * Reads exactly the bytes `from` to `to` into the beginning of `buffer`.
 * @throws {QueryError} damaged where the file is shorter
 */
export async function readInto(descriptor: number, buffer: Buffer, from: number, to: number): Promise<Buffer> {
  const length = to - from;
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await readSome(descriptor, buffer, filled, length - filled, from + filled);
    if (bytesRead === 0) throw damaged('its file is too short');
    filled += bytesRead;
  }
  return buffer.subarray(0, length);
}

export function readRange(descriptor: number, from: number, to: number): Promise<Buffer> {
  return readInto(descriptor, Buffer.allocUnsafeSlow(to - from), from, to);
}

export async function writeAll(descriptor: number, bytes: Uint8Array, at: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await writeSome(descriptor, bytes, written, bytes.length - written, at + written);
    written += bytesWritten;
  }
}

/** Creates a file with the text and syncs it. @throws if it exists */
export async function writeDurably(path: string, text: string): Promise<void> {
  const descriptor = await openFile(path, 'wx', 0o600);
  try {
    await writeAll(descriptor, Buffer.from(text), 0);
    await syncFile(descriptor);
  } finally {
    await closeFile(descriptor);
  }
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(String(errorCode(error)));
}

/** Maps a file system error to a QueryError without local paths. */
export function asStoreError(error: unknown): QueryError {
  if (error instanceof QueryError) return error;
  if (hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) {
    return new QueryError(
      'store-full',
      'no space for the result: the disk of the result store is full. Delete unused results, ' +
        'enable `olap.broker.pagination.file.enableStorageCleaner`, or provide more space for `olap.broker.pagination.file.data.dir`',
      { cause: error },
    );
  }
  if (hasCode(error, 'ENOENT')) {
    return new QueryError(
      'store-unavailable',
      'a folder of the result store is missing: restore what `olap.broker.pagination.file.data.dir` and `olap.broker.pagination.temp.dir` name, or restart the gateway, which creates them',
      { cause: error },
    );
  }
  return new QueryError('store-unavailable', 'result store failed; see the log of the gateway', { cause: error });
}

/** Why the folders of a store cannot be used, for the administrator. */
export function unusableFolder(error: unknown): UnusableStoreError {
  const { code = 'unknown error', path } = error as NodeJS.ErrnoException;
  const folder = path === undefined ? 'a folder' : `the folder \`${path}\``;
  return new UnusableStoreError(
    `${folder} of the result store cannot be used (${code}): \`olap.broker.pagination.file.data.dir\` and \`olap.broker.pagination.temp.dir\` must be folders in which this process may create files`,
    { cause: error },
  );
}
