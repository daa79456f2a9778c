import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/plain-error.ts';

const KEY_BYTES = 32;

/** Creates the file with the key of the dashboard sessions (mode 0600) in the data folder of standalone, unless it exists. @returns its path */
export async function ensureSessionKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'session-key');
  try {
    await writeFile(path, `${randomBytes(KEY_BYTES).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  return path;
}
