import { AsyncLocalStorage } from 'node:async_hooks';
import type { ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import type { ObjectMeta } from '../../resources/meta.ts';
import type { ReadOptions, ResourceStore, WriteOptions } from '../../store/resource-store.ts';

/** One successful write of a custom resource. The specs, without metadata and status. */
export interface Change {
  readonly kind: string;
  readonly name: string;
  /** Absent for a created object. */
  readonly before?: unknown;
  /** Absent for a deleted object. */
  readonly after?: unknown;
}

interface Collection {
  readonly changes: Change[];
  /** Objects that were read from the backing store, by kind and name. */
  readonly read: Map<string, Specified>;
}

const collector = new AsyncLocalStorage<Collection>();

/**
 * Runs `work`, and adds to `changes` what it and the functions that it calls write through a recordingStore(). Writes that leave the spec as it
 * is are left out, and so are Secrets. After an error, `changes` has what was written before it.
 */
export function collectChanges<T>(changes: Change[], work: () => Promise<T>): Promise<T> {
  return collector.run({ changes, read: new Map() }, work);
}

/** The same store, whose writes are recorded for collectChanges(). */
export function recordingStore(store: ResourceStore): ResourceStore {
  const note = (
    kind: ResourceKind,
    name: string,
    before: Specified | undefined,
    after: Specified | undefined,
  ): void => {
    if (kind === 'Secret' || JSON.stringify(before?.spec) === JSON.stringify(after?.spec)) return;
    collector.getStore()?.changes.push({
      kind,
      name,
      ...(before === undefined ? {} : { before: before.spec }),
      ...(after === undefined ? {} : { after: after.spec }),
    });
  };
  /** The object as it was before a write that succeeds only for this version. */
  const previous = (kind: ResourceKind, name: string, version: string | undefined): Specified | undefined => {
    const inView = store.get(kind, name) as Specified | undefined;
    const read = collector.getStore()?.read.get(`${kind}/${name}`);
    return [inView, read].find((object) => object?.metadata.resourceVersion === version) ?? inView ?? read;
  };
  return {
    synced: (signal) => store.synced(signal),
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    async read<K extends ResourceKind>(kind: K, name: string, options?: ReadOptions) {
      const object = await store.read(kind, name, options);
      if (object !== undefined) collector.getStore()?.read.set(`${kind}/${name}`, object);
      return object;
    },
    readAll: (kind, options) => store.readAll(kind, options),
    subscribe: (kind, listener) => store.subscribe(kind, listener),
    health: () => store.health(),
    close: () => store.close(),
    updateStatus: (kind, object, options) => store.updateStatus(kind, object, options),
    async create<K extends ResourceKind>(kind: K, object: ResourceByKind[K], options?: WriteOptions) {
      const created = await store.create(kind, object, options);
      note(kind, created.metadata.name, undefined, created);
      return created;
    },
    async update<K extends ResourceKind>(kind: K, object: ResourceByKind[K], options?: WriteOptions) {
      const { name, resourceVersion } = object.metadata;
      const before = previous(kind, name, resourceVersion);
      const updated = await store.update(kind, object, options);
      note(kind, name, before, updated);
      return updated;
    },
    async delete(kind, name, options) {
      const before = previous(kind, name, options?.resourceVersion);
      await store.delete(kind, name, options);
      note(kind, name, before, undefined);
    },
  };
}

interface Specified {
  readonly metadata: Readonly<ObjectMeta>;
  readonly spec?: unknown;
}
