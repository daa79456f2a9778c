import { compileGlob, globMatches } from '../../platform/glob.ts';
import type { Slices } from '../../platform/long-work.ts';

/** Which part of a list is asked for; the whole list by default. */
export interface ListRange {
  /** Entries with a greater key only. */
  readonly after?: string | undefined;
  /** Maximum number of entries. */
  readonly limit?: number | undefined;
  /** Entries whose key this matches only; `*` matches any characters. */
  readonly name?: string | undefined;
}

export interface ListPart<T> {
  readonly items: readonly T[];
  /** Whether further entries follow. */
  readonly hasMore: boolean;
}

export const NOTHING: ListPart<never> = { items: [], hasMore: false };

/** Stores list the objects of a kind by name. */
export function nameOf({ metadata }: { readonly metadata: { readonly name: string } }): string {
  return metadata.name;
}

/** Collects the entries of a part, which are added in the order of their keys. */
export class PartBuilder<T> implements ListPart<T> {
  readonly items: T[] = [];
  hasMore = false;
  readonly #limit: number;

  constructor({ limit = Infinity }: ListRange) {
    this.#limit = limit;
  }

  /** @returns false where the part is full: no further entry is needed */
  add(item: T): boolean {
    if (this.items.length >= this.#limit) this.hasMore = true;
    else this.items.push(item);
    return !this.hasMore;
  }
}

/**
 * The entries of a list that the caller may read. Only those of the part, and one more, are looked for.
 * @param list sorted by `keyOf`
 */
export function* readablePart<T>(
  list: readonly T[],
  { keyOf, mayRead }: { readonly keyOf: (item: T) => string; readonly mayRead: (item: T) => boolean },
  range: ListRange,
): Slices<ListPart<T>> {
  const part = new PartBuilder<T>(range);
  const wanted = range.name === undefined ? undefined : compileGlob(range.name);
  for (let at = firstAfter(list, keyOf, range.after); at < list.length; at++) {
    yield;
    const item = list[at] as T;
    if (wanted !== undefined && !globMatches(wanted, keyOf(item))) continue;
    if (mayRead(item) && !part.add(item)) break;
  }
  return part;
}

/** Index of the first entry with a greater key. */
function firstAfter<T>(list: readonly T[], keyOf: (item: T) => string, after: string | undefined): number {
  if (after === undefined) return 0;
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(list[middle] as T) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}
