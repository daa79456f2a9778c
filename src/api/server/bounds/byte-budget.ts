import { systemClock } from '../../../platform/clock.ts';
import { HttpError } from '../errors.ts';

export interface ByteBudgetLimits {
  /** Bytes of pages and responses that may be in memory at the same time. */
  readonly totalBytes: number;
  /** The part of `totalBytes` that one caller may use. */
  readonly bytesPerCaller: number;
  /** Requests that may wait; further ones are rejected. */
  readonly maxWaiting?: number;
  /** Maximum wait of a request in milliseconds. */
  readonly maxWaitMs?: number;
}

const MB = 1024 * 1024;
export const DEFAULT_BYTE_BUDGET = { totalBytes: 128 * MB, bytesPerCaller: 32 * MB } as const;
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = '2';

/** Bytes reserved for one request. */
export interface Lease {
  /** Sets the actual size when it is known. */
  resize(bytes: number): void;
  /** Returns the bytes to the budget. Further calls do nothing. */
  release(): void;
}

interface Waiter {
  readonly bytes: number;
  readonly admit: (lease: Lease) => void;
}

/**
 * Bounds the response bytes in memory, per caller and in total. Waiting callers are admitted round-robin, and the requests of each caller in FIFO order.
 */
export class ByteBudget {
  readonly #limits: Required<ByteBudgetLimits>;
  readonly #held = new Map<string, number>();
  /** Queue of each caller, in round-robin order. */
  readonly #waiting = new Map<string, Waiter[]>();
  #heldBytes = 0;
  #waiters = 0;
  /** True while a request waits for the total. New requests then queue behind it, so that large requests do not starve. */
  #totalBlocked = false;

  constructor(limits: ByteBudgetLimits = DEFAULT_BYTE_BUDGET) {
    this.#limits = { maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS, ...limits };
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Waits until the bytes are available. A request above the caller's share reserves the whole share.
   * @throws {HttpError} 503 when the queue is full or the wait times out; 499 when `signal` aborts
   */
  async acquire(caller: string, bytes: number, signal: AbortSignal): Promise<Lease> {
    const wanted = Math.min(bytes, this.#limits.bytesPerCaller, this.#limits.totalBytes);
    if (!this.#totalBlocked && !this.#waiting.has(caller) && this.#fits(caller, wanted))
      return this.#reserve(caller, wanted);
    if (this.#waiters >= this.#limits.maxWaiting) throw overloaded('too many requests wait for memory');
    return this.#wait(caller, wanted, signal);
  }

  #wait(caller: string, bytes: number, signal: AbortSignal): Promise<Lease> {
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', abort);
      this.#waiters--;
    };
    const waiter: Waiter = {
      bytes,
      admit: (lease) => {
        end();
        resolve(lease);
      },
    };
    const fail = (error: HttpError): void => {
      this.#remove(caller, waiter);
      end();
      reject(error);
      // Removing this request may unblock those behind it.
      this.#admitWaiting();
    };
    const abort = (): void => fail(new HttpError(499, 'the client disconnected'));
    const { maxWaitMs } = this.#limits;
    const cancel = systemClock.schedule(
      () => fail(overloaded(`no memory became free within ${maxWaitMs} ms`)),
      maxWaitMs,
    );
    signal.addEventListener('abort', abort);
    this.#waiters++;
    const queue = this.#waiting.get(caller);
    if (queue === undefined) this.#waiting.set(caller, [waiter]);
    else queue.push(waiter);
    if (signal.aborted) abort();
    else this.#admitWaiting();
    return promise;
  }

  #remove(caller: string, waiter: Waiter): void {
    const queue = this.#waiting.get(caller) ?? [];
    const at = queue.indexOf(waiter);
    if (at >= 0) queue.splice(at, 1);
    if (queue.length === 0) this.#waiting.delete(caller);
  }

  #fits(caller: string, bytes: number): boolean {
    const { totalBytes, bytesPerCaller } = this.#limits;
    return this.#heldBytes + bytes <= totalBytes && (this.#held.get(caller) ?? 0) + bytes <= bytesPerCaller;
  }

  #reserve(caller: string, bytes: number): Lease {
    let held = 0;
    const resize = (to: number): void => {
      this.#heldBytes += to - held;
      const ofCaller = (this.#held.get(caller) ?? 0) + to - held;
      if (ofCaller === 0) this.#held.delete(caller);
      else this.#held.set(caller, ofCaller);
      const shrinks = to < held;
      held = to;
      if (shrinks) this.#admitWaiting();
    };
    let released = false;
    resize(bytes);
    return {
      resize: (to) => {
        if (!released) resize(to);
      },
      release: () => {
        if (!released) resize(0);
        released = true;
      },
    };
  }

  /** Admits waiting requests, one per caller in turn, while bytes are available. */
  #admitWaiting(): void {
    this.#totalBlocked = false;
    for (const [caller, queue] of this.#waiting) {
      const [first] = queue;
      if (first === undefined || !this.#fits(caller, first.bytes)) {
        // A caller at its own share does not block others. A request that waits for the total blocks all behind it.
        this.#totalBlocked = first !== undefined && this.#heldBytes + first.bytes > this.#limits.totalBytes;
        if (this.#totalBlocked) return;
        continue;
      }
      queue.shift();
      this.#waiting.delete(caller);
      // Re-inserted at the end, so the loop visits this caller again after the others.
      if (queue.length > 0) this.#waiting.set(caller, queue);
      first.admit(this.#reserve(caller, first.bytes));
    }
  }
}

function overloaded(why: string): HttpError {
  return new HttpError(
    503,
    `the memory for responses (\`max-answer-bytes\`) is in use, and ${why}: try again in a moment`,
    {
      headers: { 'retry-after': RETRY_AFTER_SECONDS },
    },
  );
}
