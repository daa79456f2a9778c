/** What an object may contain after some writes, of which some have an unknown outcome; undefined: it does not exist. */
export class Expectation {
  #possible: ReadonlySet<string | undefined> = new Set([undefined]);
  /** Writes of this object in order, with their outcome: the whole history that matters for it. */
  readonly writes: string[] = [];

  get possible(): readonly (string | undefined)[] {
    return [...this.#possible];
  }

  /** Whether the object is known to exist, known not to exist, or neither. */
  get exists(): boolean | undefined {
    if (!this.#possible.has(undefined)) return true;
    return this.#possible.size === 1 ? false : undefined;
  }

  /**
   * @param via who wrote
   * @param outcome `done`: acknowledged. `not-done`: rejected. `unknown`: a 5xx or a lost connection
   */
  record(value: string | undefined, via: string, outcome: 'done' | 'not-done' | 'unknown', status: string): void {
    this.writes.push(`${via}: ${value ?? 'delete'} → ${status}`);
    if (outcome === 'done') this.#possible = new Set([value]);
    else if (outcome === 'unknown') this.#possible = new Set([...this.#possible, value]);
  }

  /** @returns the history as text where the object has a value that no order of its writes explains */
  violation(name: string, found: string | undefined): string | undefined {
    if (this.#possible.has(found)) return undefined;
    return [`${name}: found ${found}, possible: ${this.possible.join(' or ')}`, ...this.writes].join('\n  ');
  }
}
