import { HttpError } from '../errors.ts';

/** Maximum waiting calls of one caller. */
const MAX_WAITING = 256;

interface CallsOfCaller {
  running: number;
  /** In the order of arrival. Each starts its call. */
  readonly waiting: Set<() => void>;
}

/**
 * Limits the concurrent calls of each caller; further ones wait. All callers share the connections to the controller, so a caller whose calls hang
 * must not occupy all of them. Bounded by the number of open requests.
 */
export class CallSlots {
  readonly #calls: string;
  readonly #callers = new Map<string, CallsOfCaller>();

  /** @param calls what is limited, for the message */
  constructor(calls = 'calls to the controller') {
    this.#calls = calls;
  }

  /**
   * Resolves when the call may start; never, if it closes before.
   * @param max concurrent calls of the caller; 0 for no limit
   * @param onClose registers a function that is called once when the call is finished or its client has disconnected
   * @throws {HttpError} 429 if too many calls of the caller wait
   */
  async begin(caller: string, max: number, onClose: (call: () => void) => void): Promise<void> {
    if (max === 0) return;
    const calls = this.#callers.get(caller) ?? { running: 0, waiting: new Set() };
    if (calls.running >= max && calls.waiting.size >= MAX_WAITING) {
      const message = `limit of concurrent ${this.#calls} (${max}) exceeded, and ${MAX_WAITING} calls wait: try again in 1 s`;
      throw new HttpError(429, message, { headers: { 'retry-after': '1' } });
    }
    this.#callers.set(caller, calls);
    const { promise, resolve } = Promise.withResolvers<void>();
    let started = false;
    const start = (): void => {
      started = true;
      calls.running++;
      resolve();
    };
    if (calls.running < max) start();
    else calls.waiting.add(start);
    onClose(() => {
      calls.waiting.delete(start);
      if (started) this.#end(caller, calls);
    });
    return promise;
  }

  #end(caller: string, calls: CallsOfCaller): void {
    calls.running--;
    const [next] = calls.waiting;
    if (next !== undefined) {
      calls.waiting.delete(next);
      next();
    }
    if (calls.running === 0) this.#callers.delete(caller);
  }
}
