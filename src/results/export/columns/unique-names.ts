/** Key of the metadata of Arrow and Parquet with the names of the engine, as a JSON array. */
export const ENGINE_NAMES_KEY = 'olap-warden.columnNames';

/** Replaces an empty name of a column, which polars rejects, and which is no header of CSV if it is the only one. */
const NAME_OF_EMPTY = 'column';

/**
 * Names for the columns of a download. The engine may use a name for several columns, which readers reject, merge or rename, each in its own way. The first
 * column of a name keeps it; each further one, and each without a name, gets the first free suffix of `_1`, `_2`, …. No new name equals another name,
 * also for readers that ignore case. Names that differ in case only stay as they are.
 */
export function uniqueNames(columnNames: readonly string[]): readonly string[] {
  // Half of a surrogate pair has no form in UTF-8: different ones have the same bytes.
  const given = columnNames.map((name) => name.toWellFormed());
  const taken = new Set(given.map((name) => name.toLowerCase()));
  const kept = new Set<string>();
  // The key has the form that `taken` has: for names that differ in case only, the search goes on where the last one ended.
  const suffixes = new Map<string, number>();
  return given.map((name) => {
    if (name !== '' && !kept.has(name)) {
      kept.add(name);
      return name;
    }
    const base = name === '' ? NAME_OF_EMPTY : name;
    const caseless = base.toLowerCase();
    let suffix = suffixes.get(caseless) ?? 1;
    while (taken.has(`${base}_${suffix}`.toLowerCase())) suffix++;
    suffixes.set(caseless, suffix + 1);
    taken.add(`${base}_${suffix}`.toLowerCase());
    return `${base}_${suffix}`;
  });
}

/** Metadata for a download whose names differ from those of the engine. */
export function engineNames(columnNames: readonly string[]): readonly (readonly [key: string, value: string])[] {
  const names = uniqueNames(columnNames);
  const isSame = columnNames.every((name, i) => name === names[i]);
  return isSame ? [] : [[ENGINE_NAMES_KEY, JSON.stringify(columnNames)]];
}
