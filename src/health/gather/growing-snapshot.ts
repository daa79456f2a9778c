import type { Need } from '../check.ts';
import type { GatherRequest } from '../run.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

/** The snapshot while it is read: parts are put in whole, and who listens is told of each. */
export class GrowingSnapshot {
  #snapshot: ClusterSnapshot;
  readonly #gathered = new Set<Need>();
  readonly #onFacts: GatherRequest['onFacts'];

  constructor(beginning: ClusterSnapshot, onFacts: GatherRequest['onFacts']) {
    this.#snapshot = beginning;
    this.#onFacts = onFacts;
  }

  get current(): ClusterSnapshot {
    return this.#snapshot;
  }

  /** Puts parts in, with which these needs are complete. A snapshot that was handed out does not change. */
  put(parts: Partial<ClusterSnapshot>, ...complete: readonly Need[]): void {
    this.#snapshot = { ...this.#snapshot, ...parts };
    for (const need of complete) this.#gathered.add(need);
    this.#onFacts?.(this.#snapshot, this.#gathered);
  }
}
