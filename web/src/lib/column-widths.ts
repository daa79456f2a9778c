import { preferences, setPreferences } from './preferences.ts';

/** Widths of more columns are forgotten, the oldest first. */
const MAX_COLUMNS = 300;

/** A key for a column that does not reveal its name: the storage of the browser holds nothing about the cluster (FNV-1a). */
function keyOf(name: string, type: string): string {
  let hash = 0x811c9dc5;
  for (const character of `${type} ${name}`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The width that the user chose for columns of this name and type, pixels; undefined for none. */
export function chosenWidth(name: string, type: string): number | undefined {
  return preferences().widths?.[keyOf(name, type)];
}

/** Keeps a width for the next visit. @param pixels undefined for the automatic width */
export function chooseWidth(name: string, type: string, pixels: number | undefined): void {
  const key = keyOf(name, type);
  const others = Object.entries(preferences().widths ?? {}).filter(([other]) => other !== key);
  const entries = pixels === undefined ? others : [...others, [key, pixels] as const];
  setPreferences({ widths: entries.length === 0 ? undefined : Object.fromEntries(entries.slice(-MAX_COLUMNS)) });
}
