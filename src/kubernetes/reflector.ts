import { errorMessage } from '../platform/plain-error.ts';
import { Backoff, type BackoffOptions } from '../platform/backoff.ts';
import { sleep, systemClock, type Clock } from '../platform/clock.ts';
import { isNewer } from '../store/resource-version.ts';
import { errorFromStatus, KubernetesApiError } from './api-error.ts';
import { listAll } from './list.ts';
import type { RawObject } from './objects.ts';
import type { KubernetesTransport, QueryParameters } from './transport.ts';

/** Receives the changes that a reflector reads, in order. */
export interface ReflectorSink<T> {
  /** A list begins. Its content will be at least as new as the state at this moment. */
  listStarted(): void;
  /** All objects of the collection at `version`. */
  replace(objects: readonly T[], version: string): void;
  upsert(object: T): void;
  /** @param object the last state, with the resource version of the deletion */
  remove(object: T): void;
  /** There are no other changes up to `version`. */
  bookmark(version: string): void;
}

export interface ReflectorTuning {
  readonly pageSize: number;
  /**
   * Range of the random duration of a watch. The server ends it at that time, with a bookmark two seconds before, and the next watch uses the
   * same connection. A connection that no longer works is therefore noticed when nothing arrives.
   */
  readonly watchSeconds: readonly [min: number, max: number];
  /** A watch that lasts this much longer than its duration is aborted. */
  readonly watchGraceMs: number;
  /** A watch without any bytes for this long is aborted. */
  readonly idleMs: number;
  /** Time-out for the response headers of a watch. */
  readonly headersMs: number;
  readonly listTimeoutMs: number;
  /** The delay after no response or a failure of the server. It is short, so that the view is current soon after an outage. */
  readonly backoff: BackoffOptions;
  /** The delay after a refusal, such as 403, which takes longer to change. */
  readonly refusedBackoff: BackoffOptions;
}

export const DEFAULT_TUNING: ReflectorTuning = {
  pageSize: 500,
  watchSeconds: [15, 22],
  watchGraceMs: 5_000,
  idleMs: 25_000,
  headersMs: 20_000,
  listTimeoutMs: 60_000,
  // The minimum keeps a random delay near 0 from becoming a busy loop.
  backoff: { baseMs: 800, maxMs: 3_000, minMs: 50 },
  refusedBackoff: { baseMs: 800, maxMs: 10_000, minMs: 50 },
};

export interface ReflectorOptions<T> {
  readonly transport: Pick<KubernetesTransport, 'request' | 'stream'>;
  /** The name in messages, such as `roles.olapwarden.io`. */
  readonly name: string;
  /** Path of the collection. */
  readonly path: string;
  readonly sink: ReflectorSink<T>;
  readonly convert: (raw: RawObject) => T;
  /** Called with every failure. The reflector continues on its own. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly tuning?: Partial<ReflectorTuning> | undefined;
}

export interface ReflectorHealth {
  readonly synced: boolean;
  /** Monotonic time of the last data from the server, milliseconds; before the first data, the time of construction. */
  readonly lastContactAt: number;
  readonly lastError: string | undefined;
}

interface WatchEvent {
  readonly type?: unknown;
  readonly object?: RawObject;
}

/** Upper limit of the delay while the CRD is not installed. */
const MISSING_KIND_MAX_WAIT_MS = 5000;
/** A shorter watch without any event counts as a failure. Otherwise a broken proxy would cause a busy loop. */
const SHORT_WATCH_MS = 1000;

/**
 * Follows one collection of the Kubernetes API: lists it, then watches it from the version of the list, until stop().
 *
 * No failure of the server or the network ends it. After 410 it lists again at once; after any other failure it continues from the last version
 * seen, after a backoff with jitter.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #tuning: ReflectorTuning;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #refusedBackoff: Backoff;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #done: Promise<void> | undefined;
  #isSynced = false;
  /** The version from which the next watch starts; undefined when a list is needed. */
  #version: string | undefined;
  /** The version before an unreadable event. The second unreadable event at the same version causes a list. */
  #unreadableAfter: string | undefined;
  /** Whether the last failure was a response of the server, and not a missing one. */
  #answered = true;
  /** A list after 410 was requested without a delay, and no watch has followed yet. */
  #listedAtOnce = false;
  #lastContactAt: number;
  #lastError: string | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#tuning = { ...DEFAULT_TUNING, ...options.tuning };
    this.#clock = options.clock ?? systemClock;
    this.#backoff = new Backoff(this.#clock, this.#tuning.backoff);
    this.#refusedBackoff = new Backoff(this.#clock, this.#tuning.refusedBackoff);
    this.#lastContactAt = this.#clock.monotonic();
  }

  /** Resolves after the first complete list. Stays pending when stop() comes first. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Resolves when all timers, connections and calls to the sink have ended. */
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
    const { sink, transport, path, convert } = this.#options;
    sink.listStarted();
    const { pageSize, listTimeoutMs: timeoutMs } = this.#tuning;
    const { signal } = this.#stop;
    const { items, version } = await listAll(transport, path, { pageSize, timeoutMs, signal, convert });
    signal.throwIfAborted();
    sink.replace(items, version);
    this.#recordContact();
    this.#lastError = undefined;
    if (!this.#isSynced) {
      this.#isSynced = true;
      this.#synced.resolve();
    }
    return version;
  }

  async #watch(from: string): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const [min, max] = this.#tuning.watchSeconds;
    const timeoutSeconds = Math.round(min + this.#clock.random() * (max - min));
    // Aborts a stream that the server does not end.
    const overdue = new AbortController();
    const endWatch = () => overdue.abort(this.#stop.signal.reason);
    const cancel = this.#clock.schedule(endWatch, timeoutSeconds * 1000 + this.#tuning.watchGraceMs);
    this.#stop.signal.addEventListener('abort', endWatch, { once: true });
    let events = 0;
    try {
      const query: QueryParameters = {
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: from,
        timeoutSeconds,
      };
      const { idleMs, headersMs: headersTimeoutMs } = this.#tuning;
      const limits = { idleMs, headersTimeoutMs, signal: overdue.signal };
      const lines = await this.#options.transport.stream(this.#options.path, { query, ...limits });
      this.#recordContact();
      this.#lastError = undefined;
      for await (const line of lines) {
        this.#stop.signal.throwIfAborted();
        this.#recordContact();
        this.#handle(line);
        if (events++ === 0) this.#succeeded();
      }
    } catch (error) {
      if (this.#stop.signal.aborted || !overdue.signal.aborted) throw error;
      throw new KubernetesApiError('unavailable', `the watch of ${this.#options.name} exceeded its duration`, {
        cause: error,
      });
    } finally {
      cancel();
      this.#stop.signal.removeEventListener('abort', endWatch);
    }
    if (events === 0 && this.#clock.monotonic() - startedAt < SHORT_WATCH_MS)
      throw new KubernetesApiError(
        'unavailable',
        `the watch of ${this.#options.name} ended at once, without any event`,
      );
    this.#succeeded();
  }

  #succeeded(): void {
    this.#backoff.reset();
    this.#refusedBackoff.reset();
    this.#listedAtOnce = false;
  }

  #handle(line: string): void {
    const { type, object } = this.#parse(line);
    if (type === 'ERROR') throw errorFromStatus(0, object, { request: `the watch of ${this.#options.name}` });
    const version = object?.metadata?.resourceVersion;
    if (object === undefined || version === undefined) throw this.#unreadable('missing resource version');
    const { sink, convert } = this.#options;
    if (type === 'ADDED' || type === 'MODIFIED') sink.upsert(convert(object));
    else if (type === 'DELETED') sink.remove(convert(object));
    else if (type === 'BOOKMARK') sink.bookmark(version);
    else throw this.#unreadable(`unknown type \`${String(type).slice(0, 40)}\``);
    if (isNewer(version, this.#version)) this.#version = version;
  }

  #parse(line: string): WatchEvent {
    try {
      const event: unknown = JSON.parse(line);
      if (typeof event === 'object' && event !== null) return event;
    } catch {
      throw this.#unreadable('not JSON');
    }
    throw this.#unreadable('not an object');
  }

  #unreadable(why: string): Error {
    const again = this.#unreadableAfter === this.#version;
    this.#unreadableAfter = this.#version;
    if (again) this.#version = undefined;
    return new KubernetesApiError('unavailable', `cannot read an event of the watch of ${this.#options.name}: ${why}`);
  }

  /** Records the failure and waits before the next attempt. */
  async #recover(failure: unknown): Promise<void> {
    const error = failure instanceof KubernetesApiError ? failure : undefined;
    const missing = error?.status === 404;
    // The CRD was removed. A new one starts with new resource versions, so that a list is needed.
    if (missing || error?.expired === true) this.#version = undefined;
    this.#lastError = missing ? `${this.#options.name} is not served: are the CRDs installed?` : errorMessage(failure);
    this.#options.onError?.(failure);
    if (error?.expired === true && !this.#listedAtOnce) {
      this.#listedAtOnce = true;
      return;
    }
    // Rejects only after stop(), which the loop checks.
    await sleep(this.#clock, this.#delayMs(error), this.#stop.signal).catch(() => {});
  }

  /**
   * Refusals and outages have separate backoffs, so that a long one does not delay the first attempts after a failure of the other kind. The first
   * response with `Retry-After` after an outage resets the backoff: an API server that starts responds to a watch with 429 and `Retry-After` until
   * it has read the collection.
   */
  #delayMs(error: KubernetesApiError | undefined): number {
    const status = error?.status ?? 0;
    if (error?.retryAfterMs !== undefined && !this.#answered) this.#backoff.reset();
    this.#answered = status !== 0;
    if (status === 404) return this.#refusedBackoff.next(error?.retryAfterMs, MISSING_KIND_MAX_WAIT_MS);
    const refused = status >= 400 && status < 500 && ![408, 410, 429].includes(status);
    const [counted, other] = refused ? [this.#refusedBackoff, this.#backoff] : [this.#backoff, this.#refusedBackoff];
    other.reset();
    return counted.next(error?.retryAfterMs);
  }

  #recordContact(): void {
    this.#lastContactAt = this.#clock.monotonic();
  }
}
