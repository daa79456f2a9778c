import { pino, type Logger } from 'pino';
import { Registry } from 'prom-client';
import type { EventRecorder } from '../../../src/kubernetes/events.ts';
import { fencedStore } from '../../../src/operator/leader/fenced-store.ts';
import { prometheusMetrics, type OperatorMetrics } from '../../../src/operator/metrics.ts';
import type { ResourceByKind, ResourceKind } from '../../../src/resources/kinds.ts';
import type { ObjectMeta } from '../../../src/resources/meta.ts';
import { StoreError, type ResourceStore, type StoreEvent } from '../../../src/store/resource-store.ts';

export const silent = pino({ level: 'silent' });

/** A log that keeps its lines. */
export function loggedLines(): { log: Logger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) });
  return { log, lines };
}

export function metrics(registry = new Registry()): OperatorMetrics {
  return prometheusMetrics(registry);
}

/** Records Events as `Type Reason name: message`. */
export class FakeRecorder implements EventRecorder {
  readonly events: string[] = [];
  record(subject: { metadata: { name?: string } }, type: string, reason: string, message: string): void {
    this.events.push(`${type} ${reason} ${subject.metadata.name}: ${message}`);
  }
  async close(): Promise<void> {}
}

/** The store as a Kubernetes store is: it has no view of Secrets, and the operator may not read one. */
export function hidingSecrets(store: FakeStore): ResourceStore {
  return {
    ...fencedStore(store, () => true),
    get: (kind, name) => (kind === 'Secret' ? undefined : store.get(kind, name)),
    list: (kind) => (kind === 'Secret' ? [] : store.list(kind)),
    subscribe: (kind, listener) => (kind === 'Secret' ? () => {} : store.subscribe(kind, listener)),
    read: (kind, name) =>
      kind === 'Secret' ? Promise.reject(new StoreError('forbidden', 'no right')) : store.read(kind, name),
  };
}

interface Stored {
  readonly status?: unknown;
  readonly kind: string;
  readonly metadata: Readonly<ObjectMeta>;
}

/** A ResourceStore in memory with versions, generations and conflicts; it notifies subscribers before the promise of a write resolves. */
export class FakeStore implements ResourceStore {
  readonly #objects = new Map<string, Stored>();
  readonly #listeners: { readonly kind: ResourceKind; readonly listener: (event: StoreEvent<never>) => void }[] = [];
  #version = 0;
  /** Every successful write, such as `update Role/analysts`. */
  readonly writes: string[] = [];
  /** Errors of the next writes, first in first out. */
  readonly failures: Error[] = [];

  constructor(...objects: Stored[]) {
    for (const object of objects) this.#put(object, 1);
  }

  async synced(_signal?: AbortSignal): Promise<void> {}
  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined {
    return this.#objects.get(`${kind}/${name}`) as ResourceByKind[K] | undefined;
  }
  list<K extends ResourceKind>(kind: K): ResourceByKind[K][] {
    const all = Array.from(this.#objects.values()).filter((object) => object.kind === kind);
    return all.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)) as unknown as ResourceByKind[K][];
  }
  async read<K extends ResourceKind>(kind: K, name: string): Promise<ResourceByKind[K] | undefined> {
    return this.get(kind, name);
  }
  async readAll<K extends ResourceKind>(kind: K): Promise<ResourceByKind[K][]> {
    return this.list(kind);
  }
  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void {
    for (const object of this.list(kind)) listener({ type: 'added', kind, object });
    const entry = { kind, listener: listener as (event: StoreEvent<never>) => void };
    this.#listeners.push(entry);
    return () => void this.#listeners.splice(this.#listeners.indexOf(entry), 1);
  }
  async create<K extends ResourceKind>(kind: K, object: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    this.#fail();
    if (this.get(kind, object.metadata.name)) throw new StoreError('already-exists', `${kind} exists`);
    return this.#write('create', kind, object, 1) as ResourceByKind[K];
  }
  async update<K extends ResourceKind>(kind: K, object: ResourceByKind[K]): Promise<ResourceByKind[K]> {
    const found = this.#current(kind, object);
    const { status } = found;
    return this.#write(
      'update',
      kind,
      { ...object, status },
      (found.metadata.generation ?? 0) + 1,
    ) as ResourceByKind[K];
  }
  async updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
  ): Promise<ResourceByKind[K]> {
    const found = this.#current(kind, object);
    const { status } = object as Stored;
    return this.#write('status', kind, { ...found, status }, found.metadata.generation ?? 0) as ResourceByKind[K];
  }
  async delete(kind: ResourceKind, name: string, options: { uid?: string; dryRun?: boolean } = {}): Promise<void> {
    if (!options.dryRun) this.#fail();
    const object = this.get(kind, name) as Stored | undefined;
    if (!object) throw new StoreError('not-found', `${kind} \`${name}\` does not exist`);
    if (options.uid !== undefined && options.uid !== object.metadata.uid)
      throw new StoreError('conflict', 'another uid');
    if (options.dryRun) return;
    this.#objects.delete(`${kind}/${name}`);
    this.writes.push(`delete ${kind}/${name}`);
    this.#emit('deleted', kind, object, undefined);
  }
  health(): { synced: boolean; ageMs: number; lastError: undefined } {
    return { synced: true, ageMs: 0, lastError: undefined };
  }
  async close(): Promise<void> {}

  #current(kind: ResourceKind, object: Stored): Stored {
    this.#fail();
    const found = this.get(kind, object.metadata.name) as Stored | undefined;
    if (!found) throw new StoreError('not-found', 'gone');
    if (found.metadata.resourceVersion !== object.metadata.resourceVersion) throw new StoreError('conflict', 'changed');
    return found;
  }
  #write(verb: string, kind: ResourceKind, object: Stored, generation: number): Stored {
    const previous = this.#objects.get(`${kind}/${object.metadata.name}`);
    const stored = this.#put(object, generation);
    this.writes.push(`${verb} ${kind}/${object.metadata.name}`);
    this.#emit(previous ? 'modified' : 'added', kind, stored, previous);
    return stored;
  }
  #put(object: Stored, generation: number): Stored {
    const version = ++this.#version;
    const { uid = `uid-${version}`, creationTimestamp = '2026-01-01T00:00:00Z' } = object.metadata;
    const metadata = { ...object.metadata, uid, creationTimestamp, generation, resourceVersion: String(version) };
    const stored = { ...object, metadata };
    this.#objects.set(`${object.kind}/${metadata.name}`, stored);
    return stored;
  }
  #emit(
    type: 'added' | 'modified' | 'deleted',
    kind: ResourceKind,
    object: Stored,
    previous: Stored | undefined,
  ): void {
    for (const entry of this.#listeners.slice()) {
      if (entry.kind === kind)
        entry.listener({ type, kind, object, ...(previous ? { previous } : {}) } as unknown as never);
    }
  }
  #fail(): void {
    const failure = this.failures.shift();
    if (failure) throw failure;
  }
}
