import type { RunProgress } from '../health/run.ts';

export interface ProgressWriterOptions {
  /** Tells how far the run is; the report itself stays as it is. */
  readonly write: (progress: RunProgress) => Promise<void>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Told what a write failed with: the run goes on, nobody waits for its progress. */
  readonly onProblem: (error: unknown) => void;
}

/** Between two writes, whatever there is to tell. */
const MIN_PAUSE_MS = 500;
/** A write carries the whole report, so a long run tells of mere reads less often: a 5-minute run does so about 45 times. */
const READS_MIN_PAUSE_MS = 1000;
const READS_PAUSE_SHARE = 0.1;

/**
 * Tells the progress of one run at a bounded rate, one write at a time: a check that was decided within half a second, reads alone less often.
 * What comes too early is told later, unless something newer is told instead.
 */
export class ProgressWriter {
  readonly #options: ProgressWriterOptions;
  readonly #startedAt: number;
  #toldAt = Number.NEGATIVE_INFINITY;
  #toldChecks = 0;
  #untold: RunProgress | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #ended = false;

  constructor(options: ProgressWriterOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** Takes how far the run is; when it is told depends on when that was done last. */
  readonly report = (progress: RunProgress): void => {
    this.#untold = progress;
    this.#schedule();
  };

  /** Resolves when no write is under way any more; none begins after the call. */
  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    await this.#writing;
  }

  #schedule(): void {
    if (this.#ended || this.#writing !== undefined || this.#untold === undefined) return;
    const time = this.#options.now();
    const waitMs = this.#toldAt + this.#pauseMs(this.#untold, time) - time;
    clearTimeout(this.#timer);
    if (waitMs > 0) this.#timer = setTimeout(() => this.#schedule(), waitMs);
    else this.#write(this.#untold, time);
  }

  #pauseMs(progress: RunProgress, time: number): number {
    if (progress.checks.length > this.#toldChecks) return MIN_PAUSE_MS;
    return Math.max(READS_MIN_PAUSE_MS, (time - this.#startedAt) * READS_PAUSE_SHARE);
  }

  #write(progress: RunProgress, time: number): void {
    this.#untold = undefined;
    this.#toldAt = time;
    this.#toldChecks = progress.checks.length;
    this.#writing = this.#options
      .write(progress)
      .catch(this.#options.onProblem)
      .finally(() => {
        this.#writing = undefined;
        this.#schedule();
      });
  }
}
