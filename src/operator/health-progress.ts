import type { RunProgress } from '../health/report.ts';

export interface ProgressWriterOptions {
  /** Tells how far the run is; the report itself stays as it is. */
  readonly write: (progress: RunProgress) => Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Told what a write failed with: the run goes on, nobody waits for its progress. */
  readonly onProblem: (error: unknown) => void;
}

const MIN_PAUSE_MS = 1000;
/** A write carries the whole report, so a long run tells of itself less often: a 5-minute run writes about 45 times. */
const PAUSE_SHARE = 0.1;

/** Tells the progress of one run at a bounded rate, one write at a time; a figure that comes too early is left out. */
export class ProgressWriter {
  readonly #options: ProgressWriterOptions;
  readonly #startedAt: number;
  #nextAt: number;
  #writing: Promise<void> = Promise.resolve();
  #busy = false;
  #ended = false;

  constructor(options: ProgressWriterOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#nextAt = this.#startedAt;
  }

  /** Takes a figure; whether it is told depends on when the last one was. */
  readonly report = (done: number, total: number): void => {
    const { write, now, onProblem } = this.#options;
    const time = now();
    if (this.#ended || this.#busy || time < this.#nextAt) return;
    this.#nextAt = time + Math.max(MIN_PAUSE_MS, (time - this.#startedAt) * PAUSE_SHARE);
    this.#busy = true;
    this.#writing = write({ done, total })
      .catch(onProblem)
      .finally(() => {
        this.#busy = false;
      });
  };

  /** Resolves when no write is under way any more; none begins after the call. */
  end(): Promise<void> {
    this.#ended = true;
    return this.#writing;
  }
}
