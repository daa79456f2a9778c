import { createHash, randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../../platform/plain-error.ts';

/** Above the largest object that a kube-apiserver accepts. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;
/** File systems allow 255 bytes; an object's name can have 253 without the extension. */
const MAX_STEM_LENGTH = 200;

const TEMPORARY_SUFFIX = '.tmp';
const TEMPORARY_NAME = /^\.[0-9a-f-]{36}\.tmp$/;

/** Inode, size and times of a file: changes when the file is written or replaced. */
export type Signature = string;

/** Undefined where the path does not exist or is not a file. */
export async function signatureOf(path: string): Promise<Signature | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? toSignature(found) : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Reads a file of limited size. @throws {Error} when the file is too large or cannot be read */
export async function readBounded(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const found = await file.stat();
    if (found.size > MAX_FILE_BYTES)
      throw new Error(`the file has ${found.size} bytes; the limit is ${MAX_FILE_BYTES}`);
    if (found.isFile()) return await file.readFile('utf8');
    // A device behind a link has no size, and may have no end.
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    await file.close();
  }
}

/**
 * Replaces a file atomically: at any moment it holds the whole old text or the whole new one. The new text is synced to the disk.
 *
 * @returns the signature of the written file, even where another process has replaced it since
 */
export async function writeAtomically(path: string, text: string, mode: number): Promise<Signature> {
  const temporary = join(dirname(path), `.${randomUUID()}${TEMPORARY_SUFFIX}`);
  const file = await open(temporary, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
    await rename(temporary, path);
    await syncDirectory(dirname(path));
    return toSignature(await file.stat());
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Removes what writeAtomically() left in a folder when its process was killed. Only for a folder that no other process writes to. */
export async function removeTemporaries(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (TEMPORARY_NAME.test(name)) await rm(join(directory, name), { force: true });
  }
}

function toSignature({ ino, size, mtimeMs, ctimeMs }: Stats): Signature {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** Names of the files in a folder that end with one of `extensions`, sorted. Names that begin with a dot are ignored. */
export async function filesIn(directory: string, extensions: readonly string[]): Promise<string[]> {
  const names = await readdir(directory);
  return names.filter((name) => isVisible(name) && extensions.some((extension) => name.endsWith(extension))).sort();
}

export function isVisible(name: string): boolean {
  return !name.startsWith('.');
}

/** The file name without extension for an object: its name, or, where that is too long for a file system, its beginning and a hash. */
export function stemOf(name: string): string {
  if (name.length <= MAX_STEM_LENGTH) return name;
  return `${name.slice(0, MAX_STEM_LENGTH)}~${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** Makes a rename or a removal durable. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
