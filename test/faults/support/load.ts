import { setTimeout as delay } from 'node:timers/promises';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

/** Response of one request of a client, as far as the client can see it. */
export interface Outcome {
  /** `closed`: the connection ended without a complete response. */
  readonly status: number | 'closed';
  readonly ms: number;
  /** The whole body. */
  readonly text: string;
}

/** One request; a response that does not come is an error of the test. */
export async function send(url: string, init: RequestInit = {}): Promise<Outcome> {
  const begun = performance.now();
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
  try {
    const answer = await fetch(url, { ...init, signal });
    const text = await answer.text();
    return { status: answer.status, ms: performance.now() - begun, text };
  } catch (error) {
    if (signal.aborted) throw new Error(`no response within ${WAIT_LIMIT_MS} ms: ${url}`, { cause: error });
    return { status: 'closed', ms: performance.now() - begun, text: '' };
  }
}

/** A client that repeats a request until it is stopped, with a pause after each response. */
export class Client {
  readonly outcomes: Outcome[] = [];
  /** When the last request began that was answered with a status below 300; milliseconds of `performance`. */
  lastGoodAt = 0;
  readonly #done: Promise<void>;
  #stopped = false;

  constructor(ask: () => Promise<Outcome>, pauseMs = 20) {
    this.#done = this.#run(ask, pauseMs);
    // Awaited by stop(); a failure before that is not unhandled.
    this.#done.catch(() => undefined);
  }

  /** Resolves when the last response has arrived. @throws {Error} for a request without a response */
  async stop(): Promise<readonly Outcome[]> {
    this.#stopped = true;
    await this.#done;
    return this.outcomes;
  }

  async #run(ask: () => Promise<Outcome>, pauseMs: number): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      const outcome = await ask();
      this.outcomes.push(outcome);
      if (typeof outcome.status === 'number' && outcome.status < 300) this.lastGoodAt = begun;
      await delay(pauseMs);
    }
  }
}

/** Counts of statuses, such as `200 ×31, 503 ×4`. */
export function statuses(outcomes: readonly Outcome[]): string {
  const counts = new Map<Outcome['status'], number>();
  for (const { status } of outcomes) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .toSorted(([a], [b]) => String(a).localeCompare(String(b)))
    .map(([status, count]) => `${status} ×${count}`)
    .join(', ');
}

/** The longest response, in seconds with one digit. */
export function longest(outcomes: readonly Outcome[]): string {
  return `${(Math.max(0, ...outcomes.map(({ ms }) => ms)) / 1000).toFixed(1)} s`;
}
