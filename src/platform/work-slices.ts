import { setImmediate } from 'node:timers/promises';

/** Splits long work, so that other requests are served in between. Work is counted in units, not in time: a test can count them, too. */
export class WorkSlices {
  readonly #unitsPerSlice: number;
  #spent = 0;

  /** @param unitsPerSlice units of work after which the event loop gets its turn */
  constructor(unitsPerSlice: number) {
    this.#unitsPerSlice = unitsPerSlice;
  }

  /** Counts work. Waits for a turn of the event loop when the slice is used up. */
  async spend(units: number): Promise<void> {
    this.#spent += units;
    if (this.#spent < this.#unitsPerSlice) return;
    this.#spent = 0;
    await setImmediate();
  }
}
