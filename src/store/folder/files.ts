import { createHash, randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** No object of a kube-apiserver is larger than this, either. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;
/** File systems allow 255 bytes; an object's name alone may have 253. */
const MAX_STEM_LENGTH = 200;

/** Changes whenever the file was written or replaced, as far as its directory entry tells. */
export type Signature = string;

/** Undefined where there is no such file, or it is no file. */
export async function signatureOf(path: string): Promise<Signature | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? toSignature(found) : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** @throws {Error} when the file is too large to be an object, or cannot be read */
export async function readBounded(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`the file has ${size} bytes; at most ${MAX_FILE_BYTES} are read`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/**
 * After it resolves the new text is on the disk; at any moment the file holds the old text or the new one, whole.
 *
 * @returns the signature of what was written, also where somebody else has replaced it since
 */
export async function writeAtomically(path: string, text: string, mode: number): Promise<Signature> {
  const temporary = join(dirname(path), `.${randomUUID()}.tmp`);
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

function toSignature({ ino, size, mtimeMs, ctimeMs }: Stats): Signature {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** Names of the files in a folder that end with one of `extensions`, sorted; names that begin with a dot are not looked at. */
export async function filesIn(directory: string, extensions: readonly string[]): Promise<string[]> {
  const names = await readdir(directory);
  return names.filter((name) => isVisible(name) && extensions.some((extension) => name.endsWith(extension))).sort();
}

export function isVisible(name: string): boolean {
  return !name.startsWith('.');
}

/** A file name without extension for an object's name: the name itself, cut and with a hash where it is too long for a file system. */
export function stemOf(name: string): string {
  if (name.length <= MAX_STEM_LENGTH) return name;
  return `${name.slice(0, MAX_STEM_LENGTH)}~${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Makes a rename or a removal last over a power failure. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
