import type { Clock } from '../../../platform/clock.ts';
import type { Turn } from '../../../platform/parts.ts';
import { HttpError } from '../errors.ts';

/** Shorter bodies are parsed and judged in a millisecond or two. */
const LONG_BYTES = 8 * 1024;
/** Maximum waiting requests of one caller. */
const MAX_OF_CALLER = 64;
const MB = 1024 * 1024;
/** Maximum bytes of the waiting requests of one caller, and of all: they are in memory. */
const MAX_BYTES_OF_CALLER = 16 * MB;
const MAX_BYTES = 128 * MB;
const MAX_WAIT_MS = 10_000;
const MAX_REST_MS = 100;

export interface LongWorkOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** Calls back in the next turn of the event loop, after the microtasks of this one. `setImmediate` by default. */
  readonly afterWork?: (call: () => void) => void;
}

interface Waiting {
  readonly bytes: number;
  readonly isOpen: () => boolean;
  readonly start: () => void;
  readonly drop: () => void;
}

/**
 * Spreads the work for large request bodies. To parse and judge one takes up to 50 ms, in which the event loop serves nothing else; a caller who sends many
 * at once, also one without any right, would stop probes and the requests of all others for seconds. So a part of one of them is worked on at a time,
 * the callers take turns, and after each part the event loop is left to other requests for as long as the work took.
 */
export class LongWork {
  readonly #clock: LongWorkOptions['clock'];
  readonly #afterWork: (call: () => void) => void;
  /** By caller; the first caller is next. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** Requests that have begun, and wait for their next part. Others wait until they are done, because what is parsed is many times larger than the body. */
  readonly #begun: Pick<Waiting, 'isOpen' | 'start' | 'drop'>[] = [];
  #bytes = 0;
  /** True while a request is worked on, and in the rest after it. */
  #isBusy = false;

  constructor({ clock, afterWork = (call) => void setImmediate(call) }: LongWorkOptions) {
    this.#clock = clock;
    this.#afterWork = afterWork;
  }

  /** Bytes of the requests that wait. */
  get waitingBytes(): number {
    return this.#bytes;
  }

  /**
   * The turns of one request: its first one as `begin`, each further one before all requests that have not begun.
   * @param bytes of the request
   * @param isOpen whether the client still waits
   */
  turnsOf(caller: string, bytes: number, isOpen: () => boolean): Turn {
    let hasBegun = false;
    return () => {
      if (bytes <= LONG_BYTES) return undefined;
      if (hasBegun) return this.#continue(isOpen);
      hasBegun = true;
      return this.begin(caller, bytes, isOpen);
    };
  }

  #continue(isOpen: () => boolean): Promise<void> | undefined {
    if (!this.#isBusy) {
      this.#work();
      return undefined;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#begun.push({ isOpen, start: resolve, drop: () => reject(disconnected()) });
    return promise;
  }

  /**
   * Resolves when the work for a request may begin; undefined if it may at once. The work is what the caller does then without waiting for anything but promises that are resolved.
   * @param bytes of the request
   * @param isOpen whether the client still waits
   * The promise rejects with {HttpError} 429 or 503 if too many requests wait; 503 after ten seconds; 400 for a client that has left
   */
  begin(caller: string, bytes: number, isOpen: () => boolean): Promise<void> | undefined {
    if (bytes <= LONG_BYTES) return undefined;
    if (!this.#isBusy) {
      this.#work();
      return undefined;
    }
    const ofCaller = this.#waiting.get(caller) ?? [];
    if (ofCaller.length >= MAX_OF_CALLER || bytesOf(ofCaller) + bytes > MAX_BYTES_OF_CALLER)
      return Promise.reject(tooMany(429, `${ofCaller.length} requests of this caller with large bodies wait`));
    if (this.#bytes + bytes > MAX_BYTES)
      return Promise.reject(tooMany(503, 'too many requests with large bodies wait'));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const drop = (): void => reject(disconnected());
    const request = { bytes, isOpen, start: resolve, drop };
    ofCaller.push(request);
    this.#waiting.set(caller, ofCaller);
    this.#bytes += bytes;
    const cancel = this.#clock.schedule(() => {
      this.#remove(caller, request);
      reject(tooMany(503, `the request waited for ${MAX_WAIT_MS / 1000} s behind others with large bodies`));
    }, MAX_WAIT_MS);
    return promise.finally(cancel);
  }

  #work(): void {
    this.#isBusy = true;
    const began = this.#clock.monotonic();
    this.#afterWork(() => {
      const tookMs = this.#clock.monotonic() - began;
      this.#clock.schedule(() => this.#next(), Math.min(tookMs, MAX_REST_MS));
    });
  }

  #next(): void {
    const first = (): Pick<Waiting, 'isOpen' | 'start' | 'drop'> | undefined => this.#begun.shift() ?? this.#take();
    for (let next = first(); next !== undefined; next = first()) {
      if (next.isOpen()) {
        this.#work();
        next.start();
        return;
      }
      next.drop();
    }
    this.#isBusy = false;
  }

  /** The oldest request of the next caller, who is the last one afterwards. */
  #take(): Waiting | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [caller, requests] = first;
    const [taken] = requests;
    this.#waiting.delete(caller);
    this.#waiting.set(caller, requests);
    if (taken !== undefined) this.#remove(caller, taken);
    return taken;
  }

  #remove(caller: string, request: Waiting): void {
    const requests = this.#waiting.get(caller) ?? [];
    requests.splice(requests.indexOf(request), 1);
    if (requests.length === 0) this.#waiting.delete(caller);
    this.#bytes -= request.bytes;
  }
}

function bytesOf(requests: readonly Waiting[]): number {
  return requests.reduce((sum, { bytes }) => sum + bytes, 0);
}

function disconnected(): HttpError {
  return new HttpError(400, 'the client has disconnected');
}

function tooMany(status: number, what: string): HttpError {
  return new HttpError(status, `${what}: try again in 5 s`, { headers: { 'retry-after': '5' } });
}
