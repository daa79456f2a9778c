import type { MonotonicClock } from './clock.ts';

export interface LruOptions<V> {
  /** Upper limit of the sum of all weights: a number of entries, or bytes where `weightOf` gives bytes. */
  readonly maxWeight: number;
  /** Weight of a value; 1 by default. It must not change while the value is held. */
  readonly weightOf?: (value: V) => number;
  /**
   * Whether an entry must not be evicted, such as a counter in use. Others are evicted instead; if there are none, the limit is exceeded until an entry is
   * set after one of them was released. Default: none.
   */
  readonly isPinned?: (value: V) => boolean;
  /** Called for each entry that is evicted for lack of room, not for those that are deleted, replaced or expired. */
  readonly onEvict?: (value: V) => void;
}

interface Entry<V> {
  readonly value: V;
  readonly weight: number;
}

/** A map of bounded weight. The least recently used entries are evicted first. */
export class LruCache<K, V> {
  readonly #options: LruOptions<V>;
  readonly #entries = new Map<K, Entry<V>>();
  #weight = 0;
  /** The key of the last entry, unless that was deleted. */
  #newest: K | undefined;

  constructor(options: LruOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get weight(): number {
    return this.#weight;
  }

  /** The value; counts as a use. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    // Often the same one is used again.
    if (entry === undefined || key === this.#newest) return entry?.value;
    // A Map keeps insertion order: the first entry is the least recently used one.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#newest = key;
    return entry.value;
  }

  /** The value; does not count as a use. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** All values, the least recently used first. */
  *values(): Generator<V, undefined, void> {
    for (const { value } of this.#entries.values()) yield value;
  }

  /** Adds or replaces an entry, and evicts others until the limit holds. A value heavier than the limit is not kept. */
  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#options.weightOf?.(value) ?? 1;
    this.#entries.set(key, { value, weight });
    this.#newest = key;
    this.#weight += weight;
    for (const [oldest, entry] of this.#entries) {
      if (this.#weight <= this.#options.maxWeight) return;
      if (this.#options.isPinned?.(entry.value)) continue;
      this.delete(oldest);
      this.#options.onEvict?.(entry.value);
    }
  }

  /** Whether an entry of this weight fits without an eviction. */
  hasRoomFor(weight: number): boolean {
    return this.#weight + weight <= this.#options.maxWeight;
  }

  delete(key: K): boolean {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    return this.#entries.delete(key);
  }

  /** Deletes the entries whose values match, without `onEvict`. */
  deleteWhere(matches: (value: V) => boolean): void {
    for (const [key, { value }] of this.#entries) if (matches(value)) this.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}

/** An LRU cache whose entries expire, each at its own time. */
export class ExpiringLruCache<K, V> {
  readonly #clock: MonotonicClock;
  /** `expiresAt` by the monotonic clock: a wall clock that is set back would keep entries for longer. */
  readonly #entries: LruCache<K, { readonly value: V; readonly expiresAt: number }>;

  constructor(clock: MonotonicClock, maxEntries: number) {
    this.#clock = clock;
    this.#entries = new LruCache({ maxWeight: maxEntries });
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt > this.#clock.monotonic()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** @param ttlMs lifetime, milliseconds; a value with a lifetime of 0 or less is not kept */
  set(key: K, value: V, ttlMs: number): void {
    if (ttlMs > 0) this.#entries.set(key, { value, expiresAt: this.#clock.monotonic() + ttlMs });
    else this.delete(key);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  /** Deletes the expired entries, in time proportional to the number of all entries. @returns the number of the others */
  dropExpired(): number {
    const now = this.#clock.monotonic();
    this.#entries.deleteWhere(({ expiresAt }) => expiresAt <= now);
    return this.#entries.size;
  }
}
