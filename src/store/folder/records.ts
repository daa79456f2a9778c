import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import { filesIn, readBounded, removeFile, stemOf, writeAtomically, type Signature } from './files.ts';

/** An object as it was last accepted, with all that a server sets, and the file that it came from. */
export interface StoredRecord<K extends ResourceKind> {
  readonly object: ResourceByKind[K];
  /** Name of the manifest file and its signature at that time; missing while the object only waits for its finalizers. */
  readonly source?: { readonly file: string; readonly signature: Signature };
}

const PARALLEL_READS = 32;

/**
 * What a store knows beyond the manifests of one kind, in `.state/<plural>/`: uid, versions, times and status of each object, and its last accepted form.
 *
 * Beside the manifests and not within: they stay what people wrote and can be kept in Git, and a status that changes every
 * few minutes touches none of them.
 */
export class Records<K extends ResourceKind> {
  readonly #directory: string;

  /** @param directory made if it does not exist, for the owner alone: records of Secrets are as secret as these */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @param onBroken called for a record that cannot be read; its object is then taken from its manifest, as a new one */
  async load(onBroken: (file: string, error: unknown) => void): Promise<StoredRecord<K>[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
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
  if (typeof record?.object?.metadata?.name !== 'string') throw new Error('it holds no object');
  return record as StoredRecord<K>;
}
