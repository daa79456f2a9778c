import { QueryError } from '../../../../../src/results/errors.ts';
import type { SignedLink } from '../../../../../src/results/result-store.ts';
import type {
  LinkValidity,
  ObjectClient,
  ObjectUpload,
  StoredObject,
  UnfinishedUpload,
} from '../../../../../src/results/stores/object/object-client.ts';

/** An in-memory bucket with injectable failures. */
export class MemoryBucket implements ObjectClient {
  readonly base = 'mem://bucket';
  readonly rights = {
    each: { list: 'List', put: 'Put', get: 'Get', delete: 'Delete' },
    objects: ['List', 'Delete'],
    uploads: ['ListUploads', 'AbortUpload'],
  };
  readonly objects = new Map<string, { readonly bytes: Buffer; readonly modifiedMs: number | undefined }>();
  readonly unfinished: UnfinishedUpload[] = [];
  /** Error messages by call; `delete:<key>` for a single key. */
  readonly failing = new Map<string, string>();
  readonly calls: string[] = [];
  /** Called at the beginning of each call. */
  onCall: (name: string) => void = () => undefined;
  /** Order of listings. */
  order: 'sorted' | 'records last' = 'sorted';
  now = 0;

  async upload(key: string): Promise<ObjectUpload> {
    const parts: Buffer[] = [];
    return {
      write: async (bytes) => {
        parts.push(Buffer.from(bytes));
      },
      complete: async () => {
        this.#store(key, Buffer.concat(parts));
        this.#call('complete');
      },
      abort: async () => this.#call('abort'),
    };
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    this.#store(key, Buffer.from(bytes));
    this.#call('put');
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    this.#call('get');
    return this.objects.get(key)?.bytes;
  }

  async size(key: string): Promise<number | undefined> {
    this.#call('size');
    return this.objects.get(key)?.bytes.length;
  }

  async range(key: string, from: number, to: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    this.#call('range');
    const found = this.objects.get(key);
    return found && arrive(found.bytes.subarray(from, to));
  }

  async *list(start: string): AsyncIterable<StoredObject> {
    this.#call('list');
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(start)).sort();
    if (this.order === 'records last') keys.sort((a, b) => Number(a.endsWith('.json')) - Number(b.endsWith('.json')));
    for (const key of keys) {
      const found = this.objects.get(key);
      if (found) yield { key, bytes: found.bytes.length, modifiedMs: found.modifiedMs };
    }
  }

  async link(key: string, { from, seconds }: LinkValidity): Promise<SignedLink> {
    this.#call('link');
    return { url: `mem://bucket/${key}?signed`, expirationTimeMs: from.getTime() + seconds * 1000 };
  }

  async delete(key: string): Promise<void> {
    this.#call('delete');
    this.#call(`delete:${key}`);
    this.objects.delete(key);
  }

  async *uploads(start: string): AsyncIterable<UnfinishedUpload> {
    this.#call('uploads');
    yield* this.unfinished.filter(({ key }) => key.startsWith(start));
  }

  async abortUpload(upload: UnfinishedUpload): Promise<void> {
    this.#call('abortUpload');
    this.unfinished.splice(this.unfinished.indexOf(upload), 1);
  }

  async close(): Promise<void> {}

  #store(key: string, bytes: Buffer): void {
    this.objects.set(key, { bytes, modifiedMs: this.now });
  }

  #call(name: string): void {
    this.calls.push(name);
    this.onCall(name);
    const reason = this.failing.get(name);
    if (reason === undefined) return;
    const cause = Object.assign(new Error('AKIA… may not'), { name: reason });
    throw new QueryError('store-unavailable', 'the store does not answer', { cause });
  }
}

async function* arrive(bytes: Buffer): AsyncIterable<Uint8Array> {
  yield bytes;
}
