import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestPieces } from '../../engine/pieces.ts';
import type { Engine, EngineEndpoint, EngineResponse, KnownTables } from '../../engine/types.ts';
import type { PaginatedQueries } from '../../query/paginated-queries.ts';
import type { ResultRecord } from '../../query/result-store.ts';
import type { RawField } from '../../query/scanner/fields.ts';
import type { PaginationSettings } from '../../query/settings.ts';
import { readSqlRequest, requireQueryable } from '../engine-proxy/sql-request.ts';
import { UnexpectedTables, unexpectedTables } from '../engine-proxy/tables-guard.ts';
import { readTarget } from '../engine-proxy/target.ts';
import { HttpError } from '../errors.ts';
import { TooManyRows } from '../row-limit.ts';
import { clientSignal, forwardToEngine, sendAnswer } from '../forward.ts';
import { requireQuery } from './access.ts';
import type { SubmitQuerystring } from './schemas.ts';
import { sendPage, sendStream } from './send.ts';

export interface SubmitOptions {
  readonly engine: Engine & KnownTables;
  readonly queries: PaginatedQueries;
  readonly settings: () => PaginationSettings;
}

/** Of the caller's headers only these reach the engine with a paginated query; the rest is about the way to the gateway. */
const ENGINE_HEADERS = ['content-type', 'database', 'pinot-use-http-status-for-errors'] as const;

/** These are between the caller and the gateway. */
const OWN_PARAMETERS = ['doPaginate', 'getCursor', 'numRows'];

const MAX_TABLE_HINTS = 64;
const DELETE_TIMEOUT_MS = 10_000;

/** Runs the query of a request for its caller: stored and paged, or passed through. */
export async function runSql(request: FastifyRequest, reply: FastifyReply, options: SubmitOptions): Promise<unknown> {
  const { engine } = options;
  const signal = clientSignal(reply);
  const target = readTarget(request.url);
  const tables = await requireQueryable(request, readSqlRequest(request, target, request.rawBody), engine);
  const served = [...new Set([...tables, ...tableHints(request)])];
  requireQuery(request, served);
  const query = request.query as SubmitQuerystring;
  const endpoint = await engine.brokerFor(served, signal);
  const call = engineCall(request);
  if (!(query.doPaginate ?? false) && !(query.getCursor ?? false))
    return forwardToEngine(request, reply, endpoint, { ...call, allowedTables: tables });

  const { pageSize, maxPageSize } = options.settings();
  const numRows = Math.min(query.numRows ?? pageSize, maxPageSize);
  const outcome = await options.queries.submit(
    (_, cursorRows) =>
      ask(endpoint, cursorRows === undefined ? call : cursorCall(request, cursorRows), request, signal),
    { owner: request.principal.srn, tables, numRows },
    signal,
    (fields) => requireExpected(request, fields, tables),
  );
  if (outcome.kind === 'refused') return sendAnswer(reply, outcome.response);
  if (outcome.kind === 'engine-answer') {
    try {
      return await sendStream(reply, outcome.length, outcome.body);
    } finally {
      await outcome.close();
    }
  }
  const { reader } = outcome;
  let sent = false;
  try {
    await requireRows(request, reader.record, options);
    sent = await sendPage(reply, outcome.page ?? (await options.queries.page(reader, { offset: 0, numRows }, signal)));
  } finally {
    await reader.close(sent);
  }
}

/** Says who answered: a result that the engine keeps is there alone. */
async function ask(
  endpoint: EngineEndpoint,
  call: EngineCall,
  request: FastifyRequest,
  signal: AbortSignal,
): Promise<EngineResponse> {
  try {
    const asked = { ...call, headers: { ...engineHeaders(request), ...call.headers }, signal };
    // Who answered matters only where it keeps the result; then little comes back.
    const response = await (call.cursor ? endpoint.request(asked) : requestPieces(endpoint, asked));
    return { ...response, url: response.url ?? endpoint.url };
  } catch (error) {
    throw signal.aborted ? new HttpError(499, 'the caller went away', { cause: error }) : error;
  }
}

/** A result of more rows than its caller may get is not kept. @throws {TooManyRows} */
async function requireRows(
  { maxRows }: FastifyRequest,
  record: ResultRecord,
  { queries }: SubmitOptions,
): Promise<void> {
  if (maxRows === undefined || record.rowCount <= maxRows) return;
  // Whether its caller is still there or not.
  await queries.delete(record, AbortSignal.timeout(DELETE_TIMEOUT_MS));
  throw new TooManyRows(maxRows);
}

/** The engine says which tables it has read: more than were checked would be a defect of the check, and is not handed out. */
function requireExpected(request: FastifyRequest, fields: readonly RawField[], allowed: readonly string[]): void {
  const queried = fields.find(({ name }) => name === 'tablesQueried');
  if (queried === undefined) return;
  const tables = unexpectedTables(Buffer.from(`"tablesQueried":${queried.value}`), allowed);
  if (tables.length === 0) return;
  request.log.error({ tables, allowed }, 'defect: a query read tables that its caller was not asked about');
  throw new UnexpectedTables(tables);
}

/** `FORWARD_TABLE`, repeatable: more tables that the broker must serve. They are checked like those of the query. */
function tableHints(request: FastifyRequest): string[] {
  const header = request.headers['forward_table'];
  if (header === undefined) return [];
  const hints = [header]
    .flat()
    .flatMap((value) => value.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (hints.length > MAX_TABLE_HINTS)
    throw new HttpError(400, `\`FORWARD_TABLE\` names more than ${MAX_TABLE_HINTS} tables`);
  return hints;
}

interface EngineCall {
  readonly method: string;
  readonly path: string;
  readonly repeatable: boolean;
  /** Whether the engine is to keep the result, and answers with a page of it. */
  readonly cursor: boolean;
  readonly body?: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
}

function engineCall(request: FastifyRequest): EngineCall {
  const parameters = engineParameters(request);
  const path = parameters.size > 0 ? `/query/sql?${parameters.toString()}` : '/query/sql';
  return {
    method: request.method,
    path,
    repeatable: true,
    cursor: false,
    ...(request.rawBody === undefined ? {} : { body: request.rawBody }),
  };
}

/** Of a GET, what the engine reads from the body of a POST. */
const BODY_FIELDS = ['sql', 'queryOptions', 'trace', 'debugOptions'];

/** The same query, whose result the engine is to keep. It takes such only by POST, and a second try would have it keep two. */
function cursorCall(request: FastifyRequest, numRows: number): EngineCall {
  const parameters = engineParameters(request);
  const body: Record<string, string> = {};
  for (const name of request.rawBody === undefined ? BODY_FIELDS : []) {
    const value = parameters.get(name);
    if (value !== null) body[name] = value;
    parameters.delete(name);
  }
  parameters.set('getCursor', 'true');
  parameters.set('numRows', String(numRows));
  const call = { method: 'POST', path: `/query/sql?${parameters.toString()}`, repeatable: false, cursor: true };
  if (request.rawBody !== undefined) return { ...call, body: request.rawBody };
  return { ...call, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

/** What stands in the address, but for what is between the caller and the gateway. */
function engineParameters({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf('?');
  const parameters = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  for (const name of OWN_PARAMETERS) parameters.delete(name);
  return parameters;
}

function engineHeaders(request: FastifyRequest): Record<string, string> {
  // The way to the engine is short: packing an answer costs both sides more than its bytes do.
  const headers: Record<string, string> = { 'accept-encoding': 'identity' };
  for (const name of ENGINE_HEADERS) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  return headers;
}
