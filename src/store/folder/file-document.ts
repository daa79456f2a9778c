import { errorMessage } from '../../platform/plain-error.ts';
import { StoreError } from '../resource-store.ts';
import type { SharedDocument } from '../shared-document.ts';
import { isMissing, readBounded, signatureOf, writeAtomically } from './files.ts';

/** Only the owner may read it, like the other files of the folder. */
const MODE = 0o600;
const MISSING = 'missing';

/** A file. Its version is its signature; the caller holds the lock of the folder, so no other process writes it between check and write. */
export function fileDocument(path: string): SharedDocument {
  return {
    async read() {
      try {
        const version = await signatureOf(path);
        if (version !== undefined) return { text: await readBounded(path), version };
      } catch (error) {
        if (!isMissing(error)) throw unavailable(path, error);
      }
      return { text: '', version: MISSING };
    },
    async write(text, version) {
      try {
        if (((await signatureOf(path)) ?? MISSING) === version) {
          await writeAtomically(path, text, MODE);
          return;
        }
      } catch (error) {
        throw unavailable(path, error);
      }
      throw new StoreError('conflict', `file \`${path}\` was changed by another process: read it again`);
    },
  };
}

function unavailable(path: string, error: unknown): StoreError {
  return new StoreError('unavailable', `file \`${path}\`: ${errorMessage(error)}`, { cause: error });
}
