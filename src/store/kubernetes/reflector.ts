import { sleep, systemClock, type StoreClock } from '../clock.ts';
import { isNewer } from '../resource-version.ts';
import { errorFromStatus, KubernetesApiError } from './api-error.ts';
import { Backoff, REFLECTOR_BACKOFF, type BackoffOptions } from './backoff.ts';
import { listAll } from './list.ts';
import type { RawObject } from './objects.ts';
import type { KubernetesTransport, Query } from './transport.ts';

/** Receives what a reflector learns, in the order in which it happened. */
export interface ReflectorSink<T> {
  /** A list begins; what it will hold is at least as new as now. */
  listStarted(): void;
  /** Everything there is at `version`. */
  replace(objects: readonly T[], version: string): void;
  upsert(object: T): void;
  /** @param object in its last state, with the version of its deletion */
  remove(object: T): void;
  /** Nothing else happened up to `version`. */
  bookmark(version: string): void;
}

export interface ReflectorTuning {
  readonly pageSize: number;
  /** The server is asked to end each watch after a random time between these, so that connections spread over API servers anew. */
  readonly watchSeconds: readonly [min: number, max: number];
  /** How much longer than that a watch may last before it is given up. */
  readonly watchGraceMs: number;
  /** A watch without a byte for so long is given up. The server sends a bookmark about every minute. */
  readonly idleMs: number;
  readonly listTimeoutMs: number;
  readonly backoff: BackoffOptions;
}

export const DEFAULT_TUNING: ReflectorTuning = {
  pageSize: 500,
  watchSeconds: [300, 600],
  watchGraceMs: 30_000,
  idleMs: 180_000,
  listTimeoutMs: 60_000,
  backoff: REFLECTOR_BACKOFF,
};

export interface ReflectorOptions<T> {
  readonly transport: Pick<KubernetesTransport, 'request' | 'stream'>;
  /** For people, such as `roles.olapwarden.io`. */
  readonly name: string;
  /** Path of the collection. */
  readonly path: string;
  readonly labelSelector?: string | undefined;
  readonly sink: ReflectorSink<T>;
  readonly convert: (raw: RawObject) => T;
  /** Called with every failure; the reflector goes on by itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: StoreClock | undefined;
  readonly tuning?: Partial<ReflectorTuning> | undefined;
}

export interface ReflectorHealth {
  readonly synced: boolean;
  /** When the server last said anything, milliseconds since the epoch; when the reflector was made, before it did. */
  readonly lastContactAt: number;
  readonly lastError: string | undefined;
}

interface WatchEvent {
  readonly type?: unknown;
  readonly object?: RawObject;
}

/** A CRD that is not installed yet is looked for this often at least, milliseconds. */
const MISSING_KIND_MAX_WAIT_MS = 5000;
/** A watch that ends sooner than this without any event counts as a failure: else a broken proxy would make it a busy loop. */
const SHORT_WATCH_MS = 1000;

/**
 * Follows one collection of the Kubernetes API: lists it, then watches from where the list ended, for as long as it runs.
 *
 * Nothing that the server or the network does ends it. What it cannot resume (410) it lists again; everything else it tries again after a
 * backoff with jitter, from the last version that it has seen.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #tuning: ReflectorTuning;
  readonly #clock: StoreClock;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #done: Promise<void> | undefined;
  #isSynced = false;
  /** Where the next watch begins; undefined where a list is needed. */
  #version: string | undefined;
  /** The version after which an unreadable event came: the second time in the same place, a list gets us past it. */
  #unreadableAfter: string | undefined;
  #lastContactAt: number;
  #lastError: string | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#tuning = { ...DEFAULT_TUNING, ...options.tuning };
    this.#clock = options.clock ?? systemClock;
    this.#backoff = new Backoff(this.#clock, this.#tuning.backoff);
    this.#lastContactAt = this.#clock.now();
  }

  /** Resolves after the first whole list; never where there is none before stop(). */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Resolves when nothing of it is left: no timer, no connection, no call to the sink. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error(`the reflector of ${this.#options.name} was stopped`));
    await this.#done;
  }

  health(): ReflectorHealth {
    return { synced: this.#isSynced, lastContactAt: this.#lastContactAt, lastError: this.#lastError };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error);
      }
    }
  }

  async #list(): Promise<string> {
    const { sink, transport, path, labelSelector, convert } = this.#options;
    sink.listStarted();
    const { pageSize, listTimeoutMs: timeoutMs } = this.#tuning;
    const { signal } = this.#stop;
    const { items, version } = await listAll(transport, path, { labelSelector, pageSize, timeoutMs, signal, convert });
    signal.throwIfAborted();
    sink.replace(items, version);
    this.#contact();
    this.#lastError = undefined;
    if (!this.#isSynced) {
      this.#isSynced = true;
      this.#synced.resolve();
    }
    return version;
  }

  async #watch(from: string): Promise<void> {
    const startedAt = this.#clock.now();
    const [min, max] = this.#tuning.watchSeconds;
    const timeoutSeconds = Math.round(min + this.#clock.random() * (max - min));
    // A stream that the server forgot to end is ended here.
    const overdue = new AbortController();
    const endWatch = () => overdue.abort(this.#stop.signal.reason);
    const cancel = this.#clock.schedule(endWatch, timeoutSeconds * 1000 + this.#tuning.watchGraceMs);
    this.#stop.signal.addEventListener('abort', endWatch, { once: true });
    let events = 0;
    try {
      const query: Query = {
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: from,
        timeoutSeconds,
        labelSelector: this.#options.labelSelector,
      };
      const { idleMs } = this.#tuning;
      const lines = await this.#options.transport.stream(this.#options.path, { query, idleMs, signal: overdue.signal });
      this.#contact();
      this.#lastError = undefined;
      for await (const line of lines) {
        this.#stop.signal.throwIfAborted();
        this.#contact();
        this.#handle(line);
        if (events++ === 0) this.#backoff.reset();
      }
    } catch (error) {
      if (this.#stop.signal.aborted || !overdue.signal.aborted) throw error;
      throw new KubernetesApiError('unavailable', `the watch of ${this.#options.name} did not end in time`, {
        cause: error,
      });
    } finally {
      cancel();
      this.#stop.signal.removeEventListener('abort', endWatch);
    }
    if (events === 0 && this.#clock.now() - startedAt < SHORT_WATCH_MS)
      throw new KubernetesApiError('unavailable', `the watch of ${this.#options.name} ended as soon as it began`);
    this.#backoff.reset();
  }

  #handle(line: string): void {
    const { type, object } = this.#parse(line);
    if (type === 'ERROR') throw errorFromStatus(0, object, { request: `the watch of ${this.#options.name}` });
    const version = object?.metadata?.resourceVersion;
    if (object === undefined || version === undefined) throw this.#unreadable('it has no resource version');
    const { sink, convert } = this.#options;
    if (type === 'ADDED' || type === 'MODIFIED') sink.upsert(convert(object));
    else if (type === 'DELETED') sink.remove(convert(object));
    else if (type === 'BOOKMARK') sink.bookmark(version);
    else throw this.#unreadable(`its type is \`${String(type).slice(0, 40)}\``);
    if (isNewer(version, this.#version)) this.#version = version;
  }

  #parse(line: string): WatchEvent {
    try {
      const event: unknown = JSON.parse(line);
      if (typeof event === 'object' && event !== null) return event;
    } catch {
      throw this.#unreadable('it is not JSON');
    }
    throw this.#unreadable('it is no object');
  }

  #unreadable(why: string): Error {
    const again = this.#unreadableAfter === this.#version;
    this.#unreadableAfter = this.#version;
    if (again) this.#version = undefined;
    return new KubernetesApiError('unavailable', `cannot read an event of the watch of ${this.#options.name}: ${why}`);
  }

  /** Notes the failure, and waits until it makes sense to go on. */
  async #recover(failure: unknown): Promise<void> {
    const missing = failure instanceof KubernetesApiError && failure.status === 404;
    if (failure instanceof KubernetesApiError && failure.expired) this.#version = undefined;
    // A kind that vanished is looked for by lists: its next incarnation begins with new versions.
    if (missing) this.#version = undefined;
    this.#lastError = missing ? `${this.#options.name} is not served: are the CRDs installed?` : messageOf(failure);
    this.#options.onError?.(failure);
    const retryAfterMs = failure instanceof KubernetesApiError ? failure.retryAfterMs : undefined;
    const waitMs = this.#backoff.next(retryAfterMs, missing ? MISSING_KIND_MAX_WAIT_MS : undefined);
    // Rejects only when stop() is called, which the loop sees by itself.
    await sleep(this.#clock, waitMs, this.#stop.signal).catch(() => {});
  }

  #contact(): void {
    this.#lastContactAt = this.#clock.now();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
