/** A read that takes longer would be felt by everybody else. */
const SLOW_MS = 5;
const SLOW_FOR_MS = 60_000;

/**
 * Whether a file is read in place or by another thread. In place takes half the CPU, but nobody else is served meanwhile: that is for files in the system's memory and for fast disks. It begins
 * with a read by another thread that was fast, and ends for a minute with one that was slow.
 */
export class ReadPace {
  readonly #now: () => number;
  #inPlace = false;
  #slowUntil = 0;

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
    return () => {
      const now = this.#now();
      if (now - begun > SLOW_MS) {
        this.#inPlace = false;
        this.#slowUntil = now + SLOW_FOR_MS;
      } else if (now >= this.#slowUntil) this.#inPlace = true;
    };
  }
}
