import type { TableConditions } from '../../access/conditions.ts';
import { judgingSql, type JudgedSql, type SqlContext } from '../../access/sql/judge.ts';
import type { SqlLimits } from '../../access/sql/limits.ts';
import { readableTable, type ReadableTable } from '../../access/sql/readable-table.ts';
import { SqlRefusal } from '../../access/sql/refusal.ts';
import type { TableName } from '../../pinot/table-name.ts';
import type { TableSchemas } from '../../pinot/table-schemas.ts';
import { EngineError, type KnownTables } from '../../pinot/types.ts';
import { inTurns, type Turn } from '../../platform/long-work.ts';
import { HttpError } from '../server/errors.ts';

export interface LimitedQueryDependencies {
  readonly engine: KnownTables;
  readonly schemas: TableSchemas;
  readonly sqlLimits?: SqlLimits | undefined;
}

/** What somebody may read: the caller of a query, or one to whom only an unsaved policy applies. */
export interface TableReader {
  /** SRN of the caller, for the limits of the lists of tables. */
  readonly caller: string;
  readonly signal: AbortSignal;
  /** Between the tables of a query, of which each may have the conditions of a hundred statements. */
  readonly turn: Turn;
  /**
   * @param written the tables as the request names them
   * @returns undefined for the whole table
   * @throws {HttpError} 403 where it may read nothing
   */
  conditionsOf(table: TableName, written: readonly TableName[]): TableConditions | undefined;
  /** Whether some table may be read in part. */
  hasConditions(): boolean;
  isReadInPart(table: TableName): boolean;
  /** How a message names a table that the request does not name. */
  shown(table: TableName): string;
}

/** A query that would show more than the part of a table that may be read. */
export class QueryRefusal extends HttpError {
  constructor(message: string) {
    super(403, message);
  }
}

/** Tables in the engine's spelling. */
export interface ReadTables {
  readonly tables: readonly TableName[];
  /** Of those that may be read in part. */
  readonly conditions: ReadonlyMap<TableName, TableConditions>;
}

/** Requires that all tables of a query may be read, at least in part. @throws {HttpError} 403, 503 */
export async function requireTables(
  reader: TableReader,
  named: readonly TableName[],
  { engine, schemas }: LimitedQueryDependencies,
): Promise<ReadTables> {
  const tables = await engine.actualTables(named, reader.signal, reader.caller);
  return conditionsOfAll(reader, { tables, named }, { engine, schemas });
}

async function conditionsOfAll(
  reader: TableReader,
  { tables, named }: { readonly tables: readonly TableName[]; readonly named: readonly TableName[] },
  { engine, schemas }: LimitedQueryDependencies,
): Promise<ReadTables> {
  const conditions = new Map<TableName, TableConditions>();
  for (const [index, table] of tables.entries()) {
    if (index > 0 && reader.hasConditions()) await reader.turn();
    const found = reader.conditionsOf(table, named);
    if (found !== undefined) conditions.set(table, found);
    else if (engine.isLogical(table) && reader.hasConditions()) await requireWhole(reader, table, schemas);
  }
  return { tables, conditions };
}

/** A logical table without conditions shows all rows of its tables. */
async function requireWhole(reader: TableReader, logical: TableName, schemas: TableSchemas): Promise<void> {
  const tables = await read(`the tables of \`${logical}\``, () => schemas.tablesOf(logical, reader.signal));
  const part = tables.find((table) => reader.isReadInPart(table));
  if (part === undefined) return;
  throw new QueryRefusal(
    `\`${logical}\` consists of ${reader.shown(part)}, which may be read in part only: it needs conditions of its own`,
  );
}

/** @throws {HttpError} 503 */
async function read<T>(what: string, reading: () => Promise<T>): Promise<T> {
  try {
    return await reading();
  } catch (error) {
    if (!(error instanceof EngineError) || error.code === 'aborted') throw error;
    const message = `query rejected: ${what}, which the conditions of its policy need, cannot be read: ${error.message}`;
    throw new HttpError(503, message, { headers: { 'retry-after': '1' }, cause: error });
  }
}

/** A text of which some table may be read in part. */
export interface TextToLimit {
  readonly text: string;
  readonly context: Pick<SqlContext, 'database' | 'queryOptions' | 'multistage'>;
  /** All its tables, as it names them. */
  readonly named: readonly TableName[];
}

/**
 * Prints a text with the conditions of its tables.
 * @throws {HttpError} 403 for a table that may not be read, or a text that could show more; 503 where columns cannot be read
 */
export async function limitedText(
  reader: TableReader,
  { text, context, named }: TextToLimit,
  dependencies: LimitedQueryDependencies,
): Promise<ReadTables & { readonly sql: JudgedSql }> {
  const { engine, sqlLimits } = dependencies;
  // Each name with its tables. The lists may have changed meanwhile, so that they are authorized again.
  const meant = new Map<TableName, readonly TableName[]>();
  for (const name of named) meant.set(name, await engine.actualTables([name], reader.signal, reader.caller));
  const tables = [...new Set([...meant.values()].flat())];
  const { conditions } = await conditionsOfAll(reader, { tables, named }, dependencies);
  const readable = new Map<TableName, ReadableTable>();
  for (const [table, one] of conditions) readable.set(table, await readablePart(reader, table, one, dependencies));
  const conditionsOf = (names: readonly TableName[]) => commonConditions(names, meant, readable);
  const sql = await inTurns(judgingSql(text, { ...context, limits: sqlLimits, conditionsOf }), reader.turn);
  if (!sql.ok) throw new QueryRefusal(`query rejected: ${sql.reason}`);
  if (context.multistage === true || sql.multistage) await requireFilters(reader, dependencies);
  return { sql, tables, conditions };
}

/** Up to 1.0, the servers keep one filter of a table only: that of the query around the part. @throws {HttpError} 403, 503 */
async function requireFilters(reader: TableReader, { schemas }: LimitedQueryDependencies): Promise<void> {
  const [major, minor] = (await read('the version of Pinot', () => schemas.version(reader.signal))) ?? [0, 0];
  if (major > 1 || (major === 1 && minor >= 1)) return;
  throw new QueryRefusal(
    'query rejected: a table of the query may be read in part only, which is not possible in the multi-stage engine of Pinot before 1.1, because it loses filters: leave `useMultistageEngine` out',
  );
}

async function readablePart(
  reader: TableReader,
  table: TableName,
  conditions: TableConditions,
  { schemas }: LimitedQueryDependencies,
): Promise<ReadableTable> {
  const columns = await read(`the columns of \`${table}\``, () => schemas.columnsOf(table, reader.signal));
  const readable = columns === undefined ? 'it has no schema' : readableTable(conditions, columns);
  if (typeof readable !== 'string') return readable;
  throw new QueryRefusal(`query rejected: \`${table}\` may be read in part only, and ${readable}`);
}

/** @throws {SqlRefusal} for a name that may mean several tables, one of which has conditions */
function commonConditions(
  names: readonly TableName[],
  meant: ReadonlyMap<TableName, readonly TableName[]>,
  readable: ReadonlyMap<TableName, ReadableTable>,
): ReadableTable | undefined {
  const tables = new Set(
    names.flatMap((name) => {
      const found = meant.get(name);
      if (found === undefined) throw new Error(`\`${name}\` was not authorized`);
      return found;
    }),
  );
  const [first, ...others] = tables;
  const found = [...tables].find((table) => readable.has(table));
  if (found === undefined) return undefined;
  if (first === undefined || others.length > 0)
    throw new SqlRefusal(
      `this name may mean ${[...tables].map((table) => `\`${table}\``).join(' or ')}, and \`${found}\` may be read in part only: write the name as it is listed`,
    );
  return readable.get(first);
}
