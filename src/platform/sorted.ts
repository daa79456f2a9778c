import type { Slices } from './long-work.ts';

/** Items that are sorted, or merged, in one part. */
const RUN = 512;

interface Keyed<T> {
  readonly key: string;
  readonly item: T;
}

/** Sorts a long list by text keys, ascending and stable. A list that is sorted already takes one pass. */
export function* sorted<T>(items: Iterable<T>, keyOf: (item: T) => string): Slices<T[]> {
  let runs: Keyed<T>[][] = [];
  let run: Keyed<T>[] = [];
  for (const item of items) {
    run.push({ key: keyOf(item), item });
    if (run.length < RUN) continue;
    runs.push(run.sort(byKey));
    run = [];
    yield;
  }
  runs.push(run.sort(byKey));
  while (runs.length > 1) {
    const merged: Keyed<T>[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] as Keyed<T>[], runs[at + 1] ?? []));
    runs = merged;
  }
  return (runs[0] as Keyed<T>[]).map(({ item }) => item);
}

function* merge<T>(first: readonly Keyed<T>[], second: readonly Keyed<T>[]): Slices<Keyed<T>[]> {
  const [last, next] = [first.at(-1), second[0]];
  if (last === undefined || next === undefined || last.key <= next.key) return first.concat(second);
  const merged: Keyed<T>[] = [];
  let other = 0;
  for (const [at, entry] of first.entries()) {
    for (let smaller = second[other]; smaller !== undefined && smaller.key < entry.key; smaller = second[other]) {
      merged.push(smaller);
      other++;
      if (other % RUN === 0) yield;
    }
    merged.push(entry);
    if (at % RUN === RUN - 1) yield;
  }
  return merged.concat(second.slice(other));
}

function byKey({ key: a }: Keyed<unknown>, { key: b }: Keyed<unknown>): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
