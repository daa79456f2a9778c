import type { RunProgress } from '../../health/run/run.ts';
import type { Clock } from '../../platform/clock.ts';

export interface ProgressWriterOptions {
  readonly write: (progress: RunProgress) => Promise<void>;
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** Called when a write fails. The run continues. */
  readonly onError: (error: unknown) => void;
}

/** Minimum time between two writes. */
const MIN_PAUSE_MS = 500;
/**
 * Minimum time between two writes without a newly evaluated check, and the fraction of the elapsed time that it grows to. A write has the
 * whole report, so a long run writes less often: a 5-minute run about 45 times.
 */
const READS_MIN_PAUSE_MS = 1000;
const READS_PAUSE_FRACTION = 0.1;

/** Writes the progress of one run at a bounded rate, one write at a time. A newer progress replaces one that is waiting. */
export class ProgressWriter {
  readonly #options: ProgressWriterOptions;
  readonly #startedAt: number;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writtenChecks = 0;
  #pending: RunProgress | undefined;
  #cancelTimer: () => void = () => undefined;
  #writing: Promise<void> | undefined;
  #ended = false;

  constructor(options: ProgressWriterOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  /** Writes the progress now or later. */
  readonly report = (progress: RunProgress): void => {
    this.#pending = progress;
    this.#schedule();
  };

  /** Drops a pending progress and waits for the current write. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#cancelTimer();
    await this.#writing;
  }

  #schedule(): void {
    if (this.#ended || this.#writing !== undefined || this.#pending === undefined) return;
    const now = this.#options.clock.monotonic();
    const waitMs = this.#writtenAt + this.#pauseMs(this.#pending, now) - now;
    this.#cancelTimer();
    if (waitMs > 0) this.#cancelTimer = this.#options.clock.schedule(() => this.#schedule(), waitMs);
    else this.#write(this.#pending, now);
  }

  #pauseMs(progress: RunProgress, now: number): number {
    if (progress.checks.length > this.#writtenChecks) return MIN_PAUSE_MS;
    return Math.max(READS_MIN_PAUSE_MS, (now - this.#startedAt) * READS_PAUSE_FRACTION);
  }

  #write(progress: RunProgress, now: number): void {
    this.#pending = undefined;
    this.#writtenAt = now;
    this.#writtenChecks = progress.checks.length;
    this.#writing = this.#options
      .write(progress)
      .catch(this.#options.onError)
      .finally(() => {
        this.#writing = undefined;
        this.#schedule();
      });
  }
}
