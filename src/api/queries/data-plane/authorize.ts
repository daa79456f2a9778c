import type { TableName } from '../../../pinot/table-name.ts';
import { EngineError } from '../../../pinot/types.ts';
import type { Turn } from '../../../platform/long-work.ts';
import {
  limitedText,
  type LimitedQueryDependencies,
  QueryRefusal,
  requireTables,
  type TableReader,
} from '../../engine/limited-query.ts';
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

/** A query whose caller may read all that its text reads. */
export interface AllowedQuery {
  /** With the conditions of the caller in its text. */
  readonly judged: JudgedQuery;
  /** In the engine's spelling. */
  readonly tables: readonly TableName[];
  /** Empty for a query of whole tables. */
  readonly conditions: NamedConditions;
}

/**
 * Authorizes a query on all its tables. The text of a caller that may read a part of a table only gets the conditions of this part.
 * @throws {HttpError} 403 for a table that the caller may not query, or a text that could show more than its part; 503 where columns cannot be read
 */
export async function authorizeQuery(
  exchange: Exchange,
  judged: JudgedQuery,
  dependencies: LimitedQueryDependencies,
): Promise<AllowedQuery> {
  const named = [...new Set(judged.all.flatMap(({ tables }) => tables))];
  if (named.length === 0) return { judged, tables: [], conditions: [] };
  const reader = readerOf(exchange, judged.read.turn);
  const { tables, conditions } = await requireTables(reader, named, dependencies);
  if (conditions.size === 0) return { judged, tables, conditions: [] };
  return limitedQuery(exchange, judged, { reader, named, dependencies });
}

/** The caller of the query. */
function readerOf(exchange: Exchange, turn: Turn): TableReader {
  const { principal, server, signal } = exchange;
  return {
    caller: principal.srn,
    signal,
    turn,
    conditionsOf: (table, written) => requireReading(exchange, table, written),
    hasConditions: () => server.authorizer.hasConditions(principal),
    isReadInPart: (table) => isReadInPart(exchange, table),
    shown: (table) => shownTable(exchange, table),
  };
}

/** The logical ones of these tables, with what they consist of now: every read of the stored result is authorized for it. */
export async function logicalTablesOf(
  { signal }: Exchange,
  tables: readonly TableName[],
  { engine, schemas }: Pick<LimitedQueryDependencies, 'engine' | 'schemas'>,
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

interface Limiting {
  readonly reader: TableReader;
  readonly named: readonly TableName[];
  readonly dependencies: LimitedQueryDependencies;
}

async function limitedQuery(
  exchange: Exchange,
  judged: JudgedQuery,
  { reader, named, dependencies }: Limiting,
): Promise<AllowedQuery> {
  const { query } = judged.read;
  const text = requirePlain(judged);
  const context = {
    database: databaseOf(exchange.headers),
    queryOptions: query.queryOptions,
    multistage: judged.isMultistage,
  };
  const { sql, tables, conditions } = await limitedText(reader, { text, context, named }, dependencies);
  return {
    judged: { ...judged, sql, all: [sql], database: sql.database },
    tables,
    conditions: [...conditions].map(([table, one]) => ({ table, id: conditionsId(one) })),
  };
}

/** @returns the text @throws {HttpError} 403 for fields of a request that show more than rows, or that the conditions do not cover */
function requirePlain({ read: { query }, sqls }: JudgedQuery): string {
  const { sql, trace, debugOptions } = query;
  const isTraced = trace === true || trace === 'true';
  if (sql !== undefined && sqls === undefined && !isTraced && debugOptions === undefined) return sql;
  const field = sql === undefined || sqls !== undefined ? 'sqls' : isTraced ? 'trace' : 'debugOptions';
  throw new QueryRefusal(
    `query rejected: a table of the query may be read in part only, which is not possible with \`${field}\`: leave it out`,
  );
}
