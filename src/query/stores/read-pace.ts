/** A read that takes longer would be felt by everybody else. */
const SLOW_MS = 5;
/** After one slow read; twice as long after each further one. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Slow reads that are farther apart have nothing to do with each other: the process had to wait for a core, say. */
const FORGOTTEN_MS = 120_000;

/**
 * Whether a file is read in place or by another thread. In place takes half the CPU, but nobody else is served meanwhile: that is for files in the system's memory and for fast disks. It begins
 * with a read by another thread that was fast, and ends for a while with one that was slow: a second at first, up to a minute where that goes on.
 */
export class ReadPace {
  readonly #now: () => number;
  #inPlace = false;
  #slowAt = Number.NEGATIVE_INFINITY;
  #pauseMs = 0;

  /** @param now epoch milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  get inPlace(): boolean {
    return this.#inPlace;
  }

  /** To be called before a read; what it returns, behind it. */
  begin(): () => void {
    const begun = this.#now();
    const wasInPlace = this.#inPlace;
    return () => {
      const now = this.#now();
      if (now - begun > SLOW_MS) this.#slow(now, wasInPlace);
      else if (now - this.#slowAt >= this.#pauseMs) this.#inPlace = true;
    };
  }

  /** @param felt whether others had to wait for it */
  #slow(now: number, felt: boolean): void {
    if (now - this.#slowAt > FORGOTTEN_MS) this.#pauseMs = SHORTEST_PAUSE_MS;
    else if (felt) this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#slowAt = now;
    this.#inPlace = false;
  }
}
