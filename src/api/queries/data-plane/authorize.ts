import { judgingSql } from '../../../access/sql/judge.ts';
import { readableTable, type ReadableTable } from '../../../access/sql/readable-table.ts';
import { SqlRefusal } from '../../../access/sql/refusal.ts';
import type { SqlLimits } from '../../../access/sql/limits.ts';
import type { TableConditions } from '../../../access/conditions.ts';
import type { TableName } from '../../../pinot/table-name.ts';
import type { TableSchemas } from '../../../pinot/table-schemas.ts';
import { EngineError, type KnownTables } from '../../../pinot/types.ts';
import { inTurns } from '../../../platform/long-work.ts';
import { HttpError } from '../../server/errors.ts';
import {
  conditionsId,
  isReadInPart,
  type LogicalTables,
  type NamedConditions,
  requireReading,
  shownTable,
} from '../../server/reading.ts';
import { databaseOf } from '../../server/request/request-headers.ts';
import type { Exchange } from './exchange.ts';
import type { JudgedQuery } from './judge-query.ts';

export interface AuthorizationDependencies {
  readonly engine: KnownTables;
  readonly schemas: TableSchemas;
  readonly sqlLimits?: SqlLimits | undefined;
}

/** A query whose caller may read all that its text reads. */
export interface AllowedQuery {
  /** With the conditions of the caller in its text. */
  readonly judged: JudgedQuery;
  /** In the engine's spelling. */
  readonly tables: readonly TableName[];
  /** Empty for a query of whole tables. */
  readonly conditions: NamedConditions;
}

/** The tables with conditions. */
type Conditions = ReadonlyMap<TableName, TableConditions>;

/**
 * Authorizes a query on all its tables. The text of a caller that may read a part of a table only gets the conditions of this part.
 * @throws {HttpError} 403 for a table that the caller may not query, or a text that could show more than its part; 503 where columns cannot be read
 */
export async function authorizeQuery(
  exchange: Exchange,
  judged: JudgedQuery,
  dependencies: AuthorizationDependencies,
): Promise<AllowedQuery> {
  const named = [...new Set(judged.all.flatMap(({ tables }) => tables))];
  if (named.length === 0) return { judged, tables: [], conditions: [] };
  const { signal, principal } = exchange;
  const tables = await dependencies.engine.actualTables(named, signal, principal.srn);
  const conditions = await requireTables(exchange, { tables, named }, dependencies);
  if (conditions.size === 0) return { judged, tables, conditions: [] };
  return limitedQuery(exchange, judged, named, dependencies);
}

/** @throws {HttpError} 403, 503 */
async function requireTables(
  exchange: Exchange,
  { tables, named }: { readonly tables: readonly TableName[]; readonly named: readonly TableName[] },
  { engine, schemas }: AuthorizationDependencies,
): Promise<Conditions> {
  const found = new Map<TableName, TableConditions>();
  const { principal, server } = exchange;
  for (const table of tables) {
    const conditions = requireReading(exchange, table, named);
    if (conditions !== undefined) found.set(table, conditions);
    else if (engine.isLogical(table) && server.authorizer.hasConditions(principal))
      await requireWhole(exchange, table, schemas);
  }
  return found;
}

/** A logical table without conditions shows all rows of its tables. */
async function requireWhole(exchange: Exchange, logical: TableName, schemas: TableSchemas): Promise<void> {
  const tables = await read(`the tables of \`${logical}\``, () => schemas.tablesOf(logical, exchange.signal));
  const part = tables.find((table) => isReadInPart(exchange, table));
  if (part === undefined) return;
  throw new HttpError(
    403,
    `\`${logical}\` consists of ${shownTable(exchange, part)}, which may be read in part only: it needs conditions of its own`,
  );
}

/** The logical ones of these tables, with what they consist of now: every read of the stored result is authorized for it. */
export async function logicalTablesOf(
  { signal }: Exchange,
  tables: readonly TableName[],
  { engine, schemas }: Pick<AuthorizationDependencies, 'engine' | 'schemas'>,
): Promise<LogicalTables> {
  const found: LogicalTables[number][] = [];
  for (const table of tables) {
    if (!engine.isLogical(table)) continue;
    try {
      found.push({ table, tables: await schemas.tablesOf(table, signal) });
    } catch (error) {
      if (!(error instanceof EngineError) || error.code === 'aborted') throw error;
      found.push({ table });
    }
  }
  return found;
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

async function limitedQuery(
  exchange: Exchange,
  judged: JudgedQuery,
  named: readonly TableName[],
  dependencies: AuthorizationDependencies,
): Promise<AllowedQuery> {
  const { sql, read: written } = judged;
  const { query, turn } = written;
  const { signal, principal } = exchange;
  requirePlain(judged);
  // Each name with its tables. The lists may have changed meanwhile, so that they are authorized again.
  const meant = new Map<TableName, readonly TableName[]>();
  for (const name of named) meant.set(name, await dependencies.engine.actualTables([name], signal, principal.srn));
  const tables = [...new Set([...meant.values()].flat())];
  const conditions = await requireTables(exchange, { tables, named }, dependencies);
  const readable = new Map<TableName, ReadableTable>();
  for (const [table, one] of conditions) readable.set(table, await readablePart(exchange, table, one, dependencies));
  const context = {
    database: databaseOf(exchange.headers),
    queryOptions: query.queryOptions,
    multistage: judged.isMultistage,
    limits: dependencies.sqlLimits,
    conditionsOf: (names: readonly TableName[]) => conditionsOf(names, meant, readable),
  };
  const limited = await inTurns(judgingSql(query.sql ?? '', context), turn);
  if (!limited.ok || sql === undefined)
    throw new HttpError(403, `query rejected: ${limited.ok ? 'it has no text' : limited.reason}`);
  if (judged.isMultistage || limited.multistage) await requireFilters(exchange, dependencies);
  return {
    judged: { ...judged, sql: limited, all: [limited], database: limited.database },
    tables,
    conditions: [...conditions].map(([table, one]) => ({ table, id: conditionsId(one) })),
  };
}

/** Up to 1.0, the servers keep one filter of a table only: that of the query around the part. @throws {HttpError} 403, 503 */
async function requireFilters(exchange: Exchange, { schemas }: AuthorizationDependencies): Promise<void> {
  const [major, minor] = (await read('the version of Pinot', () => schemas.version(exchange.signal))) ?? [0, 0];
  if (major > 1 || (major === 1 && minor >= 1)) return;
  throw new HttpError(
    403,
    'query rejected: a table of the query may be read in part only, which is not possible in the multi-stage engine of Pinot before 1.1, because it loses filters: leave `useMultistageEngine` out',
  );
}

/** @throws {HttpError} 403 for fields of a request that show more than rows, or that the conditions do not cover */
function requirePlain({ read: { query }, sqls }: JudgedQuery): void {
  const { trace, debugOptions } = query;
  const isTraced = trace === true || trace === 'true';
  const field =
    sqls !== undefined ? 'sqls' : isTraced ? 'trace' : debugOptions === undefined ? undefined : 'debugOptions';
  if (field === undefined) return;
  throw new HttpError(
    403,
    `query rejected: a table of the query may be read in part only, which is not possible with \`${field}\`: leave it out`,
  );
}

async function readablePart(
  exchange: Exchange,
  table: TableName,
  conditions: TableConditions,
  { schemas }: AuthorizationDependencies,
): Promise<ReadableTable> {
  const columns = await read(`the columns of \`${table}\``, () => schemas.columnsOf(table, exchange.signal));
  const readable = columns === undefined ? 'it has no schema' : readableTable(conditions, columns);
  if (typeof readable !== 'string') return readable;
  throw new HttpError(403, `query rejected: \`${table}\` may be read in part only, and ${readable}`);
}

/** @throws {SqlRefusal} for a name that may mean several tables, one of which has conditions */
function conditionsOf(
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
