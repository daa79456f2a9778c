import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine, EngineResponse } from '../../engine/types.ts';
import type { PaginatedQueries } from '../../query/paginated-queries.ts';
import type { PaginationSettings } from '../../query/settings.ts';
import { HttpError } from '../errors.ts';
import { clientSignal, forwardToEngine, sendAnswer } from '../forward.ts';
import { requireQuery } from './access.ts';
import type { SubmitQuerystring } from './schemas.ts';
import { sendPage, sendStream } from './send.ts';

/** What a SQL text reads, or why that cannot be told: then the query is refused. */
export type TablesOfSql = (
  sql: string,
  options?: { readonly database?: string | undefined; readonly queryOptions?: string | undefined },
) => { readonly ok: true; readonly tables: readonly string[] } | { readonly ok: false; readonly reason: string };

export interface SubmitOptions {
  readonly engine: Engine;
  readonly queries: PaginatedQueries;
  readonly settings: () => PaginationSettings;
  readonly tablesOfSql: TablesOfSql;
  /** From names as a text spells them to those that the engine knows, where it compares them without case. */
  readonly resolveTables?: (tables: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
}

/** Of the caller's headers only these reach the engine with a paginated query; the rest is about the way to the gateway. */
const ENGINE_HEADERS = ['content-type', 'database', 'pinot-use-http-status-for-errors'] as const;

/** These are between the caller and the gateway. */
const OWN_PARAMETERS = ['doPaginate', 'getCursor', 'numRows'];

const MAX_TABLE_HINTS = 64;

/** Runs `sql` for the caller: stored and paged, or passed through. */
export async function runSql(
  request: FastifyRequest,
  reply: FastifyReply,
  sql: string,
  options: SubmitOptions,
): Promise<unknown> {
  const signal = clientSignal(reply);
  const spelled = tablesOf(request, sql, options.tablesOfSql);
  const tables = (await options.resolveTables?.(spelled, signal)) ?? spelled;
  const served = [...new Set([...tables, ...tableHints(request)])];
  requireQuery(request, served);
  const query = request.query as SubmitQuerystring;
  const endpoint = await options.engine.brokerFor(served, signal);
  const call = engineCall(request);
  if (!(query.doPaginate ?? false) && !(query.getCursor ?? false))
    return forwardToEngine(request, reply, endpoint, call);

  const run = (): Promise<EngineResponse> =>
    endpoint.request({ ...call, headers: engineHeaders(request), signal }).catch((error: unknown) => {
      throw signal.aborted ? new HttpError(499, 'the caller went away', { cause: error }) : error;
    });
  const { pageSize, maxPageSize } = options.settings();
  const outcome = await options.queries.submit(run, { owner: request.principal.srn, tables }, signal);
  if (outcome.kind === 'refused') return sendAnswer(reply, outcome.response);
  if (outcome.kind === 'engine-answer') return sendStream(reply, outcome.length, outcome.body);
  try {
    const numRows = Math.min(query.numRows ?? pageSize, maxPageSize);
    const page = await options.queries.page(outcome.reader, { offset: 0, numRows }, signal);
    await sendPage(reply, page);
  } finally {
    await outcome.reader.close();
  }
}

function tablesOf(request: FastifyRequest, sql: string, tablesOfSql: TablesOfSql): readonly string[] {
  const { database } = request.headers;
  const found = tablesOfSql(sql, {
    database: typeof database === 'string' ? database : undefined,
    queryOptions: queryOptions(request),
  });
  if (found.ok) return found.tables;
  throw new HttpError(
    400,
    `the tables that the query reads cannot be told, so that access to them cannot be checked: ${found.reason}`,
  );
}

/** Options of the engine beside the text, which may name a database. */
function queryOptions(request: FastifyRequest): string | undefined {
  const { queryOptions: options } = (request.body ?? request.query) as { queryOptions?: unknown };
  if (options === undefined || typeof options === 'string') return options;
  throw new HttpError(400, '`queryOptions` must be a text such as `timeoutMs=1000;enableNullHandling=true`');
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

function engineCall(request: FastifyRequest): { method: string; path: string; repeatable: boolean; body?: Uint8Array } {
  const at = request.url.indexOf('?');
  const parameters = new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1));
  for (const name of OWN_PARAMETERS) parameters.delete(name);
  const path = parameters.size > 0 ? `/query/sql?${parameters.toString()}` : '/query/sql';
  return {
    method: request.method,
    path,
    repeatable: true,
    ...(request.rawBody === undefined ? {} : { body: request.rawBody }),
  };
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
