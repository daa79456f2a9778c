import type { Need } from '../check.ts';
import type { GatherRequest } from '../run/run.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

/** The snapshot of a run that is being read. Calls `onComplete` after each change. */
export class GrowingSnapshot {
  #snapshot: ClusterSnapshot;
  readonly #complete = new Set<Need>();
  readonly #onComplete: GatherRequest['onComplete'];

  constructor(initial: ClusterSnapshot, onComplete: GatherRequest['onComplete']) {
    this.#snapshot = initial;
    this.#onComplete = onComplete;
  }

  get current(): ClusterSnapshot {
    return this.#snapshot;
  }

  /** Sets parts and marks needs as complete. Snapshots that were returned before do not change. */
  put(parts: Partial<ClusterSnapshot>, ...complete: readonly Need[]): void {
    this.#snapshot = { ...this.#snapshot, ...parts };
    for (const need of complete) this.#complete.add(need);
    this.#onComplete?.(this.#snapshot, this.#complete);
  }
}
