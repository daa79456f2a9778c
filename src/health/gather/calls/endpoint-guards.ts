import type { MonotonicClock } from '../../../platform/clock.ts';

/** Calls of one kind that got no response, one after the other, before the kind is not called again in the run. */
const MAX_HANGING = 3;
/** Time for all calls of one kind in a run, less than the deadline of a run (10 min). */
const MAX_KIND_MS = 8 * 60_000;

/** The engine did not respond in time, or was not called because earlier calls of the kind got no response. */
export class HangingError extends Error {
  /** False if the call was not made. */
  readonly called: boolean;

  constructor(message: string, called: boolean) {
    super(message);
    this.name = 'HangingError';
    this.called = called;
  }
}

interface GuardedKind {
  readonly startedAt: number;
  hanging: number;
  /** The message about the last call without a response. */
  last: string;
}

/**
 * Ends the calls of a kind that gets no responses, so that a hanging endpoint costs a run the time-out of a few calls and not that of
 * a call for each table.
 */
export class EndpointGuards {
  readonly #clock: MonotonicClock;
  readonly #kinds = new Map<string, GuardedKind>();

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /** @throws {HangingError} the kind is not called again in this run */
  check(name: string): void {
    const now = this.#clock.monotonic();
    const kind = this.#kinds.get(name) ?? { startedAt: now, hanging: 0, last: '' };
    this.#kinds.set(name, kind);
    if (kind.hanging >= MAX_HANGING) {
      throw new HangingError(`not read, because ${kind.hanging} such calls got no response: ${kind.last}`, false);
    }
    const elapsedMs = now - kind.startedAt;
    if (elapsedMs > MAX_KIND_MS) {
      throw new HangingError(`not read, because such calls took ${seconds(elapsedMs)} in this run`, false);
    }
  }

  responded(name: string): void {
    const kind = this.#kinds.get(name);
    if (kind !== undefined) kind.hanging = 0;
  }

  hung(name: string, message: string): void {
    const kind = this.#kinds.get(name);
    if (kind === undefined) return;
    kind.hanging += 1;
    kind.last = message;
  }
}

/** `15 s`. */
export function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
