import type { WorkSlices } from './work-slices.ts';

/** Items that are sorted without a turn of the event loop in between. */
const RUN = 512;

interface Keyed<T> {
  readonly key: string;
  readonly item: T;
}

/** Sorts a long list by text keys, ascending and stable. Counts each item for each step, so that other requests are served in between. */
export async function sortedInSlices<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string,
  slices: WorkSlices,
): Promise<T[]> {
  let runs: Keyed<T>[][] = [];
  let run: Keyed<T>[] = [];
  for (const item of items) {
    run.push({ key: keyOf(item), item });
    if (run.length < RUN) continue;
    runs.push(run.sort(byKey));
    run = [];
    await slices.spend(RUN);
  }
  runs.push(run.sort(byKey));
  while (runs.length > 1) {
    const merged: Keyed<T>[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(await merge(runs[at] as Keyed<T>[], runs[at + 1] ?? [], slices));
    runs = merged;
  }
  return (runs[0] as Keyed<T>[]).map(({ item }) => item);
}

async function merge<T>(
  first: readonly Keyed<T>[],
  second: readonly Keyed<T>[],
  slices: WorkSlices,
): Promise<Keyed<T>[]> {
  const merged: Keyed<T>[] = [];
  let other = 0;
  for (const [at, entry] of first.entries()) {
    for (let next = second[other]; next !== undefined && next.key < entry.key; next = second[other]) {
      merged.push(next);
      other++;
      if (other % RUN === 0) await slices.spend(RUN);
    }
    merged.push(entry);
    if (at % RUN === RUN - 1) await slices.spend(RUN);
  }
  return merged.concat(second.slice(other));
}

function byKey({ key: a }: Keyed<unknown>, { key: b }: Keyed<unknown>): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
