import { hkdfSync, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { errorMessage } from '../../../platform/plain-error.ts';
import type { MonotonicClock } from '../../../platform/clock.ts';

/** A key that seals the tokens of dashboard sessions. */
export interface SessionKey {
  /** Says which key sealed a session. It reveals nothing about the key. */
  readonly id: string;
  /** 32 bytes, for AES-256-GCM. */
  readonly secret: Buffer;
}

export interface SessionKeys {
  /** The key that seals new sessions. */
  sealing(): Promise<SessionKey>;
  /** The key with this id; undefined if it is unknown. */
  find(id: string): Promise<SessionKey | undefined>;
}

export interface SessionKeyFile {
  readonly path: string;
  readonly clock: MonotonicClock;
  /** Called when the file cannot be read or is invalid; the last keys stay in use. The message does not contain content of the file. */
  readonly onProblem?: (message: string) => void;
}

/** Maximum delay until a changed file is used. */
const RE_READ_MS = 10_000;
/** A session with an unknown key may have been sealed by a gateway that has read a newer file. */
const RE_READ_FOR_UNKNOWN_MS = 1_000;
const MIN_KEY_CHARACTERS = 32;
const MAX_KEYS = 16;
const MAX_FILE_BYTES = 65_536;

const SECRET_BYTES = 32;
const ID_BYTES = 6;

/** The key that is derived from a line of the file (HKDF-SHA256). */
export function deriveSessionKey(line: string): SessionKey {
  const bytes = Buffer.from(hkdfSync('sha256', line, '', 'olap-warden session v1', SECRET_BYTES + ID_BYTES));
  return { id: bytes.subarray(SECRET_BYTES).toString('base64url'), secret: bytes.subarray(0, SECRET_BYTES) };
}

/** A key that exists only in this process. Its sessions end with the process, and other gateways do not accept them. */
export function processSessionKeys(): SessionKeys {
  const key = deriveSessionKey(randomBytes(SECRET_BYTES).toString('base64url'));
  return { sealing: async () => key, find: async (id) => (id === key.id ? key : undefined) };
}

/**
 * The keys in a file: one for each line that is not empty. The first one seals new sessions, all are accepted.
 * @throws {Error} names the line, not its content
 */
export function parseSessionKeys(content: string): SessionKey[] {
  const lines = content.split('\n').map((line) => line.trim());
  for (const [index, line] of lines.entries()) {
    if (line !== '' && line.length < MIN_KEY_CHARACTERS)
      throw new Error(`line ${index + 1} has fewer than ${MIN_KEY_CHARACTERS} characters`);
  }
  const keys = lines.filter((line) => line !== '');
  if (keys.length === 0)
    throw new Error('it is empty: it must have a key of at least 32 random characters in each line');
  if (keys.length > MAX_KEYS) throw new Error(`it has more than ${MAX_KEYS} keys`);
  return keys.map(deriveSessionKey);
}

/**
 * The keys in a file, such as a mounted Secret. The file is read again on use, at most every ten seconds. While it does not exist or is invalid, the
 * last keys stay in use; before the first ones, a key of this process.
 */
export function sessionKeysFromFile(options: SessionKeyFile): SessionKeys {
  const { path, clock, onProblem } = options;
  const own = processSessionKeys();
  let keys: readonly SessionKey[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let problem: string | undefined;

  const read = async (): Promise<void> => {
    try {
      keys = parseSessionKeys(await readStart(path));
      problem = undefined;
    } catch (error) {
      const message = `the session keys in ${path} are not used: ${errorMessage(error)}`;
      // Report each problem once: the file is read again and again.
      if (message !== problem) onProblem?.(message);
      problem = message;
    }
    readAt = clock.monotonic();
    reading = undefined;
  };
  const refresh = async (maxAgeMs: number): Promise<void> => {
    if (clock.monotonic() - readAt >= maxAgeMs) await (reading ??= read());
  };
  const known = async (id: string): Promise<SessionKey | undefined> =>
    keys.find((key) => key.id === id) ?? (await own.find(id));

  return {
    async sealing() {
      await refresh(RE_READ_MS);
      return keys[0] ?? (await own.sealing());
    },
    async find(id) {
      await refresh(RE_READ_MS);
      const key = await known(id);
      if (key !== undefined) return key;
      await refresh(RE_READ_FOR_UNKNOWN_MS);
      return known(id);
    },
  };
}

/** The content of a file of at most MAX_FILE_BYTES. @throws {Error} if it is larger or cannot be read */
async function readStart(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_FILE_BYTES + 1), 0, MAX_FILE_BYTES + 1, 0);
    if (bytesRead > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES} bytes`);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
