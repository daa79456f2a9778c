/** What is left of a failing list. */
export interface Shrunk<T> {
  readonly items: readonly T[];
  readonly tries: number;
  /** Whether no single item can be left out; false where the tries were used up before. */
  readonly isMinimal: boolean;
}

/**
 * Delta debugging (Zeller): leaves out parts of a failing list, in halves first, as long as the rest still fails.
 * @param fails whether a part of the list, in its order, still fails. Never called with the same part twice in a row
 * @param maxTries calls of `fails`
 */
export async function shrink<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
  maxTries: number,
): Promise<Shrunk<T>> {
  let left = items;
  let tries = 0;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length;) {
      if (tries >= maxTries) return { items: left, tries, isMinimal: false };
      const rest = left.toSpliced(from, size);
      tries++;
      if (rest.length > 0 && (await fails(rest))) {
        left = rest;
        // With single items, an item that was needed may not be needed any more.
        if (size === 1) from = 0;
      } else from += size;
    }
  }
  return { items: left, tries, isMinimal: true };
}
