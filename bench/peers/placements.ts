/** Levels of a completed resource in the comparisons, at most. */
export const MAX_DEPTH = 4;

/** All ways to choose `count` places from `from` up to, but without `end`, in order. */
export function placements(count: number, end: number, from = 0): number[][] {
  if (count === 0) return [[]];
  const all: number[][] = [];
  for (let place = from; place < end; place++) {
    for (const rest of placements(count - 1, end, place + 1)) all.push([place, ...rest]);
  }
  return all;
}
