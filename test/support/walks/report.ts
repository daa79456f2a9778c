import { walk, type WalkReport } from './walk.ts';
import type { World } from './store-world.ts';

export interface WalksReport extends WalkReport {
  readonly walks: number;
  /** Seeds whose actors could do everything from the beginning. They are not counted as walks. */
  readonly skipped: number;
}

/**
 * Walks from consecutive seeds on, as many at once as there are worlds. Each world has one walk at a time. Ends with the first violation.
 * @param onWalk called after each walk with the number of walks until then, and the next seed that has not begun
 */
export async function walks(
  worlds: readonly World[],
  options: {
    readonly seed: number;
    readonly count: number;
    readonly onWalk?: (done: number, nextSeed: number) => void;
  },
): Promise<WalksReport> {
  const violations: string[] = [];
  const outcomes = new Map<string, number>();
  const { count, onWalk } = options;
  let { seed } = options;
  let begun = 0;
  let done = 0;
  let skipped = 0;
  const run = async (world: World): Promise<void> => {
    while (begun < count && violations.length === 0) {
      begun++;
      const report = await walk(world, seed++);
      if (report === undefined) {
        begun--;
        skipped++;
        continue;
      }
      done++;
      violations.push(...report.violations);
      for (const [outcome, times] of report.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + times);
      onWalk?.(done, seed);
    }
  };
  await Promise.all(worlds.map(run));
  return { violations, outcomes, walks: done, skipped };
}
