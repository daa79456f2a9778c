import type { Keyword } from './keywords.ts';
import { isRefusedInPart } from './query-options.ts';
import type { ReadableTable } from './readable-table.ts';
import { SqlRefusal } from './refusal.ts';
import { scriptOf, type Leaf, type Option, type Part, type Script, type TableReference } from './tree.ts';
import { Leaves } from './walk.ts';

export interface ConditionsContext {
  /**
   * @param place where the text names it
   * @returns undefined for a table that may be read without conditions
   * @throws {SqlRefusal} for a name that may mean tables with different conditions
   */
  readonly conditionsOf: (table: TableReference, place: 'table' | 'lookup') => ReadableTable | undefined;
  /** The engine that runs the text. Only this engine has queries in place of tables. */
  readonly multistage: boolean;
  /** Of the text and of the request. */
  readonly options: readonly Option[];
}

/** What a text with a table that has conditions contains. */
export interface Found {
  /** The first one. */
  readonly table: TableReference;
  /** Whether some table has columns that may not be read as they are. */
  readonly hasColumnRules: boolean;
  /** Whether a filter of some table has `NOT`. */
  readonly negates: boolean;
  /** Number of SELECTs. */
  readonly selects: number;
}

/** @throws {SqlRefusal} for a leaf that reads other rows or properties of a table with conditions */
export function survey(script: Script, context: ConditionsContext): Found | undefined {
  let table: TableReference | undefined;
  let place: string | undefined;
  let hasColumnRules = false;
  let negates = false;
  let selects = 0;
  const leaves = new Leaves(script, (part) => {
    if (part.kind === 'select') selects++;
    if (part.kind === 'join') place ??= storageColumn(part.using);
    return part;
  });
  for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next()) {
    if (leaf.kind === 'table') {
      const conditions = context.conditionsOf(leaf.table, 'table');
      if (conditions === undefined) continue;
      table ??= leaf.table;
      hasColumnRules ||= conditions.columns !== undefined;
      negates ||= hasNot(conditions);
    } else if (leaf.kind === 'lookup' && context.conditionsOf(leaf.table, 'lookup') !== undefined)
      throw unsupported(leaf.table, '`LOOKUP`', 'join it');
    else if (leaf.kind === 'text') {
      const inner = survey(scriptOf(leaf), context);
      if (inner !== undefined)
        throw unsupported({ ...inner.table, at: leaf.at }, 'a query within a string', 'use `IN (SELECT …)`');
    } else place ??= otherColumn(leaf, context);
  }
  if (table === undefined) return undefined;
  if (place !== undefined) throw unsupported(table, place, 'leave it out');
  return { table, hasColumnRules, negates, selects };
}

function hasNot({ rows = [] }: ReadableTable): boolean {
  return rows.flat().some(({ condition }) => hasKeyword(condition, 'NOT'));
}

function hasKeyword(part: Part, word: Keyword): boolean {
  const leaves = new Leaves(part);
  for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next())
    if (leaf.kind === 'keyword' && leaf.text === word) return true;
  return false;
}

/** What names a property of where a row is stored, or a column in a way that the rules of columns do not see. */
function otherColumn(leaf: Leaf, { multistage }: ConditionsContext): string | undefined {
  // It makes columns whose names the rules of columns do not know.
  if (leaf.kind === 'keyword' && leaf.text === 'PIVOT') return '`PIVOT`';
  // The single-stage engine reads the column `t.c` for `(t).c`.
  if (leaf.kind === 'mark') return leaf.text === '.' && !multistage ? 'a field of an expression' : undefined;
  return leaf.kind === 'column' ? storageColumn(leaf.parts) : undefined;
}

/** The first name of a property of where a row is stored, in quotes. */
function storageColumn(names: readonly string[] | undefined): string | undefined {
  const name = names?.find((one) => VIRTUAL_COLUMN.test(one));
  return name && `\`${name.slice(0, MAX_SHOWN)}\``;
}

/** A quoted name may begin with the name of its table. */
const VIRTUAL_COLUMN = /(?:^|\.)\$/;
export const MAX_SHOWN = 100;

export function unsupported({ parts, at }: TableReference, what: string, advice: string): SqlRefusal {
  const name = parts.join('.').slice(0, MAX_SHOWN);
  return new SqlRefusal(`\`${name}\` may be read in part only, which is not possible with ${what}: ${advice}`, at);
}

/** @throws {SqlRefusal} for an option that shows or means other rows */
export function requireOptions(table: TableReference, { multistage, options }: ConditionsContext): void {
  const refused = options.find(isRefusedInPart);
  if (refused !== undefined)
    throw unsupported(table, `the query option \`${refused.key.slice(0, MAX_SHOWN)}\``, 'leave it out');
  // A text that is printed for one engine may mean other rows in the other.
  const other = options.some(
    ({ key, value }) => key.toLowerCase() === 'usemultistageengine' && (value.toLowerCase() === 'true') !== multistage,
  );
  if (other) throw unsupported(table, 'two values of the option `useMultistageEngine`', 'leave one out');
}
