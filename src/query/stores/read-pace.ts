/** What takes longer is felt by everybody else. A process that has to wait for a core takes as long now and then. */
const FELT_MS = 5;
/** What others may be held up by files in the long run, as a part of the time. */
const BEARABLE = 0.05;
/** And at once. */
const PATIENCE_MS = 100;
/** What follows more than that. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** After a time without one, a pause is the shortest again. */
const FORGOTTEN_MS = 120_000;

/**
 * Whether files are read, and sent, in place or by another thread. In place takes half the CPU, but nobody else is served meanwhile: that is for files in the system's memory and for fast disks. It begins with a
 * read by another thread that was fast. It ends for a while where others were held up for too long: a second at first, twice as long each further time, up to a minute.
 */
export class ReadPace {
  readonly #now: () => number;
  #inPlace = false;
  /** How long others were held up, less what is bearable since. */
  #heldUpMs = 0;
  #heldUpAt = 0;
  #pauseMs = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds of a clock that never goes back */
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
      const felt = now - begun > FELT_MS;
      if (wasInPlace) {
        if (felt) this.#heldUp(now, now - begun);
      } else if (!felt && now >= this.#pausedUntil) this.#inPlace = true;
    };
  }

  #heldUp(now: number, ms: number): void {
    this.#heldUpMs = Math.max(0, this.#heldUpMs - BEARABLE * (now - this.#heldUpAt)) + ms;
    this.#heldUpAt = now;
    if (this.#heldUpMs <= PATIENCE_MS) return;
    const forgotten = now - this.#pausedUntil > FORGOTTEN_MS;
    this.#pauseMs = forgotten ? SHORTEST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#pausedUntil = now + this.#pauseMs;
    this.#heldUpMs = 0;
    this.#inPlace = false;
  }
}
