import { judgingSql, judgeSql, type JudgedSql, type SqlContext } from '../../../access/sql/judge.ts';
import { SQL_LIMITS, type SqlLimits } from '../../../access/sql/limits.ts';
import { judgeDebugOptions } from '../../../access/sql/options-field.ts';
import { SqlRefusal, type RefusedSql } from '../../../access/sql/refusal.ts';
import { DEFAULT_DATABASE, type TableName } from '../../../pinot/table-name.ts';
import type { EngineEndpoint, EngineRequest } from '../../../pinot/types.ts';
import { inTurns, type Turn } from '../../../platform/long-work.ts';
import { LruCache } from '../../../platform/lru.ts';
import { traced } from '../../../platform/tracing.ts';
import { partialEndpoint } from '../../engine/partial-response.ts';
import { namingEndpoint } from '../../engine/written-names.ts';
import { tooManyAsked } from '../../engine/row-limit.ts';
import { HttpError } from '../../server/errors.ts';
import type { LogicalTables, NamedConditions } from '../../server/reading.ts';
import type { SqlPath } from '../../server/request/classify.ts';
import { databaseOf } from '../../server/request/request-headers.ts';
import type { Exchange } from './exchange.ts';
import type { Paging, ReadQuery, WrittenQuery } from './read-query.ts';

const MAX_TEXTS = 1_000;
/** Longer texts are rarely repeated, so they are not cached. */
const MAX_LENGTH = 8 * 1024;
/** Characters of the cached results; a result can be many times longer than its text. */
const MAX_FOUND_LENGTH = 16 * 1024;

/** These always run the multi-stage engine. */
const MULTISTAGE_PATHS: ReadonlySet<string> = new Set(['/query', '/validateMultiStageQuery']);

/** A query whose tables are known, and that is not authorized yet. */
export interface JudgedQuery {
  readonly path: SqlPath;
  readonly read: ReadQuery;
  readonly sql: JudgedSql | undefined;
  readonly sqls: readonly JudgedSql[] | undefined;
  readonly all: readonly JudgedSql[];
  /** Whether the path selects the multi-stage engine, whatever the options say. */
  readonly isMultistage: boolean;
  /** The `Database` header for the engine. */
  readonly database: string | undefined;
}

/** An authorized query, in the form that is sent to the engine. */
export interface AuthorizedQuery {
  readonly path: SqlPath;
  readonly paging: Paging;
  /** In the engine's spelling. */
  readonly tables: readonly TableName[];
  /** Whether the engine's default limits the rows: the text has no `LIMIT`, and no option selects the multi-stage engine. */
  readonly hasDefaultLimit: boolean;
  /** Whether the result is the plan of a query. */
  readonly explains: boolean;
  /** Written names of the common table expressions, for messages of the engine: the first one is `cte 1` in the text that it gets. */
  readonly commonTables: readonly string[];
  /** See `JudgedSql.columnNames`. */
  readonly columnNames: ReadonlyMap<number, string>;
  /** The canonical text without conditions, which have values of their caller: for records. Undefined where there is none. */
  readonly text: string | undefined;
  /** Fields of the JSON body for the engine. */
  readonly fields: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
  /** `tables`, and those of `FORWARD_TABLE`, which the broker must serve, too. */
  readonly served: readonly TableName[];
  /** What limits the rows and columns; empty for a query of whole tables. */
  readonly conditions: NamedConditions;
  /** Those of `tables` that are logical; empty for a query whose result is not stored. */
  readonly logicalTables: LogicalTables;
}

/**
 * Parses the texts of a query.
 * @throws {HttpError} 400 for a text that is refused, or that does not bound its rows
 */
export function judgeQuery(
  exchange: Exchange,
  path: SqlPath,
  read: ReadQuery,
  texts: JudgedTexts,
): Promise<JudgedQuery> {
  return traced(exchange.trail.span, 'check SQL', () => judgeTexts(exchange, path, read, texts));
}

/** @throws {HttpError} 400 for a text that is refused, or that does not bound its rows */
async function judgeTexts(
  exchange: Exchange,
  path: SqlPath,
  read: ReadQuery,
  texts: JudgedTexts,
): Promise<JudgedQuery> {
  const { query, turn } = read;
  const { queryOptions } = query;
  const multistage = MULTISTAGE_PATHS.has(path.path);
  const database = databaseOf(exchange.headers);
  const all: JudgedSql[] = [];
  const written = textsOf(query);
  requireTotal(written, texts.maxBytes);
  for (const { text, which } of written) {
    if (all.length > 0) await turn();
    const judging = texts.judge(text, { database, queryOptions, multistage }, turn);
    const judged = judging instanceof Promise ? await judging : judging;
    if (!judged.ok) throw new HttpError(400, `${which} is rejected: ${judged.reason}`);
    requireBoundedRows(exchange, judged);
    all.push(judged);
  }
  const sql = query.sql === undefined ? undefined : all[0];
  const sqls = query.sqls && all.slice(sql === undefined ? 0 : 1);
  return { path, read, sql, sqls, all, isMultistage: multistage, database: commonDatabase(all) };
}

interface NamedText {
  readonly text: string;
  /** Its name in messages. */
  readonly which: string;
}

/** The limit of one text holds for all texts of a request together. @throws {HttpError} 400 */
function requireTotal(texts: readonly NamedText[], max: number): void {
  const total = texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (texts.length > 1 && total > max)
    throw new HttpError(
      400,
      `the texts in \`sqls\` have ${total} bytes together, more than ${max}: send fewer texts in one request`,
    );
}

function textsOf({ sql, sqls = [] }: WrittenQuery): NamedText[] {
  const others = sqls.map((text, index) => ({ text, which: `\`sqls[${index}]\`` }));
  return sql === undefined ? others : [{ text: sql, which: 'the query' }, ...others];
}

/** The `Database` header for all texts. @throws {HttpError} 400 where they need different ones */
function commonDatabase(all: readonly JudgedSql[]): string | undefined {
  const [first, ...others] = all.filter(({ tables, database }) => tables.length > 0 || database !== undefined);
  const other = others.find(({ database }) => database !== first?.database);
  if (other === undefined) return first?.database;
  const [one, two] = [first?.database, other.database].map((database) => database ?? DEFAULT_DATABASE);
  throw new HttpError(
    400,
    `the texts in \`sqls\` name tables of the databases \`${one}\` and \`${two}\`: send one request for each database`,
  );
}

function requireBoundedRows({ maxRows }: Exchange, judged: JudgedSql): void {
  const tooMany = maxRows === undefined ? undefined : tooManyAsked(judged, maxRows);
  if (tooMany !== undefined) throw new HttpError(400, tooMany);
}

/**
 * A query in the form that is sent to the engine, without its tables.
 * @param isWhole false where the caller may read a part of a table only
 * @throws {HttpError} 400 for `debugOptions` that are refused
 */
export function engineForm(
  exchange: Exchange,
  judged: JudgedQuery,
  isWhole: boolean,
): Omit<AuthorizedQuery, 'tables' | 'text' | 'served' | 'conditions' | 'logicalTables'> {
  const { path, read, sql, all, database } = judged;
  return {
    path,
    paging: read.paging,
    hasDefaultLimit: sql !== undefined && sql.limit === undefined && !sql.multistage,
    explains: all.some((one) => one.explains),
    commonTables: sql?.commonTables ?? [],
    columnNames: sql?.columnNames ?? new Map(),
    fields: bodyFields(judged),
    headers: engineHeaders(exchange, database, isWhole),
  };
}

/** @throws {HttpError} 400 for `debugOptions` that are refused */
function bodyFields({ read: { query }, sql, sqls, all }: JudgedQuery): AuthorizedQuery['fields'] {
  const { trace, ignoreCase } = query;
  const queryOptions = all[0]?.queryOptions;
  const debugOptions = canonicalDebugOptions(query.debugOptions);
  return {
    ...(sql !== undefined && { sql: sql.text }),
    ...(sqls !== undefined && { sqls: sqls.map(({ text }) => text) }),
    ...(queryOptions !== undefined && { queryOptions }),
    ...(trace !== undefined && { trace: trace === true || trace === 'true' }),
    ...(debugOptions !== undefined && { debugOptions }),
    ...(ignoreCase !== undefined && { ignoreCase }),
  };
}

function canonicalDebugOptions(text: string | undefined): string | undefined {
  try {
    return judgeDebugOptions(text);
  } catch (error) {
    if (!(error instanceof SqlRefusal)) throw error;
    throw new HttpError(400, `query rejected: ${error.message}`, { cause: error });
  }
}

const TRACE_HEADERS: Readonly<Record<string, RegExp>> = {
  traceparent: /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/,
  tracestate: /^[\x20-\x7e]{1,512}$/,
};

/** The request headers for the engine, with validated values. @param database of the judged text, not of the client's header */
function engineHeaders(
  { id, headers, maxRows }: Exchange,
  database: string | undefined,
  isWhole: boolean,
): Record<string, string> {
  // Rows can be counted, and fields left out, only in an uncompressed response.
  const gzip = maxRows === undefined && isWhole && acceptsGzip(headers['accept-encoding'] ?? '');
  const sent: Record<string, string> = { 'accept-encoding': gzip ? 'gzip' : 'identity', 'x-request-id': id };
  if (database !== undefined) sent['database'] = database;
  const errors = headers['pinot-use-http-status-for-errors'];
  if (errors !== undefined) sent['pinot-use-http-status-for-errors'] = String(/^true$/i.test(String(errors)));
  for (const [name, form] of Object.entries(TRACE_HEADERS)) {
    const value = headers[name];
    if (typeof value === 'string' && form.test(value)) sent[name] = value;
  }
  return sent;
}

/** @param value of `Accept-Encoding` */
function acceptsGzip(value: string): boolean {
  return value.split(',').some((part) => {
    const [coding, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return (coding === 'gzip' || coding === 'x-gzip') && Number(quality?.slice(2) ?? 1) > 0;
  });
}

/** The endpoint of a query, whose responses the caller may read. */
export function readableEndpoint(endpoint: EngineEndpoint, query: AuthorizedQuery): EngineEndpoint {
  return query.conditions.length > 0
    ? partialEndpoint(endpoint, query.columnNames)
    : namingEndpoint(endpoint, query.commonTables);
}

/** The engine request of a query. It is always a POST of JSON, which all engine versions support. */
export function engineRequest(
  { path: { path }, fields, headers }: AuthorizedQuery,
  exchange: Pick<Exchange, 'principal' | 'trail'> & { readonly queryTimeoutMs?: number | undefined },
): EngineRequest {
  return {
    method: 'POST',
    path,
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(fields),
    repeatable: true,
    trail: exchange.trail,
    caller: exchange.principal.srn,
    ...(exchange.queryTimeoutMs === undefined ? {} : { headersTimeoutMs: exchange.queryTimeoutMs }),
  };
}

/**
 * Caches the results of `judgeSql`, because clients repeat the same few texts. The tables of a query depend only on its text, database, options and path.
 * Authorization is not cached.
 */
export class JudgedTexts {
  readonly #known = new LruCache<string, JudgedSql | RefusedSql>({ maxWeight: MAX_TEXTS });
  readonly #limits: SqlLimits;

  constructor(limits: SqlLimits = SQL_LIMITS) {
    this.#limits = limits;
  }

  /** Maximum bytes of one text. */
  get maxBytes(): number {
    return this.#limits.bytes;
  }

  /**
   * Same result as `judgeSql`.
   * @param turn for each part of a long text; there is no promise for others
   */
  judge(
    sql: string,
    { database, queryOptions, multistage }: Omit<SqlContext, 'limits'>,
    turn: Turn,
  ): JudgedSql | RefusedSql | Promise<JudgedSql | RefusedSql> {
    const context = { database, queryOptions, multistage, limits: this.#limits };
    if (sql.length + (queryOptions?.length ?? 0) > MAX_LENGTH) return judgeLong(sql, context, turn);
    const key = JSON.stringify([sql, database, queryOptions, multistage]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const judged = judgeSql(sql, context);
    if (lengthOf(judged) <= MAX_FOUND_LENGTH) this.#known.set(key, judged);
    return judged;
  }
}

/** The JSON of the request was parsed in the turn before. */
async function judgeLong(sql: string, context: SqlContext, turn: Turn): Promise<JudgedSql | RefusedSql> {
  await turn();
  return inTurns(judgingSql(sql, context), turn);
}

function lengthOf(judged: JudgedSql | RefusedSql): number {
  if (!judged.ok) return judged.reason.length;
  return judged.tables.reduce((sum, { length }) => sum + length, judged.text.length);
}
