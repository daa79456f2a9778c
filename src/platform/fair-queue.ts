import type { Clock } from './clock.ts';
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

export interface PlaceOptions {
  /** Units that it uses; default 1. More than the limits allow are taken as the most that they allow. */
  readonly units?: number | undefined;
  /** The most units of the key, instead of `perKey`. */
  readonly most?: number | undefined;
  /** True for work that has begun before: it goes ahead of all places that have not. */
  readonly first?: boolean | undefined;
  /** Called once when the place is given: at once within `enter` where there is room. It must not throw. */
  readonly start: (place: Place) => void;
  /** Called once if the place is refused. It must not throw. */
  readonly refuse: (reason: Refusal) => void;
}

/** A place in the queue: it waits, is in use, or has ended. */
export interface Place {
  /** Sets the units of a place in use when the actual number is known. It may exceed the limits: the next ones wait longer then. */
  resize(units: number): void;
  /** Ends the place, in use or waiting. Further calls do nothing. */
  release(): void;
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
  /** Without those that go ahead. Undefined until one waits, because most keys have a place at once. */
  waiting: Set<QueuePlace> | undefined;
}

/** Keys without places are forgotten above this number. Most have a place again soon. */
const MAX_KEYS = 64;

const UNMEASURED: Pick<Clock, 'monotonic' | 'schedule'> = { monotonic: () => 0, schedule: () => () => undefined };

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
  /** Waiting places that go ahead of all keys. */
  readonly #first = new Set<QueuePlace>();
  #used = 0;
  #waiting = 0;
  #isServing = false;

  /** @param clock undefined where nothing waits, or nobody asks how long */
  constructor(
    limits: QueueLimits,
    clock: Pick<Clock, 'monotonic' | 'schedule'> = UNMEASURED,
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

  /** Units in use by one key. */
  usedBy(key: string): number {
    return this.#keys.get(key)?.used ?? 0;
  }

  /** Asks for a place. It is given or refused by the functions of `options`. A place that is given must be released; a refused one has ended. */
  enter(key: string, options: PlaceOptions): Place {
    return this.#enter(key, options);
  }

  #enter(key: string, options: PlaceOptions): QueuePlace {
    const { total, perKey = total } = this.#limits;
    const { most = perKey, units = 1 } = options;
    const place = new QueuePlace(this, this.#keyOf(key), options, most, Math.min(units, most, total));
    place.key.places++;
    if (!this.#isOvertaking(place) && this.#fits(place)) {
      this.#count(place.key, place.units);
      this.#start(place, 0);
      return place;
    }
    const refusal = this.#refusal(place);
    if (refusal === undefined) this.#wait(place);
    else this.#refuse(place, refusal);
    return place;
  }

  /**
   * As `enter`, as a promise.
   * @param options.signal ends the wait; a place that is given must be released by the caller
   * @throws {QueueRefusal}; the reason of the signal where it aborts first
   */
  acquire(
    key: string,
    { signal, units, most, first }: Omit<PlaceOptions, 'start' | 'refuse'> & { readonly signal?: AbortSignal } = {},
  ): Promise<Place> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<Place>();
    const refuse = (reason: Refusal): void => reject(new QueueRefusal(reason, this.#limits));
    const place = this.#enter(key, { units, most, first, start: resolve, refuse });
    return signal === undefined || place.state !== 'waiting' ? promise : untilGiven(promise, place, signal);
  }

  /** As `enter`, for what does not wait. @returns the place, or why there is none */
  tryEnter(key: string, options: Pick<PlaceOptions, 'units' | 'most'> = {}): Place | Refusal {
    let refusal: Refusal = 'full';
    const refuse = (reason: Refusal): void => void (refusal = reason);
    const place = this.#enter(key, { ...options, start: () => undefined, refuse });
    if (place.state === 'used') return place;
    place.release();
    return refusal;
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

  /** For `QueuePlace`. */
  resize(place: QueuePlace, units: number): void {
    if (place.state !== 'used') return;
    this.#count(place.key, units - place.units);
    place.units = units;
    // Also where the place has grown: its key may have been the next one, and others fit.
    this.#serve();
  }

  /** For `QueuePlace`. */
  release(place: QueuePlace): void {
    const { state, key, units } = place;
    if (state === 'ended') return;
    if (state === 'waiting') this.#leave(place);
    this.#end(place);
    if (state === 'used') this.#count(key, -units);
    // Those behind it may fit now.
    this.#serve();
  }

  #keyOf(name: string): Key {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key: Key = { name, used: 0, places: 0, waiting: undefined };
    this.#keys.set(name, key);
    return key;
  }

  /** A key at its share stops only its own places: these are in `waiting`, and the key is not ready. */
  #isOvertaking({ first, key }: QueuePlace): boolean {
    return this.#first.size > 0 || (!first && (this.#ready.size > 0 || waitingOf(key) > 0));
  }

  #fits(place: QueuePlace): boolean {
    return this.#used + place.units <= this.#limits.total && fitsShare(place);
  }

  #refusal(place: QueuePlace): Refusal | undefined {
    const { maxWaiting, maxWaitingOfKey = maxWaiting } = this.#limits;
    if (waitingOf(place.key) >= maxWaitingOfKey) return fitsShare(place) ? 'full' : 'full-of-key';
    return this.#waiting >= maxWaiting ? 'full' : undefined;
  }

  #count(key: Key, units: number): void {
    key.used += units;
    this.#used += units;
    if (isFirstFitting(key)) this.#ready.add(key);
  }

  #end(place: QueuePlace): void {
    const { key } = place;
    place.state = 'ended';
    key.places--;
    if (key.places === 0 && this.#keys.size > MAX_KEYS) this.#keys.delete(key.name);
  }

  #start(place: QueuePlace, waitedMs: number): void {
    place.state = 'used';
    this.#observer?.onStart(this.#limits.name, waitedMs);
    place.options.start(place);
  }

  #refuse(place: QueuePlace, reason: Refusal): void {
    this.#end(place);
    this.#observer?.onRefusal(this.#limits.name, reason);
    place.options.refuse(reason);
  }

  #wait(place: QueuePlace): void {
    const { key } = place;
    this.#waiting++;
    place.since = this.#clock.monotonic();
    if (place.first) this.#first.add(place);
    else {
      (key.waiting ??= new Set()).add(place);
      if (isFirstFitting(key)) this.#ready.add(key);
    }
    const { maxWaitMs } = this.#limits;
    if (maxWaitMs === undefined) return;
    place.cancelTimeout = this.#clock.schedule(() => {
      this.#leave(place);
      this.#refuse(place, 'timeout');
      this.#serve();
    }, maxWaitMs);
  }

  /** Takes a place out of the waiting ones. Its key goes to the end of the turns. */
  #leave(place: QueuePlace): void {
    const { key } = place;
    place.cancelTimeout?.();
    this.#waiting--;
    if (this.#first.delete(place)) return;
    key.waiting?.delete(place);
    this.#ready.delete(key);
    if (isFirstFitting(key)) this.#ready.add(key);
  }

  /** Gives places while there is room for the next one. */
  #serve(): void {
    // A place that ends while it starts leads here again: the loop below goes on then, instead of one more on the stack.
    if (this.#isServing || this.#waiting === 0) return;
    this.#isServing = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (this.#used + next.units > this.#limits.total) break;
      // Counted first: whether its key is ready for another turn depends on it.
      this.#count(next.key, next.units);
      this.#leave(next);
      this.#start(next, this.#clock.monotonic() - next.since);
    }
    this.#isServing = false;
  }

  #next(): QueuePlace | undefined {
    for (const place of this.#first) return place;
    for (const key of this.#ready) {
      const place = firstOf(key);
      if (place !== undefined && fitsShare(place)) return place;
      // A place of the key has grown since.
      this.#ready.delete(key);
    }
    return undefined;
  }
}

/** Work that has begun ends sooner when it goes on, so the share of its key does not stop it. */
function fitsShare({ first, key, units, most }: QueuePlace): boolean {
  return first || key.used + units <= most;
}

function firstOf({ waiting }: Key): QueuePlace | undefined {
  if (waiting !== undefined) for (const place of waiting) return place;
  return undefined;
}

function waitingOf({ waiting }: Key): number {
  return waiting === undefined ? 0 : waiting.size;
}

function isFirstFitting(key: Key): boolean {
  const first = firstOf(key);
  return first !== undefined && fitsShare(first);
}

/** @throws the reason of the signal where it aborts first; the place is released then */
async function untilGiven(promise: Promise<Place>, place: Place, signal: AbortSignal): Promise<Place> {
  try {
    const given = await untilAborted(promise, signal);
    // It may have aborted since the place was given.
    signal.throwIfAborted();
    return given;
  } catch (error) {
    place.release();
    throw error;
  }
}

/** Its fields are for `FairQueue`. They are not private: most requests have several places, and private fields cost more time to create. */
class QueuePlace implements Place {
  readonly key: Key;
  readonly options: PlaceOptions;
  readonly first: boolean;
  readonly most: number;
  units: number;
  state: 'waiting' | 'used' | 'ended' = 'waiting';
  /** Monotonic time when it began to wait. */
  since = 0;
  cancelTimeout: (() => void) | undefined = undefined;
  readonly queue: FairQueue;

  constructor(queue: FairQueue, key: Key, options: PlaceOptions, most: number, units: number) {
    this.queue = queue;
    this.key = key;
    this.options = options;
    this.first = options.first === true;
    this.most = most;
    this.units = units;
  }

  resize(units: number): void {
    this.queue.resize(this, units);
  }

  release(): void {
    this.queue.release(this);
  }
}
