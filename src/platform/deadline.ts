import type { Clock } from './clock.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * A time-out and a caller's abort signal as one signal. Unlike `AbortSignal.any()` with `AbortSignal.timeout()` it can be restarted, knows
 * which of the two it was, and leaves neither timer nor listener after clear().
 */
export class Deadline {
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onOuterAbort: () => void;
  #cancel: () => void = () => {};
  #timeoutMs = 0;
  #endsAt = 0;
  #expired = false;

  /**
   * Starts the time-out.
   * @throws the reason of `outer` where that is aborted already
   */
  constructor(clock: Pick<Clock, 'monotonic' | 'schedule'>, timeoutMs: number, outer?: AbortSignal) {
    outer?.throwIfAborted();
    this.#clock = clock;
    this.#outer = outer;
    this.#onOuterAbort = () => this.#controller.abort(outer?.reason);
    outer?.addEventListener('abort', this.#onOuterAbort, { once: true });
    this.restart(timeoutMs);
  }

  /** Aborts when the time is over or the caller's signal aborts. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time was over before clear(). */
  get expired(): boolean {
    return this.#expired;
  }

  /** The caller's signal, where that has aborted. */
  get abortedBy(): AbortSignal | undefined {
    return this.#outer?.aborted === true ? this.#outer : undefined;
  }

  /** The current time-out, milliseconds. */
  get timeoutMs(): number {
    return this.#timeoutMs;
  }

  /** Milliseconds until the time is over. */
  remainingMs(): number {
    return this.#endsAt - this.#clock.monotonic();
  }

  /** Starts a new time-out from now, in place of the current one. */
  restart(timeoutMs: number): void {
    this.#cancel();
    this.#timeoutMs = timeoutMs;
    this.#endsAt = this.#clock.monotonic() + timeoutMs;
    this.#cancel = this.#clock.schedule(() => {
      this.#expired = true;
      this.#controller.abort(new DOMException(`timed out after ${timeoutMs} ms`, 'TimeoutError'));
    }, timeoutMs);
  }

  /** Stops the time-out; the caller's signal still aborts. For a response without an end. */
  stopTimer(): void {
    this.#cancel();
    this.#endsAt = Number.POSITIVE_INFINITY;
  }

  /** Releases the timer and the listener. Required at the end of the work. */
  clear(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#onOuterAbort);
  }

  /** Rejects when the deadline passes before the promise settles. For work that takes no signal, such as a credential plugin. */
  limit<T>(promise: Promise<T>): Promise<T> {
    return untilAborted(promise, this.signal);
  }
}

/** Whether the error or the reason of an abort is a time-out. */
export function isTimeout(error: unknown): boolean {
  return (error as { name?: unknown } | null | undefined)?.name === 'TimeoutError';
}
