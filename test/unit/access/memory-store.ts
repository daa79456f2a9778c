import type { ResourceByKind, ResourceKind } from '../../../src/resources/kinds.ts';
import { describeErrors, validateResource } from '../../../src/resources/validate.ts';
import {
  StoreError,
  type DeleteOptions,
  type ResourceStore,
  type StoreEvent,
  type StoreHealth,
} from '../../../src/store/resource-store.ts';
import { Views } from '../../../src/store/views.ts';

/** State shared by several stores, like a kube-apiserver shared by the gateways of a deployment. */
export class SharedBackend {
  readonly objects = new Map<string, ResourceByKind[ResourceKind]>();
  version = 0;
  readonly followers = new Set<(event: 'set' | 'deleted', kind: ResourceKind, object: never) => void>();
}

/** An in-memory ResourceStore for unit tests: with optimistic locking, validation, and a view that may lag behind other stores' writes. */
export class MemoryStore implements ResourceStore {
  readonly #backend: SharedBackend;
  readonly #views = new Views((error) => {
    throw error;
  });
  /** Called before each write with its verb; a test may throw or wait. */
  beforeWrite: (verb: 'create' | 'update' | 'delete', kind: ResourceKind, name: string) => Promise<void> | void = () =>
    undefined;

  constructor(backend = new SharedBackend()) {
    this.#backend = backend;
    backend.followers.add((event, kind, object) => {
      // A gateway sees writes of others with a delay.
      setImmediate(() => this.#follow(event, kind, object));
    });
  }

  synced(): Promise<void> {
    return Promise.resolve();
  }

  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined {
    return this.#views.get(kind, name);
  }

  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][] {
    return this.#views.list(kind);
  }

  /** Called before each uncached read; a test may throw or wait. */
  beforeRead: (kind: ResourceKind, name: string | undefined) => Promise<void> | void = () => undefined;

  async read<K extends ResourceKind>(kind: K, name: string): Promise<ResourceByKind[K] | undefined> {
    await this.beforeRead(kind, name);
    return this.#backend.objects.get(keyOf(kind, name)) as ResourceByKind[K] | undefined;
  }

  async readAll<K extends ResourceKind>(kind: K): Promise<readonly ResourceByKind[K][]> {
    await this.beforeRead(kind, undefined);
    return this.truth(kind);
  }

  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void {
    return this.#views.subscribe(kind, listener);
  }

  /** Adds objects like another writer, without validation; they are in this store's view immediately. */
  seed(...objects: ResourceByKind[ResourceKind][]): void {
    for (const object of objects) {
      const taken = this.#accepted(object, { uid: object.metadata.uid ?? `uid-${++this.#backend.version}` });
      this.#write(taken.kind, taken);
    }
  }

  /** Like `seed`, for an existing object: the uid stays. */
  replace(object: ResourceByKind[ResourceKind]): void {
    this.#write(object.kind, this.#accepted(object, {}));
  }

  async create<K extends ResourceKind>(kind: K, object: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    await this.beforeWrite('create', kind, object.metadata.name);
    const checked = validateResource(kind, object);
    if (!checked.ok) throw new StoreError('invalid', describeErrors(checked.errors));
    if (this.#backend.objects.has(keyOf(kind, object.metadata.name))) {
      throw new StoreError('already-exists', `${kind} \`${object.metadata.name}\` exists already`);
    }
    return this.#write(kind, this.#accepted(checked.value, { uid: `uid-${++this.#backend.version}` }));
  }

  async update<K extends ResourceKind>(kind: K, object: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    await this.beforeWrite('update', kind, object.metadata.name);
    const current = this.#current(kind, object.metadata.name, object.metadata.resourceVersion);
    const checked = validateResource(kind, object, current);
    if (!checked.ok) throw new StoreError('invalid', describeErrors(checked.errors));
    return this.#write(kind, this.#accepted(checked.value, {}));
  }

  async updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
  ): Promise<ResourceByKind[K]> {
    const current = this.#current(kind, object.metadata.name, object.metadata.resourceVersion);
    return this.#write(kind, this.#accepted({ ...current, status: object.status }, {}));
  }

  async delete(kind: ResourceKind, name: string, options: DeleteOptions = {}): Promise<void> {
    await this.beforeWrite('delete', kind, name);
    const current = this.#current(kind, name, options.resourceVersion);
    if (options.dryRun) return;
    this.#backend.objects.delete(keyOf(kind, name));
    this.#follow('deleted', kind, current);
    for (const follower of this.#backend.followers) follower('deleted', kind, current as never);
  }

  health(): StoreHealth {
    return { synced: true, ageMs: 0, lastError: undefined };
  }

  close(): Promise<void> {
    this.#views.close();
    return Promise.resolve();
  }

  /** All objects of a kind in the shared backend, regardless of this store's view. */
  truth<K extends ResourceKind>(kind: K): ResourceByKind[K][] {
    return [...this.#backend.objects.values()].filter((object) => object.kind === kind) as ResourceByKind[K][];
  }

  #current<K extends ResourceKind>(kind: K, name: string, version: string | undefined): ResourceByKind[K] {
    const current = this.#backend.objects.get(keyOf(kind, name)) as ResourceByKind[K] | undefined;
    if (!current) throw new StoreError('not-found', `${kind} \`${name}\` does not exist`);
    if (version !== undefined && version !== current.metadata.resourceVersion) {
      throw new StoreError('conflict', `${kind} \`${name}\` was changed meanwhile`);
    }
    return current;
  }

  #accepted<T extends ResourceByKind[ResourceKind]>(object: T, metadata: object): T {
    const { creationTimestamp = '2026-01-01T00:00:00Z' } = object.metadata;
    const resourceVersion = String(++this.#backend.version);
    return { ...object, metadata: { ...object.metadata, ...metadata, creationTimestamp, resourceVersion } };
  }

  #write<T extends ResourceByKind[ResourceKind]>(kind: ResourceKind, object: T): T {
    this.#backend.objects.set(keyOf(kind, object.metadata.name), object);
    this.#follow('set', kind, object);
    for (const follower of this.#backend.followers) follower('set', kind, object as never);
    return object;
  }

  #follow(event: 'set' | 'deleted', kind: ResourceKind, object: ResourceByKind[ResourceKind]): void {
    const { name, resourceVersion, uid } = object.metadata;
    const known = this.#views.get(kind, name);
    if (event === 'deleted') {
      if (known?.metadata.uid === uid) this.#views.of(kind).delete(name);
      return;
    }
    const newest = this.#backend.objects.get(keyOf(kind, name));
    if (newest?.metadata.uid !== uid) return;
    if (known && Number(known.metadata.resourceVersion) >= Number(resourceVersion)) return;
    this.#views.of(kind).set(object);
  }
}

function keyOf(kind: ResourceKind, name: string): string {
  return `${kind}/${name}`;
}
