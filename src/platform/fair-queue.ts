import { type Clock, systemClock } from './clock.ts';
import { untilAborted } from './until-aborted.ts';

/** Limits of one queue. `Infinity` is no limit. */
export interface QueueLimits {
  /** Name in metrics and messages, such as `memory`. */
  readonly name: string;
  /** Units that may be in use at the same time. Units are what the queue counts: requests, bytes, connections. */
  readonly total: number;
  /** The part of `total` that one key may use; default: `total`. */
  readonly perKey?: number;
  /** Places that may wait, in all and of one key. 0: what finds no room is refused at once. */
  readonly maxWaiting: number;
  readonly maxWaitingOfKey?: number;
  /** Milliseconds after which a waiting place is refused; default: no limit. */
  readonly maxWaitMs?: number;
}

/** Why a place was refused: too many wait, too many of the key wait, or it waited too long. */
export type Refusal = 'full' | 'full-of-key' | 'timeout';

export interface PlaceSize {
  /** Units that it uses; default 1. More than the limits allow are taken as the most that they allow. */
  readonly units?: number | undefined;
  /** The most units of the key, instead of `perKey`. */
  readonly most?: number | undefined;
}

export interface PlaceOptions extends PlaceSize {
  /** Called once when the place is given: at once within `enter` where there is room. It must not throw. */
  readonly start: (place: Place, waitedMs: number) => void;
  /** Called once if the place is refused. It must not throw. Required where the queue has limits of what waits. */
  readonly refuse?: ((reason: Refusal) => void) | undefined;
}

/** What a metric reads from a queue. */
export interface QueueState {
  readonly name: string;
  readonly total: number;
  readonly used: number;
  readonly waiting: number;
}

export interface QueueObserver {
  onStart(name: string, waitedMs: number): void;
  onRefusal(name: string, reason: Refusal): void;
}

/** Observes queues, and reads their states when it is asked. */
export interface QueueMetrics extends QueueObserver {
  watch(...states: readonly QueueState[]): void;
}

interface Key {
  readonly name: string;
  used: number;
  /** Places that have not ended. */
  places: number;
  /** Undefined until one waits, because most keys have a place at once. */
  waiting: Set<Place> | undefined;
}

/** Keys without places are forgotten above this number. Most have a place again soon. */
const MAX_KEYS = 64;

/** A place was refused; see `Refusal`. */
export class QueueRefusal extends Error {
  readonly reason: Refusal;
  readonly limits: QueueLimits;

  constructor(reason: Refusal, limits: QueueLimits) {
    super(`no place in the queue \`${limits.name}\`: ${reason}`);
    this.name = 'QueueRefusal';
    this.reason = reason;
    this.limits = limits;
  }
}

/**
 * A place in a queue: it waits, is in use, or has ended. Only `resize` and `release` are for its owner. The fields are not private, because most requests
 * have several places, and private fields cost more time to create.
 */
export class Place {
  readonly queue: FairQueue;
  readonly key: Key;
  readonly most: number;
  units: number;
  state: 'waiting' | 'used' | 'ended' = 'waiting';
  refusal: Refusal | undefined = undefined;
  start: PlaceOptions['start'] | undefined = undefined;
  refuse: PlaceOptions['refuse'] = undefined;
  /** Monotonic time when it began to wait. */
  since = 0;
  cancelTimeout: (() => void) | undefined = undefined;

  constructor(queue: FairQueue, key: Key, units: number, most: number) {
    this.queue = queue;
    this.key = key;
    this.units = units;
    this.most = most;
  }

  /** Sets the units of a place in use when the actual number is known. It may exceed the limits: the next ones wait longer then. */
  resize(units: number): void {
    this.queue.resize(this, units);
  }

  /** Ends the place, in use or waiting. Further calls do nothing. */
  release(): void {
    this.queue.release(this);
  }
}

/**
 * Decides who may use something that is limited: now, later, or not at all. Keys (callers, addresses) take turns, the places of one key are served in
 * the order of their arrival, and a key that uses its share holds up nobody else. A place that waits for many units of the total is not overtaken.
 * The cost of a place does not depend on how many others wait, up to some ten thousand.
 */
export class FairQueue implements QueueState {
  readonly #limits: QueueLimits;
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly #observer: QueueObserver | undefined;
  /** Those with places in use or waiting, and some others. */
  readonly #keys = new Map<string, Key>();
  /** Keys whose first waiting place fits their share, in the order of their turns. */
  readonly #ready = new Set<Key>();
  #used = 0;
  #waiting = 0;
  #isServing = false;

  constructor(
    limits: QueueLimits,
    clock: Pick<Clock, 'monotonic' | 'schedule'> = systemClock,
    observer?: QueueObserver,
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#observer = observer;
  }

  /** For jobs of one kind, at most `total` at once; the others wait for as long as it takes. */
  static ofJobs(name: string, total: number): FairQueue {
    return new FairQueue({ name, total, maxWaiting: Infinity });
  }

  get name(): string {
    return this.#limits.name;
  }

  get total(): number {
    return this.#limits.total;
  }

  /** Units in use. */
  get used(): number {
    return this.#used;
  }

  /** Places that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Asks for a place. It is given or refused by the functions of `options`. A place that is given must be released; a refused one has ended. */
  enter(key: string, options: PlaceOptions): Place {
    const place = this.#enter(key, options);
    if (place.state === 'used') options.start(place, 0);
    else if (place.refusal !== undefined) options.refuse?.(place.refusal);
    else {
      place.start = options.start;
      place.refuse = options.refuse;
    }
    return place;
  }

  /** As `enter`, for a queue in which nothing waits. @returns the place, or why there is none */
  tryEnter(key: string, size: PlaceSize = {}): Place | Refusal {
    const place = this.#enter(key, size);
    return place.refusal ?? place;
  }

  /**
   * As `enter`. The usual case, a place that is free, needs no promise.
   * @param size.signal ends the wait; a place that is given must be released by the caller
   * The promise rejects with {QueueRefusal}, or with the reason of the signal where it aborts first
   */
  acquire(key: string, size: PlaceSize & { readonly signal?: AbortSignal } = {}): Place | Promise<Place> {
    const { signal } = size;
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const place = this.#enter(key, size);
    return place.state === 'used' ? place : this.#given(place, signal);
  }

  /** Runs a job in a place of the key. @throws {QueueRefusal}; what the job throws */
  async run<T>(job: () => Promise<T>, key = ''): Promise<T> {
    const place = await this.acquire(key);
    try {
      return await job();
    } finally {
      place.release();
    }
  }

  /** For `Place`. */
  resize(place: Place, units: number): void {
    if (place.state !== 'used') return;
    this.#count(place.key, units - place.units);
    place.units = units;
    // Also where the place has grown: its key may have been the next one, and others fit.
    this.#serve();
  }

  /** For `Place`. */
  release(place: Place): void {
    const { state, key, units } = place;
    if (state === 'ended') return;
    if (state === 'waiting') this.#leave(place);
    this.#end(place);
    if (state === 'used') this.#count(key, -units);
    // Those behind it may fit now.
    this.#serve();
  }

  /** @returns the place in use, refused, or waiting */
  #enter(name: string, { units = 1, most = this.#limits.perKey ?? this.#limits.total }: PlaceSize): Place {
    const { total } = this.#limits;
    const key = this.#keyOf(name);
    const place = new Place(this, key, Math.min(units, most, total), most);
    key.places++;
    // A key at its share stops only its own places: these wait, and the key is not ready.
    const isOvertaking = this.#ready.size > 0 || waitingOf(key) > 0;
    if (!isOvertaking && this.#used + place.units <= total && fitsShare(place)) {
      this.#count(key, place.units);
      this.#start(place, 0);
      return place;
    }
    const refusal = this.#refusal(place);
    if (refusal === undefined) this.#wait(place);
    else this.#refuse(place, refusal);
    return place;
  }

  async #given(place: Place, signal: AbortSignal | undefined): Promise<Place> {
    const { promise, resolve, reject } = Promise.withResolvers<Place>();
    place.start = resolve;
    place.refuse = (reason) => reject(new QueueRefusal(reason, this.#limits));
    if (place.refusal !== undefined) place.refuse(place.refusal);
    try {
      await (signal === undefined ? promise : untilAborted(promise, signal));
      // It may have aborted since the place was given.
      signal?.throwIfAborted();
      return place;
    } catch (error) {
      place.release();
      throw error;
    }
  }

  #keyOf(name: string): Key {
    let key = this.#keys.get(name);
    if (key === undefined) this.#keys.set(name, (key = { name, used: 0, places: 0, waiting: undefined }));
    return key;
  }

  #refusal(place: Place): Refusal | undefined {
    const { maxWaiting, maxWaitingOfKey = maxWaiting } = this.#limits;
    if (waitingOf(place.key) >= maxWaitingOfKey) return fitsShare(place) ? 'full' : 'full-of-key';
    return this.#waiting >= maxWaiting ? 'full' : undefined;
  }

  #count(key: Key, units: number): void {
    key.used += units;
    this.#used += units;
    this.#update(key);
  }

  /** After each change of a key. One that becomes ready is the last one. */
  #update(key: Key): void {
    const first = firstOf(key);
    if (first !== undefined && fitsShare(first)) this.#ready.add(key);
    else this.#ready.delete(key);
  }

  #end(place: Place): void {
    const { key } = place;
    place.state = 'ended';
    key.places--;
    if (key.places === 0 && this.#keys.size > MAX_KEYS) this.#keys.delete(key.name);
  }

  #start(place: Place, waitedMs: number): void {
    place.state = 'used';
    this.#observer?.onStart(this.#limits.name, waitedMs);
    place.start?.(place, waitedMs);
  }

  #refuse(place: Place, reason: Refusal): void {
    this.#end(place);
    place.refusal = reason;
    this.#observer?.onRefusal(this.#limits.name, reason);
    place.refuse?.(reason);
  }

  #wait(place: Place): void {
    const { key } = place;
    this.#waiting++;
    place.since = this.#clock.monotonic();
    (key.waiting ??= new Set()).add(place);
    this.#update(key);
    const { maxWaitMs } = this.#limits;
    if (maxWaitMs === undefined) return;
    place.cancelTimeout = this.#clock.schedule(() => {
      this.#leave(place);
      this.#refuse(place, 'timeout');
      this.#serve();
    }, maxWaitMs);
  }

  /** Takes a place out of the waiting ones. Its key goes to the end of the turns. */
  #leave(place: Place): void {
    place.cancelTimeout?.();
    this.#waiting--;
    place.key.waiting?.delete(place);
    this.#ready.delete(place.key);
    this.#update(place.key);
  }

  /** Gives places while there is room for the next one. */
  #serve(): void {
    // A place that ends while it starts leads here again: the loop below goes on then, instead of one more on the stack.
    if (this.#isServing || this.#waiting === 0) return;
    this.#isServing = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      // Counted first: whether its key is ready for another turn depends on it.
      this.#count(next.key, next.units);
      this.#leave(next);
      this.#start(next, this.#clock.monotonic() - next.since);
    }
    this.#isServing = false;
  }

  /** The place whose turn it is; undefined if it does not fit. */
  #next(): Place | undefined {
    const [key] = this.#ready;
    const place = key && firstOf(key);
    return place !== undefined && this.#used + place.units <= this.#limits.total ? place : undefined;
  }
}

function fitsShare({ key, units, most }: Place): boolean {
  return key.used + units <= most;
}

function firstOf({ waiting }: Key): Place | undefined {
  if (waiting !== undefined) for (const place of waiting) return place;
  return undefined;
}

function waitingOf({ waiting }: Key): number {
  return waiting === undefined ? 0 : waiting.size;
}
