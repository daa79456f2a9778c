/** Two sets of grants cannot be compared within the limit. */
export class TooMuchToCompare extends Error {
  constructor() {
    super('their globs have too many combinations to compare: write fewer resources with a `*` before their end');
    this.name = 'TooMuchToCompare';
  }
}

/** Limits the work of one comparison. */
export class Effort {
  #left: number;

  /** @param steps comparisons of a name with a glob */
  constructor(steps: number) {
    this.#left = steps;
  }

  /** @throws {TooMuchToCompare} */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchToCompare();
  }
}
