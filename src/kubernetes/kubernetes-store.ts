import { CUSTOM_KINDS, type CustomKind, type ResourceByKind, type ResourceKind } from '../resources/kinds.ts';
import { untilAborted } from '../platform/until-aborted.ts';
import { systemClock, type Clock } from '../platform/clock.ts';
import { assertObjectName, isObjectName, notFound, updatableName } from '../store/preconditions.ts';
import {
  StoreError,
  type DeleteOptions,
  type ReadOptions,
  type ResourceStore,
  type StoreEvent,
  type StoreHealth,
  type WriteOptions,
} from '../store/resource-store.ts';
import { requirePartLabel } from '../store/secret-label.ts';
import { Views } from '../store/views.ts';
import { KubernetesApiError } from './api-error.ts';
import { KindCache } from './kind-cache.ts';
import { listAll } from './list.ts';
import { apiResource, fromApi, toApi, type ApiResource, type RawObject } from './objects.ts';
import { Reflector, type ReflectorTuning } from './reflector.ts';
import type { HttpMethod, KubernetesTransport, QueryParameters } from './transport.ts';

/** The part of KubernetesTransport that a store uses. */
export type StoreTransport = Pick<KubernetesTransport, 'request' | 'stream' | 'namespace'>;

export interface KubernetesStoreOptions {
  /** Owned by the caller: close() of the store does not close it. */
  readonly transport: StoreTransport;
  readonly clock?: Clock;
  readonly tuning?: Partial<ReflectorTuning>;
  /** Called with failures from which the store recovers (lists, watches) and with errors of listeners, so that they can be logged. */
  readonly onError?: (error: unknown, context: { readonly kind: ResourceKind; readonly during: string }) => void;
}

/** Under an older CRD a new field would be left out silently: a statement without its conditions allows more. */
const STRICT: QueryParameters = { fieldValidation: 'Strict' };
const WRITE_TIMEOUT_MS = 15_000;
const READ_TIMEOUT_MS = 15_000;
const READ_PAGE_SIZE = 500;

/** The parts of the store for one kind. */
interface KindSlot<K extends CustomKind> {
  readonly resource: ApiResource<K>;
  readonly cache: KindCache<K>;
  readonly reflector: Reflector<ResourceByKind[K]>;
}

/**
 * The resources of one namespace of a Kubernetes API. Watches the custom resources from construction to close().
 *
 * Secrets are neither listed nor watched, and the operator has no right to read or change one: RBAC cannot restrict that to the Secrets of
 * olap-warden. get(), list() and subscribe() show none, and read() is refused unless the Secret is granted by its name.
 */
export class KubernetesStore implements ResourceStore {
  readonly #transport: StoreTransport;
  readonly #clock: Clock;
  readonly #views: Views;
  readonly #secrets: ApiResource<'Secret'>;
  readonly #slots: { readonly [K in CustomKind]: KindSlot<K> };

  constructor(options: KubernetesStoreOptions) {
    const { transport, clock = systemClock, tuning, onError } = options;
    this.#transport = transport;
    this.#clock = clock;
    this.#secrets = apiResource('Secret', transport.namespace);
    const views = new Views((error, kind) => onError?.(error, { kind, during: 'a listener' }));
    this.#views = views;
    const slot = <K extends CustomKind>(kind: K): KindSlot<K> => {
      const resource = apiResource(kind, transport.namespace);
      const cache = new KindCache(views.of(kind));
      const reflector = new Reflector<ResourceByKind[K]>({
        transport,
        clock,
        tuning,
        name: resource.name,
        path: resource.path,
        sink: cache,
        convert: (raw) => fromApi(raw, resource),
        onError: (error) => onError?.(error, { kind, during: 'list and watch' }),
      });
      return { resource, cache, reflector };
    };
    this.#slots = {
      Policy: slot('Policy'),
      Role: slot('Role'),
      RoleAssignment: slot('RoleAssignment'),
      ServiceToken: slot('ServiceToken'),
      ClusterHealthReport: slot('ClusterHealthReport'),
    };
    for (const { reflector } of this.#reflectors()) reflector.start();
  }

  async synced(signal?: AbortSignal): Promise<void> {
    const synced = Promise.all(this.#reflectors().map(async ({ reflector }) => reflector.synced));
    await (signal === undefined ? synced : untilAborted(synced, signal));
  }

  get<K extends ResourceKind>(kind: K, name: string): ResourceByKind[K] | undefined {
    return this.#views.get(kind, name);
  }

  list<K extends ResourceKind>(kind: K): readonly ResourceByKind[K][] {
    return this.#views.list(kind);
  }

  /** Without a resource version the API server returns the most recent state (a quorum read). */
  async read<K extends ResourceKind>(
    kind: K,
    name: string,
    { signal }: ReadOptions = {},
  ): Promise<ResourceByKind[K] | undefined> {
    if (!isObjectName(name)) return undefined;
    const resource = this.#resource(kind);
    try {
      const { body } = await this.#transport.request<RawObject>('GET', `${resource.path}/${name}`, {
        signal,
        timeoutMs: READ_TIMEOUT_MS,
      });
      return fromApi(body, resource);
    } catch (error) {
      if (error instanceof KubernetesApiError && error.code === 'not-found') return undefined;
      throw error;
    }
  }

  async readAll<K extends ResourceKind>(kind: K, { signal }: ReadOptions = {}): Promise<readonly ResourceByKind[K][]> {
    if (kind === 'Secret') throw new StoreError('forbidden', 'Secrets cannot be listed: read each by its name');
    const resource = this.#resource(kind);
    const { items } = await listAll(this.#transport, resource.path, {
      pageSize: READ_PAGE_SIZE,
      timeoutMs: READ_TIMEOUT_MS,
      signal: signal ?? new AbortController().signal,
      convert: (raw) => fromApi(raw, resource),
    });
    return items;
  }

  subscribe<K extends ResourceKind>(kind: K, listener: (event: StoreEvent<K>) => void): () => void {
    return this.#views.subscribe(kind, listener);
  }

  async create<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    const { name } = object.metadata;
    assertObjectName(kind, name);
    requirePartLabel(kind, object);
    const metadata = { ...object.metadata };
    delete metadata.resourceVersion; // the API server rejects both fields in a create
    delete metadata.uid;
    return this.#write({ method: 'POST', kind, path: '', query: STRICT, object: { ...object, metadata }, options });
  }

  async update<K extends ResourceKind>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    const name = updatableName(kind, object.metadata);
    requirePartLabel(kind, object);
    return this.#write({ method: 'PUT', kind, path: `/${name}`, query: STRICT, object, options });
  }

  async updateStatus<K extends Exclude<ResourceKind, 'Secret'>>(
    kind: K,
    object: ResourceByKind[K],
    options: WriteOptions = {},
  ): Promise<ResourceByKind[K]> {
    const name = updatableName(kind, object.metadata);
    return this.#write({ method: 'PUT', kind, path: `/${name}/status`, object, options });
  }

  async delete(kind: ResourceKind, name: string, options: DeleteOptions = {}): Promise<void> {
    if (!isObjectName(name)) throw notFound(kind, name);
    await this.#delete(kind, name, options);
  }

  health(): StoreHealth {
    const all = this.#reflectors().map(({ reflector }) => reflector.health());
    return {
      synced: all.every(({ synced }) => synced),
      ageMs: Math.max(0, this.#clock.monotonic() - Math.min(...all.map(({ lastContactAt }) => lastContactAt))),
      lastError: all.find(({ lastError }) => lastError !== undefined)?.lastError,
    };
  }

  async close(): Promise<void> {
    this.#views.close();
    await Promise.all(this.#reflectors().map(async ({ reflector }) => reflector.stop()));
  }

  async #write<K extends ResourceKind>(write: {
    method: HttpMethod;
    kind: K;
    path: string;
    query?: QueryParameters;
    object: ResourceByKind[K];
    options: WriteOptions;
  }): Promise<ResourceByKind[K]> {
    const resource = this.#resource(write.kind);
    const cache = this.#cache(write.kind);
    const { body } = await this.#transport.request<RawObject>(write.method, `${resource.path}${write.path}`, {
      ...(write.query && { query: write.query }),
      body: toApi(write.object, resource),
      signal: write.options.signal,
      timeoutMs: WRITE_TIMEOUT_MS,
    });
    const written = fromApi(body, resource);
    // Removing the last finalizer of an object that is being deleted deletes the object.
    const { deletionTimestamp, finalizers = [], uid, name } = written.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) cache?.deleted(name, uid);
    else cache?.written(written);
    return written;
  }

  async #delete(kind: ResourceKind, name: string, options: DeleteOptions): Promise<void> {
    const { uid, resourceVersion, dryRun, signal } = options;
    const resource = this.#resource(kind);
    const cache = this.#cache(kind);
    const { body } = await this.#transport.request<RawObject>('DELETE', `${resource.path}/${name}`, {
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, resourceVersion },
        ...(dryRun ? { dryRun: ['All'] } : {}),
      },
      signal,
      timeoutMs: WRITE_TIMEOUT_MS,
    });
    if (dryRun) return;
    // The response is a Status when the object is deleted, and the object itself while it has finalizers.
    const pending = body['kind'] !== 'Status' && (body.metadata?.finalizers ?? []).length > 0;
    if (pending) cache?.written(fromApi(body, resource));
    else cache?.deleted(name, uidOf(body));
  }

  #resource<K extends ResourceKind>(kind: K): ApiResource<K> {
    // The condition narrows `kind`, but not its type parameter.
    const resource: ApiResource = kind === 'Secret' ? this.#secrets : this.#slots[kind as CustomKind].resource;
    return resource as ApiResource<K>;
  }

  #cache<K extends ResourceKind>(kind: K): KindCache<K> | undefined {
    const cache: unknown = kind === 'Secret' ? undefined : this.#slots[kind as CustomKind].cache;
    return cache as KindCache<K> | undefined;
  }

  #reflectors(): { readonly reflector: Pick<Reflector<unknown>, 'start' | 'stop' | 'synced' | 'health'> }[] {
    return CUSTOM_KINDS.map((kind) => this.#slots[kind]);
  }
}

function uidOf(body: RawObject): string | undefined {
  if (body['kind'] !== 'Status') return body.metadata?.uid;
  return (body['details'] as { uid?: string } | undefined)?.uid;
}
