import { requestPieces } from '../../../pinot/pieces.ts';
import { errorType, type TraceSpan } from '../../../platform/tracing.ts';
import type { Trail } from '../../../platform/trail.ts';
import type { TableName } from '../../../pinot/table-name.ts';
import type { EngineEndpoint, EngineRequest, EngineResponse } from '../../../pinot/types.ts';
import type { LostResponse, QueryOrigin, Submitted } from '../../../results/submit/submissions.ts';
import type { ResultReader } from '../../../results/result-store.ts';
import type { RawField } from '../../../results/scanner/fields.ts';
import type { SubmissionHooks } from '../../../results/submit/submit.ts';
import { authorizedTables, respelledTables, UnexpectedTables, unexpectedTables } from '../../engine/tables-guard.ts';
import { credentialRefused, HttpError } from '../../server/errors.ts';
import { TooManyRows } from '../../engine/row-limit.ts';
import { checkedResponse } from './checked-response.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { readAndSend } from './page.ts';
import { engineRequest, readableEndpoint, type AuthorizedQuery } from './judge-query.ts';
import { sendResponse, sendStream } from './send.ts';

/** Runs a query, stores its result, and responds with the first page. @param requestId of the result; a new id where absent */
export async function submitQuery(
  exchange: Exchange,
  query: AuthorizedQuery,
  dependencies: DataPlaneDependencies,
  requestId?: string,
): Promise<void> {
  const { signal, queryTimeoutMs } = exchange;
  const outcome = await runSubmission(exchange, query, dependencies, { signal, queryTimeoutMs, requestId });
  if (outcome.kind === 'refused') return sendResponse(exchange, outcome.response);
  if (outcome.kind === 'unstored') {
    try {
      return await sendStream(exchange, outcome.length, outcome.body);
    } finally {
      await outcome.close();
    }
  }
  const { reader } = outcome;
  let sent = false;
  try {
    sent = await sendFirstPage(exchange, reader, query, dependencies);
  } finally {
    await reader.close(sent);
  }
}

/** @returns as `readAndSend` */
export function sendFirstPage(
  exchange: Exchange,
  reader: ResultReader,
  { paging }: AuthorizedQuery,
  dependencies: DataPlaneDependencies,
): Promise<boolean> {
  const { pageSize, maxPageSize } = dependencies.settings();
  const numRows = Math.min(paging.numRows ?? pageSize, maxPageSize);
  return readAndSend(exchange, reader, { offset: 0, numRows }, dependencies, exchange.signal);
}

/** How a submission runs: for a caller that waits, or without one. */
export interface SubmissionRun {
  readonly signal: AbortSignal;
  /** Milliseconds until the response headers of the engine must arrive; undefined for the default of the connection. */
  readonly queryTimeoutMs: number | undefined;
  readonly accepted?: QueryOrigin['accepted'];
  readonly requestId?: QueryOrigin['requestId'];
  readonly onRows?: SubmissionHooks['onRows'];
  /** Called with the broker before it is asked, and when it has begun to respond. */
  readonly onBroker?: (broker: EngineEndpoint) => void;
  readonly onResponse?: () => void;
}

/**
 * Sends an authorized query to a broker and stores its result. The caller closes the reader or the answer of the outcome.
 * @throws {HttpError} 400 for a result with more rows than the caller's limit, 502; and as `Submissions.begin` and `RunningSubmission.store`
 */
export async function runSubmission(
  exchange: Exchange,
  query: AuthorizedQuery,
  { engine, queries }: Pick<DataPlaneDependencies, 'engine' | 'queries'>,
  run: SubmissionRun,
): Promise<Submitted> {
  const { signal } = run;
  const { trail, principal } = exchange;
  const broker = await engine.brokerFor(query.served, signal);
  run.onBroker?.(broker);
  const endpoint = readableEndpoint(broker, query);
  const request = engineRequest(query, { queryTimeoutMs: run.queryTimeoutMs, principal, trail });
  const submission = queries.submissions.begin(originOf(exchange, query, run), signal, hooksOf(exchange, query, run));
  const storing = new StoringSpan(trail);
  let outcome: Submitted | LostResponse = { kind: 'lost' };
  try {
    while (outcome.kind === 'lost') {
      const response = await requestQuery(endpoint, request, run);
      storing.begin();
      // The plan is in the rows, which are not checked otherwise.
      outcome = await submission.store(query.explains ? await checkedResponse(exchange, response, query) : response);
    }
  } catch (error) {
    storing.fail(error);
    throw error;
  } finally {
    storing.end();
    submission.end();
  }
  return outcome.kind === 'refused' ? refused(exchange, query, outcome.response) : outcome;
}

function originOf(
  { principal }: Exchange,
  query: AuthorizedQuery,
  { accepted, requestId }: SubmissionRun,
): QueryOrigin {
  const { tables, text, hasDefaultLimit, conditions, logicalTables } = query;
  const limited = { ...(conditions.length > 0 && { conditions }), ...(logicalTables.length > 0 && { logicalTables }) };
  const origin = { owner: principal.srn, tables, ...limited, sql: text, hasDefaultLimit, requestId };
  return accepted === undefined ? origin : { ...origin, accepted };
}

/** The guard of a response whose rows are stored. */
function hooksOf(exchange: Exchange, query: AuthorizedQuery, { onRows }: SubmissionRun): SubmissionHooks {
  return {
    inspect: (fields, rowCount) => {
      const others = requireExpected(exchange, fields, query);
      // Before the result is visible: its owner could read it until it is deleted, and a deletion may fail.
      requireRows(exchange, rowCount);
      return others;
    },
    ...(onRows !== undefined && { onRows }),
  };
}

/** A response that is not stored. */
async function refused(exchange: Exchange, query: AuthorizedQuery, response: EngineResponse): Promise<Submitted> {
  if (response.status === 401) {
    response.body.destroy();
    throw credentialRefused();
  }
  return { kind: 'refused', response: await checkedResponse(exchange, response, query) };
}

/** The span of storing the rows of a response, which begins with each response. */
class StoringSpan {
  readonly #trail: Trail;
  #span: TraceSpan | undefined;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  begin(): void {
    this.#span?.end();
    this.#span = this.#trail.span?.child('store result', 'internal');
  }

  fail(error: unknown): void {
    this.#span?.fail(errorType(error));
  }

  end(): void {
    this.#span?.end();
  }
}

/** The text that the engine gets. */
async function requestQuery(
  endpoint: EngineEndpoint,
  request: EngineRequest,
  { signal, onResponse }: SubmissionRun,
): Promise<EngineResponse> {
  try {
    // Compression costs more CPU than it saves on the network to the engine.
    const uncompressed = { ...request, headers: { ...request.headers, 'accept-encoding': 'identity' }, signal };
    const response = await requestPieces(endpoint, uncompressed);
    onResponse?.();
    return response;
  } catch (error) {
    throw signal.aborted ? new HttpError(499, 'the client disconnected', { cause: error }) : error;
  }
}

/** @throws {TooManyRows} for a response with more rows than the caller's limit */
function requireRows({ maxRows }: Exchange, rowCount: number): void {
  if (maxRows !== undefined && rowCount > maxRows) throw new TooManyRows(maxRows);
}

/**
 * Compares `tablesQueried` with the authorized tables. A result of others is not returned.
 * @returns the tables that the engine reports in another letter case: each read of the result is authorized for them, too
 */
function requireExpected(
  exchange: Exchange,
  fields: readonly RawField[],
  query: AuthorizedQuery,
): readonly TableName[] {
  const { tables: allowed } = query;
  const queried = fields.find(({ name }) => name === 'tablesQueried');
  if (queried === undefined) return [];
  const reported = Buffer.from(`"tablesQueried":${queried.value}`);
  const tables = unexpectedTables(reported, authorizedTables(exchange, { tables: allowed, explains: false }));
  if (tables.length === 0) return respelledTables(reported, allowed);
  exchange.log.error({ tables, allowed }, 'a query read tables that were not authorized');
  throw new UnexpectedTables(tables);
}
