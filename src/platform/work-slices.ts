/** All work that waits for its next slice, in the order in which it began to wait. */
const waiting: (() => void)[] = [];

/** One slice in each turn of the event loop: with one of each work, many works together would hold the event loop. */
function continueFirst(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(continueFirst);
}

function nextSlice(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  if (waiting.length === 1) setImmediate(continueFirst);
  return promise;
}

/** Splits long work, so that other requests are served in between. Work is counted in units, not in time: a test can count them, too. */
export class WorkSlices {
  readonly #unitsPerSlice: number;
  #spent = 0;

  /** @param unitsPerSlice units of work after which the event loop gets its turn */
  constructor(unitsPerSlice: number) {
    this.#unitsPerSlice = unitsPerSlice;
  }

  /** Counts work. Waits for a turn of the event loop when the slice is used up; the slices of all works in the process have different turns. */
  async spend(units: number): Promise<void> {
    this.#spent += units;
    if (this.#spent < this.#unitsPerSlice) return;
    this.#spent = 0;
    await nextSlice();
  }
}
