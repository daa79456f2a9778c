import type { Statement } from '../../../resources/policy.ts';
import type { ValidationError } from '../../../resources/validation-message.ts';
import { nearest } from '../../../resources/nearest.ts';
import type { TableConditions } from '../../conditions.ts';
import { inTurns, longWork, type Slices } from '../../../platform/long-work.ts';
import { errorMessage } from '../../../platform/plain-error.ts';
import { readableTable } from '../../sql/readable-table.ts';
import { completeSrn, parseSrnPattern, patternMatches, type Deployment, type SrnPattern } from '../srn.ts';
import { ANY_CALLER } from './caller-values.ts';
import { applyConditions, compileConditions, type CompiledConditions } from './compiled-conditions.ts';
import { unionOf } from './union.ts';

/** The tables that conditions are compared with. */
export interface KnownSchemas {
  readonly deployment: Deployment;
  /** Names of the existing tables; undefined while they are not known. */
  readonly tables: readonly string[] | undefined;
  /** Names of the other clusters of the environment, whose schemas are not known. */
  readonly otherClusters?: readonly string[];
  /**
   * Names of the columns of a table; undefined for one without a schema.
   * @throws {Error} if they cannot be read, with the reason
   */
  readonly columnsOf: (table: string) => Promise<ReadonlySet<string> | undefined>;
}

/** What of a statement is compared. */
export type LimitedStatement = Pick<Statement, 'resources' | 'conditions'>;

/** How the conditions of a policy fit the schemas of the tables that exist. */
export interface SchemaFit {
  /** What no table of a statement has: the statement allows nothing. */
  readonly errors: readonly ValidationError[];
  /** What some tables lack. */
  readonly warnings: readonly ValidationError[];
  /** What could not be compared, which is not to say that it fits. */
  readonly unchecked: readonly ValidationError[];
}

/** Schemas that are read for one policy. Those of further tables are not compared. */
const MAX_TABLES = 50;
/** Readings at once. */
const MAX_READINGS = 8;
/** Comparisons of a pattern with the name of a table: some tens of milliseconds. */
const MAX_COMPARISONS = 50_000;
/** More are not useful. */
const MAX_FOUND = 20;
const MAX_NAMED_TABLES = 3;
/** Each is a search in all columns of a table. */
const MAX_SUGGESTIONS = 3;

/** A table as read: its columns, or why they are not known. */
type ReadTable = { readonly columns: ReadonlySet<string> } | { readonly problem: string };

/** A statement with conditions, and the tables that exist of its resources. */
interface Checked {
  /** `statements[0].conditions` */
  readonly path: string;
  readonly conditions: NonNullable<Statement['conditions']>;
  readonly tables: readonly string[];
  /** Why there may be others; undefined if these are all. */
  readonly others: string | undefined;
  /** Whether the statement also applies to tables of these names in other clusters, which may have other columns. */
  readonly elsewhere: boolean;
}

/**
 * Compares the conditions of a valid policy with the columns of the tables that exist now. What fits a table is decided as for its queries.
 * @param stored statements that are compared, too, but whose errors are warnings: the policy has them already
 */
export async function schemaFit(
  statements: readonly LimitedStatement[],
  schemas: KnownSchemas,
  stored: readonly LimitedStatement[] = [],
): Promise<SchemaFit> {
  const all = statements.flatMap(({ conditions, resources }, index) => {
    return conditions === undefined ? [] : [{ path: `statements[${index}].conditions`, index, conditions, resources }];
  });
  const [first] = all;
  if (first === undefined) return { errors: [], warnings: [], unchecked: [] };
  if (schemas.tables === undefined)
    return { errors: [], warnings: [], unchecked: [{ path: first.path, message: unknownTables }] };
  const checked = matchedTables(all, schemas.tables, schemas);
  const read = await readTables([...new Set(checked.flatMap(({ tables }) => tables))], schemas);
  const kept = new Set(stored.map((statement) => JSON.stringify([statement.resources, statement.conditions])));
  const isStored = (at: number): boolean => kept.has(JSON.stringify([all[at]?.resources, all[at]?.conditions]));
  // Of a thousand statements with fifty tables each, this takes seconds.
  const { errors, warnings, unchecked } = await inTurns(compareAll(checked, read, isStored), longWork.turns(WORK));
  return {
    errors: errors.slice(0, MAX_FOUND),
    warnings: warnings.slice(0, MAX_FOUND),
    unchecked: unchecked.slice(0, MAX_FOUND),
  };
}

/** Comparisons take turns with each other, for all callers together. */
const WORK = 'conditions of policies';

function* compareAll(
  checked: readonly Checked[],
  read: ReadonlyMap<string, ReadTable>,
  isStored: (at: number) => boolean,
): Slices<Found> {
  const found: Found = { errors: [], warnings: [], unchecked: [], suggestions: 0 };
  for (const [at, one] of checked.entries()) yield* compare(one, read, found, isStored(at));
  return found;
}

interface Found extends Record<keyof SchemaFit, ValidationError[]> {
  suggestions: number;
}

const unknownTables = 'the columns could not be checked, because the tables of the cluster cannot be listed';

/** A problem as text. */
export function fitText({ path, message }: ValidationError): string {
  return `\`${path}\`: ${message}`;
}

type Unmatched = Omit<Checked, 'tables' | 'others' | 'elsewhere'> & Pick<Statement, 'resources'>;

function matchedTables(
  all: readonly Unmatched[],
  names: readonly string[],
  { deployment, otherClusters = [] }: KnownSchemas,
): Checked[] {
  const existing = new Set(names);
  const chosen = new Set<string>();
  let comparisons = 0;
  return all.map(({ path, conditions, resources }) => {
    const tables = new Set<string>();
    let others: string | undefined;
    let elsewhere = false;
    const add = (name: string): void => {
      if (chosen.size < MAX_TABLES) chosen.add(name);
      if (chosen.has(name)) tables.add(name);
      else others = `only ${MAX_TABLES} tables are compared`;
    };
    for (const pattern of resources.flatMap(patternOf)) {
      const id = exactTable(pattern);
      const candidates = id === undefined ? names : existing.has(id) ? [id] : [];
      comparisons += candidates.length;
      if (comparisons > MAX_COMPARISONS) {
        others = 'it has too many patterns for the tables of the cluster';
        break;
      }
      for (const name of candidates) {
        if (isMatched(pattern, name, deployment)) {
          add(name);
          elsewhere ||= otherClusters.some((cluster) => isMatched(pattern, name, { ...deployment, cluster }));
        }
        if (others !== undefined) break;
      }
    }
    return { path, conditions, tables: [...tables], others, elsewhere };
  });
}

function patternOf(resource: string): SrnPattern[] {
  const parsed = parseSrnPattern(resource);
  return parsed.ok ? [parsed.value] : [];
}

function exactTable({ last }: SrnPattern): string | undefined {
  return last?.id.form === 'exact' ? last.id.literal : undefined;
}

function isMatched(pattern: SrnPattern, id: string, deployment: Deployment): boolean {
  return patternMatches(pattern, completeSrn({ levels: [{ kind: 'table', id }] }, deployment));
}

async function readTables(
  names: readonly string[],
  { columnsOf }: KnownSchemas,
): Promise<ReadonlyMap<string, ReadTable>> {
  const read = new Map<string, ReadTable>();
  const queue = names.values();
  const readNext = async (): Promise<void> => {
    for (const table of queue) {
      try {
        const columns = await columnsOf(table);
        read.set(table, columns === undefined ? { problem: 'it has no schema' } : { columns });
      } catch (error) {
        read.set(table, { problem: errorMessage(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_READINGS }, readNext));
  return read;
}

function* compare(
  { path, conditions, tables, others, elsewhere }: Checked,
  read: ReadonlyMap<string, ReadTable>,
  found: Found,
  isStored: boolean,
): Slices<void> {
  const { errors, warnings, unchecked } = found;
  const known: KnownTable[] = [];
  const unread: string[] = [];
  for (const table of tables) {
    const one = read.get(table);
    if (one !== undefined && 'columns' in one) known.push({ table, columns: one.columns });
    else unread.push(`\`${table}\`${one === undefined ? '' : ` (${one.problem})`}`);
  }
  if (unread.length > 0) unchecked.push({ path, message: `the columns of ${listed(unread)} could not be checked` });
  if (others !== undefined)
    unchecked.push({ path, message: `the columns of some tables were not checked, because ${others}` });
  const isComplete = unread.length === 0 && others === undefined && !elsewhere;
  for (const { message, of, at } of yield* problemsOf(conditions, known, found)) {
    const everywhere = isComplete && of.length === known.length;
    const refused = everywhere ? '' : '; their queries are refused';
    (everywhere && !isStored ? errors : warnings).push({ path: `${path}${at}`, message: `${message}${refused}` });
  }
}

interface KnownTable {
  readonly table: string;
  readonly columns: ReadonlySet<string>;
}

interface Problem {
  readonly message: string;
  /** The tables that have it. */
  readonly of: readonly string[];
  /** Relative to the conditions. */
  readonly at: string;
}

function* problemsOf(
  conditions: NonNullable<Statement['conditions']>,
  known: readonly KnownTable[],
  found: Found,
): Slices<Problem[]> {
  const compiled = compileConditions(conditions);
  const missing = namedColumns(conditions, compiled).flatMap(({ at, column }): Problem[] => {
    const lacking = known.filter(({ columns }) => !columns.has(column));
    const [first] = lacking;
    if (first === undefined) return [];
    const of = lacking.map(({ table }) => table);
    const meant = found.suggestions++ < MAX_SUGGESTIONS ? nearest(column, first.columns) : undefined;
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
    return [
      { at, of, message: `the column \`${column.slice(0, 100)}\` does not exist in ${listed(quoted(of))}${hint}` },
    ];
  });
  if (missing.length > 0) return missing;
  const whole = wholeConditions(compiled);
  const refused: { readonly table: string; readonly reason: string }[] = [];
  for (const { table, columns } of known) {
    const reason = whole === undefined ? undefined : readableTable(whole, columns);
    if (typeof reason === 'string') refused.push({ table, reason });
    yield;
  }
  const [first] = refused;
  if (first === undefined) return [];
  const of = refused.map(({ table }) => table);
  return [{ at: '', of, message: `nothing of ${listed(quoted(of))} can be read: ${first.reason}` }];
}

/** With texts in place of the values of a caller. */
function wholeConditions(compiled: CompiledConditions): TableConditions | undefined {
  return unionOf([applyConditions(compiled, ANY_CALLER)]);
}

function* columnsWithPaths(
  { rowFilters = [], columns = {} }: NonNullable<Statement['conditions']>,
  { filters }: CompiledConditions,
): Generator<{ readonly at: string; readonly column: string }> {
  for (const [index, text] of rowFilters.entries()) {
    const parsed = filters.find((filter) => filter.text === text)?.parsed;
    for (const column of parsed?.columns ?? []) yield { at: `.rowFilters[${index}]`, column };
  }
  for (const kind of ['allow', 'deny'] as const)
    for (const [index, column] of (columns[kind] ?? []).entries()) yield { at: `.columns.${kind}[${index}]`, column };
  // A mask has no other column than its own.
  for (const column of Object.keys(columns.mask ?? {})) yield { at: `.columns.mask`, column };
}

/** Each column once. */
function namedColumns(conditions: NonNullable<Statement['conditions']>, compiled: CompiledConditions) {
  const first = new Map<string, string>();
  for (const { at, column } of columnsWithPaths(conditions, compiled)) if (!first.has(column)) first.set(column, at);
  return [...first].map(([column, at]) => ({ column, at }));
}

function quoted(names: readonly string[]): string[] {
  return names.map((name) => `\`${name}\``);
}

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED_TABLES;
  const shown = texts.slice(0, MAX_NAMED_TABLES);
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}
