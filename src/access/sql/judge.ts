import { atOnce, type Slices } from '../../platform/long-work.ts';
import { SQL_LIMITS, type SqlLimits } from './limits.ts';
import type { Steps } from './lexer.ts';
import type { TableName } from '../../pinot/table-name.ts';
import { resolveDatabases } from './databases.ts';
import { newBudget } from './parser/reader.ts';
import { readingScript } from './parser/script.ts';
import { parseOptions, printOptions } from './options-field.ts';
import { printing } from './printer.ts';
import { requireKnownOption } from './query-options.ts';
import type { ReadableTable } from './readable-table.ts';
import { refusedSql, SqlRefusal, type RefusedSql } from './refusal.ts';
import { conditioned } from './row-conditions.ts';
import { scriptOf, type Option, type Script, type TableReference } from './tree.ts';
import { Leaves } from './walk.ts';

export interface SqlContext {
  /** From the `Database` header: the database of every table name without a prefix. */
  readonly database?: string | undefined;
  /** Whether the path of the request selects the multi-stage engine, whatever the options say. */
  readonly multistage?: boolean | undefined;
  /** `queryOptions` of the request body, in the form `key=value;key=value`. */
  readonly queryOptions?: string | undefined;
  /** Default: `SQL_LIMITS`. */
  readonly limits?: SqlLimits | undefined;
  /**
   * What may be read of the tables that a name may mean; undefined for all of them.
   * @throws {SqlRefusal} where they have different conditions
   */
  readonly conditionsOf?: ((tables: readonly TableName[]) => ReadableTable | undefined) | undefined;
}

export interface JudgedSql {
  readonly ok: true;
  /** The canonical text. Only this text may be sent to the engine. */
  readonly text: string;
  /** `queryOptions` in canonical form (`key=value;key=value`); undefined if there are none. */
  readonly queryOptions: string | undefined;
  /** The `Database` header for the canonical text; undefined for none. */
  readonly database: string | undefined;
  /**
   * All tables that the text may read in any version with databases, in either query engine. Names keep the spelling of the text, but the engine
   * may compare without case, and older versions ignore an unknown database: resolve them against the existing tables before the access check.
   */
  readonly tables: readonly TableName[];
  /** Maximum number of rows from the text; undefined if it has no limit. */
  readonly limit: number | undefined;
  /** Whether an option selects the multi-stage engine, which has no default row limit. */
  readonly multistage: boolean;
  /** Written names of the common table expressions: the first one is `cte 1` in `text`. */
  readonly commonTables: readonly string[];
  /** Whether the result is the plan of a query. */
  readonly explains: boolean;
  /** Names of columns of the result that the engine names after masks, by position from 0. */
  readonly columnNames: ReadonlyMap<number, string>;
}

/**
 * Parses a text, collects the tables that it reads, and prints canonical text. See docs/adr/0014.
 * @param steps counts the work; for tests
 */
export function judgeSql(sql: string, context: SqlContext = {}, steps: Steps = { count: 0 }): JudgedSql | RefusedSql {
  return atOnce(judgingSql(sql, context, steps));
}

/** `judgeSql` in parts, for long texts. The longest part is to parse the tokens. */
export function* judgingSql(
  sql: string,
  context: SqlContext,
  steps: Steps = { count: 0 },
): Slices<JudgedSql | RefusedSql> {
  try {
    return yield* judge(sql, context, steps);
  } catch (error) {
    return refusedSql(sql, error);
  }
}

function* judge(sql: string, context: SqlContext, steps: Steps): Slices<JudgedSql> {
  const { database, queryOptions } = context;
  const limits: SqlLimits = context.limits ?? SQL_LIMITS;
  if (Buffer.byteLength(sql) > limits.bytes) throw new SqlRefusal(`the text is longer than ${limits.bytes} bytes`);
  const budget = newBudget(limits, steps);
  const script = yield* readingScript(sql, budget);
  const requestOptions = parseOptions('queryOptions', queryOptions, limits);
  const found: FoundTables = { tables: [], lookups: [], options: [...requestOptions] };
  collect(script, found);
  for (const option of found.options) requireKnownOption(option, limits.allowedOptions);
  const { tables, lookups, options } = found;
  const multistage = options.some(
    ({ key, value }) => key.toLowerCase() === 'usemultistageengine' && value.toLowerCase() === 'true',
  );
  const databases = resolveDatabases(tables, lookups, {
    header: database,
    options,
    multistage: multistage || context.multistage === true,
  });
  const statement = script.statements.find((one) => one.kind === 'statement');
  const { conditionsOf } = context;
  const limited =
    conditionsOf &&
    conditioned(script, {
      conditionsOf: (table, place) => conditionsOf(databases.meaningsOf(table, place)),
      multistage: multistage || context.multistage === true,
      options,
    });
  const text = yield* printing(script, databases, limits.bytes * MAX_GROWTH, limited?.rewrite);
  return {
    ok: true,
    text,
    columnNames: limited?.columnNames() ?? NO_NAMES,
    queryOptions: printOptions(requestOptions),
    database: databases.header,
    tables: databases.tables,
    limit: statement?.query.limit,
    multistage,
    commonTables: budget.commonTables.map(({ name }) => name),
    explains: statement?.explain !== undefined,
  };
}

const NO_NAMES: ReadonlyMap<number, string> = new Map();

/** Maximum growth of a text by printing: quotes around names, blanks around operators, escapes for characters. */
const MAX_GROWTH = 4;

interface FoundTables {
  readonly tables: TableReference[];
  readonly lookups: TableReference[];
  readonly options: Option[];
}

/** Collects tables and options from the leaves that are printed. */
function collect(script: Script, found: FoundTables, within?: number): void {
  // Errors in a query within a string are reported at the position of the string.
  for (const option of script.options) found.options.push(within === undefined ? option : { ...option, at: within });
  const shown = (table: TableReference): TableReference => (within === undefined ? table : { ...table, at: within });
  const leaves = new Leaves(script);
  for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next()) {
    if (leaf.kind === 'table') found.tables.push(shown(leaf.table));
    else if (leaf.kind === 'lookup') found.lookups.push(shown(leaf.table));
    else if (leaf.kind === 'text') collect(scriptOf(leaf), found, within ?? leaf.at);
  }
}
