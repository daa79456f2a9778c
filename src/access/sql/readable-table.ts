import type { Mask, TableConditions } from '../conditions.ts';
import type { RowFilter } from './row-filter.ts';
import type { Part } from './tree.ts';
import { Leaves } from './walk.ts';

/** What may be read of an existing table: its conditions, compared with its columns. */
export interface ReadableTable {
  /** Rows of any alternative, all filters of which hold; undefined for all. At least one alternative, each with at least one filter. */
  readonly rows: TableConditions['rows'];
  /** The columns that may be read, in the order of `SELECT *`, with what is read in place of them; undefined for all as they are. */
  readonly columns: ReadonlyMap<string, Mask | undefined> | undefined;
  /** Names, in lower case, that have another meaning as an alias: columns of filters and masks, and those that may not be read as they are. */
  readonly reserved: ReadonlySet<string>;
  /** See `TableConditions.key`. */
  readonly key: string;
}

/**
 * Compares conditions with the columns that the table has.
 * @returns why nothing may be read, if the conditions name a column that does not exist or allow nothing
 */
export function readableTable(conditions: TableConditions, columns: ReadonlySet<string>): ReadableTable | string {
  const { masks, key } = conditions;
  if (conditions.rows?.length === 0) return 'its row filters allow no row';
  const isEvery = conditions.rows?.some((filters) => filters.length === 0);
  const rows = isEvery === true ? undefined : conditions.rows;
  const used = usedColumns(rows, masks);
  const missing = [...used, ...masks.keys(), ...(conditions.columns?.names ?? [])].find((name) => !columns.has(name));
  if (missing !== undefined)
    return `the conditions of its policy name the column \`${missing.slice(0, MAX_SHOWN)}\`, which its schema does not have`;
  // The engine may take the one for the other.
  const folded = new Map([...columns].map((name) => [name.toLowerCase(), name]));
  const twin = [...columns].find((name) => folded.get(name.toLowerCase()) !== name);
  if (twin !== undefined) return `its schema has columns that differ in the case of letters only, such as \`${twin}\``;
  const isAll = conditions.columns === undefined && masks.size === 0;
  if (isAll) return { rows, columns: undefined, reserved: lowerCase(used), key };
  // The engine prints the columns of `SELECT *` in this order.
  const readable = [...columns].filter((name) => isReadable(conditions, name)).sort();
  if (readable.length === 0) return 'the conditions of its policy allow none of its columns';
  const changed = [...columns].filter((name) => masks.has(name) || !isReadable(conditions, name));
  // The engine takes what is before a dot for the name of a table.
  const hidden = lowerCase(changed);
  const longer = readable.find((name) => [...endings(name)].some((ending) => hidden.has(ending.toLowerCase())));
  if (longer !== undefined)
    return `its schema has the column \`${longer.slice(0, MAX_SHOWN)}\`, which the engine may take for a column that may not be read as it is`;
  return {
    rows,
    columns: new Map(readable.map((name) => [name, masks.get(name)])),
    reserved: lowerCase([...used, ...changed]),
    key,
  };
}

const MAX_SHOWN = 100;

function isReadable({ columns }: TableConditions, name: string): boolean {
  return columns === undefined || columns.names.has(name) === (columns.kind === 'allow');
}

/** The columns that filters and masks read. */
function usedColumns(rows: ReadableTable['rows'], masks: TableConditions['masks']): string[] {
  const filters = (rows ?? []).flat().flatMap(({ columns }: RowFilter) => columns);
  const masked = [...masks.values()].flatMap(({ expression }) => namedColumns(expression));
  return [...new Set([...filters, ...masked])];
}

function namedColumns(part: Part): string[] {
  const names: string[] = [];
  const leaves = new Leaves(part);
  for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next())
    if (leaf.kind === 'column') names.push(leaf.parts.join('.'));
  return names;
}

/** What follows each dot of a name. */
function* endings(name: string): Generator<string, undefined, void> {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) yield name.slice(dot + 1);
}

function lowerCase(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}
