import type { Logger } from 'pino';
import type { Clock } from '../../platform/clock.ts';
import type { ResourceStore } from '../../store/resource-store.ts';

export interface ReportFollowerOptions {
  /** What follows the reports, for the log and the reason of the abort. */
  readonly name: string;
  readonly store: ResourceStore;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Compares the current reports with what was delivered, and delivers what changed.
   * @returns when to look again, milliseconds since the epoch; Infinity: at the next change
   */
  readonly update: () => Promise<number>;
}

/** Pause after an update that rejected: it reports the failures of deliveries itself, so this is an error in the program. */
const FAILED_MS = 300_000;
/** Timers are limited to 24 days; an hour is early enough to look again. */
const MAX_WAIT_MS = 3_600_000;

/**
 * Calls `update` when a health report has changed, and when it asked for it.
 *
 * Level-triggered: updates do not overlap, and changes during one are part of the next, so nothing queues up.
 */
export class ReportFollower {
  readonly #options: ReportFollowerOptions;
  readonly #stopping = new AbortController();
  #unsubscribe: () => void = () => undefined;
  #cancelTimer: () => void = () => undefined;
  #working: Promise<void> | undefined;
  #again = false;

  constructor(options: ReportFollowerOptions) {
    this.#options = options;
  }

  /** Aborts when it stops. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(): void {
    this.#unsubscribe = this.#options.store.subscribe('ClusterHealthReport', () => this.#wake());
    this.#wake();
  }

  /** Aborts the current update, and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#cancelTimer();
    this.#stopping.abort(new Error(`${this.#options.name} is stopping`));
    await this.#working;
  }

  #wake(): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    this.#cancelTimer();
    this.#working = this.#update().then((nextAt) => {
      this.#working = undefined;
      if (this.#stopping.signal.aborted) return;
      const again = this.#again;
      this.#again = false;
      if (again) this.#wake();
      else if (Number.isFinite(nextAt)) this.#schedule(nextAt);
    });
  }

  async #update(): Promise<number> {
    const { name, clock, log, update } = this.#options;
    try {
      return await update();
    } catch (error) {
      if (!this.#stopping.signal.aborted) log.error({ err: error }, `${name} failed`);
      return clock.now() + FAILED_MS;
    }
  }

  #schedule(at: number): void {
    const { clock } = this.#options;
    const waitMs = Math.min(Math.max(0, at - clock.now()), MAX_WAIT_MS);
    this.#cancelTimer = clock.schedule(() => this.#wake(), waitMs);
  }
}

/** When a time of the monotonic clock is reached, in milliseconds since the epoch, if the wall clock is not set meanwhile. */
export function wallTime(clock: Pick<Clock, 'now' | 'monotonic'>, monotonicMs: number): number {
  return clock.now() + monotonicMs - clock.monotonic();
}
