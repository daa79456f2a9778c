import type { JudgedSql } from '../../../access/sql/judge.ts';
import { judgeDebugOptions } from '../../../access/sql/options-field.ts';
import { SqlRefusal } from '../../../access/sql/refusal.ts';
import { DEFAULT_DATABASE, type TableName } from '../../../pinot/table-name.ts';
import type { EngineRequest, KnownTables } from '../../../pinot/types.ts';
import type { Turn } from '../../../platform/long-work.ts';
import { traced } from '../../../platform/tracing.ts';
import type { RequestClass, SqlPath } from '../../server/request/classify.ts';
import { HttpError } from '../../server/errors.ts';
import { type JsonLimits, readJsonBody } from '../../server/bodies/json-bodies.ts';
import type { FairQueue } from '../../../platform/fair-queue.ts';
import { withBody } from '../../server/bodies/read-body.ts';
import { requireQuery } from '../access.ts';
import { databaseOf } from '../../server/request/request-headers.ts';
import { tooManyAsked } from '../../engine/row-limit.ts';
import type { Exchange } from './exchange.ts';
import type { JudgedTexts } from './judged-texts.ts';
import {
  type Paging,
  readNoParameters,
  readPagedText,
  readPaging,
  readSqlBody,
  readText,
  readValidationBody,
  type WrittenQuery,
} from './operations.ts';

/** An authorized query, in the form that is sent to the engine. */
export interface JudgedQuery {
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
  /** Fields of the JSON body for the engine. */
  readonly fields: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Dependencies of `readQuery`. */
export interface QueryReading {
  readonly engine: KnownTables;
  /** For bodies. */
  readonly memory: FairQueue;
  readonly texts: JudgedTexts;
  /** Maximum bytes of a request body. */
  readonly bodyBytes: number;
  readonly json: JsonLimits;
}

/**
 * Parses and authorizes the query of a request.
 * @throws {HttpError} 400, 403, 405, 413, 415; {RequestValidationError} 400
 */
export async function readQuery(
  exchange: Exchange,
  requestClass: RequestClass & { readonly sql: SqlPath },
  reading: QueryReading,
): Promise<JudgedQuery> {
  requireMethod(exchange, requestClass.sql);
  const { query, paging, turn } = await readWrittenQuery(exchange, requestClass, reading);
  if (paging.async === true && requestClass.kind !== 'submit') {
    throw new HttpError(400, '`async=true` requires `doPaginate=true`: only a stored result can be read later');
  }
  const multistage = MULTISTAGE_PATHS.has(requestClass.sql.path);
  const judged = await traced(exchange.trail.span, 'check SQL', () =>
    judgeTexts(exchange, query, { multistage, texts: reading.texts, turn }),
  );
  const named = [...new Set(judged.all.flatMap(({ tables }) => tables))];
  const { signal, principal } = exchange;
  const tables = named.length === 0 ? [] : await reading.engine.actualTables(named, signal, principal.srn);
  requireQuery(exchange, tables);
  const headers = engineHeaders(exchange, judged.database);
  const hasDefaultLimit = judged.sql !== undefined && judged.sql.limit === undefined && !judged.sql.multistage;
  const explains = judged.all.some((one) => one.explains);
  const commonTables = judged.sql?.commonTables ?? [];
  const fields = bodyFields(query, judged);
  return { path: requestClass.sql, paging, tables, hasDefaultLimit, explains, commonTables, fields, headers };
}

/** These always run the multi-stage engine. */
const MULTISTAGE_PATHS: ReadonlySet<string> = new Set(['/query', '/validateMultiStageQuery']);

interface JudgedFields {
  readonly sql: JudgedSql | undefined;
  readonly sqls: readonly JudgedSql[] | undefined;
  readonly all: readonly JudgedSql[];
  /** The `Database` header for the engine. */
  readonly database: string | undefined;
}

/** @throws {HttpError} 400 for a text that is refused, or that does not bound its rows */
async function judgeTexts(
  exchange: Exchange,
  query: WrittenQuery,
  { multistage, texts, turn }: { multistage: boolean; texts: JudgedTexts; turn: Turn },
): Promise<JudgedFields> {
  const { queryOptions } = query;
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
  return { sql, sqls, all, database: commonDatabase(all) };
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

/** The engine request of a query. It is always a POST of JSON, which all engine versions support. */
export function engineRequest(
  { path: { path }, fields, headers }: JudgedQuery,
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

function requireMethod({ method }: Exchange, { methods }: SqlPath): void {
  if ((methods as readonly string[]).includes(method)) return;
  const allow = methods.join(', ');
  throw new HttpError(405, `\`${method}\` is not allowed here: use ${allow}`, { headers: { allow } });
}

interface WrittenField {
  readonly query: WrittenQuery;
  readonly paging: Paging;
  /** For each part of the work for a long text. */
  readonly turn: Turn;
}

async function readWrittenQuery(
  exchange: Exchange,
  { sql: { path }, parameters }: RequestClass & { readonly sql: SqlPath },
  { bodyBytes, json, memory }: QueryReading,
): Promise<WrittenField> {
  const supportsPaging = path === '/query/sql';
  const turnFor = (bytes: number): Turn =>
    exchange.server.work.bodyTurns(exchange.principal.srn, bytes, () => !exchange.isClosed);
  if (exchange.method === 'GET') {
    const turn = turnFor(exchange.url.length);
    await turn();
    if (!supportsPaging) return { query: readText(parameters), paging: {}, turn };
    const query = readPagedText(parameters);
    return { query, paging: query, turn };
  }
  const paging = supportsPaging ? readPaging(parameters) : readNoParameters(parameters);
  const { signal, principal } = exchange;
  const options = { max: bodyBytes, memory, caller: principal.srn, signal };
  return withBody(exchange.request, options, async (bytes) => {
    const turn = turnFor(bytes.length);
    await turn();
    const body = await readJsonBody(exchange, bytes, json, turn);
    return { query: path === '/validateMultiStageQuery' ? readValidationBody(body) : readSqlBody(body), paging, turn };
  });
}

function requireBoundedRows({ maxRows }: Exchange, judged: JudgedSql): void {
  const tooMany = maxRows === undefined ? undefined : tooManyAsked(judged, maxRows);
  if (tooMany !== undefined) throw new HttpError(400, tooMany);
}

/** @throws {HttpError} 400 for `debugOptions` that are refused */
function bodyFields(query: WrittenQuery, { sql, sqls, all }: JudgedFields): JudgedQuery['fields'] {
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
function engineHeaders({ id, headers, maxRows }: Exchange, database: string | undefined): Record<string, string> {
  // Rows can be counted only in an uncompressed response.
  const gzip = maxRows === undefined && acceptsGzip(headers['accept-encoding'] ?? '');
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
