import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import {
  filesIn,
  readBounded,
  removeFile,
  removeTemporaries,
  stemOf,
  writeAtomically,
  type Signature,
} from './files.ts';

/** The last accepted state of an object, with the fields that a server sets, and the manifest file it came from. */
export interface StoredRecord<K extends ResourceKind> {
  readonly object: ResourceByKind[K];
  /** Name of the manifest file and its signature when it was accepted; absent while the object waits for its finalizers. */
  readonly source?: { readonly file: string; readonly signature: Signature };
}

const PARALLEL_READS = 32;

/**
 * The records of one kind, in `.state/<plural>/`: uid, versions, times and status of each object, and its last accepted state.
 *
 * They are kept apart from the manifests, so that a change of status never changes a manifest, which may be in Git.
 */
export class Records<K extends ResourceKind> {
  readonly #directory: string;

  /** @param directory created if it does not exist, readable by the owner only: it also holds records of Secrets */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @param onBroken called for a record that cannot be read; its object is then read from its manifest, as a new object */
  async load(onBroken: (file: string, error: unknown) => void): Promise<StoredRecord<K>[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await removeTemporaries(this.#directory);
    const files = await filesIn(this.#directory, ['.json']);
    const records: StoredRecord<K>[] = [];
    for (let start = 0; start < files.length; start += PARALLEL_READS) {
      const batch = files.slice(start, start + PARALLEL_READS).map(async (file) => {
        try {
          return parseRecord<K>(await readBounded(join(this.#directory, file)));
        } catch (error) {
          onBroken(file, error);
          return undefined;
        }
      });
      records.push(...(await Promise.all(batch)).filter((record) => record !== undefined));
    }
    return records;
  }

  async write(record: StoredRecord<K>): Promise<void> {
    await writeAtomically(this.#path(record.object.metadata.name), JSON.stringify(record), 0o600);
  }

  async remove(name: string): Promise<void> {
    await removeFile(this.#path(name));
  }

  #path(name: string): string {
    return join(this.#directory, `${stemOf(name)}.json`);
  }
}

function parseRecord<K extends ResourceKind>(text: string): StoredRecord<K> {
  const record = JSON.parse(text) as Partial<StoredRecord<K>> | null;
  if (typeof record?.object?.metadata?.name !== 'string') throw new Error('the record contains no object');
  return record as StoredRecord<K>;
}
