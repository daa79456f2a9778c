import { requestPieces } from '../../../pinot/pieces.ts';
import { errorType, type TraceSpan } from '../../../platform/tracing.ts';
import type { Trail } from '../../../platform/trail.ts';
import type { TableName } from '../../../pinot/table-name.ts';
import type { EngineEndpoint, EngineRequest, EngineResponse } from '../../../pinot/types.ts';
import type { QueryOrigin, Submitted } from '../../../results/submit/submissions.ts';
import type { RawField } from '../../../results/scanner/fields.ts';
import type { SubmissionHooks } from '../../../results/submit/submit.ts';
import { respelledTables, UnexpectedTables, unexpectedTables } from '../../engine/tables-guard.ts';
import { authorizedTables } from '../access.ts';
import { credentialRefused, HttpError } from '../../server/errors.ts';
import { TooManyRows } from '../../engine/row-limit.ts';
import { namingEndpoint } from '../../engine/written-names.ts';
import { checkedAnswer } from './checked-answer.ts';
import type { DataPlaneParts } from './parts.ts';
import type { Exchange } from './exchange.ts';
import { readAndSend } from './page.ts';
import { engineRequest, type JudgedQuery } from './query.ts';
import { sendAnswer, sendStream } from './send.ts';
import { tableHints } from './table-hints.ts';

/** Runs a query, stores its result, and responds with the first page. */
export async function submitQuery(exchange: Exchange, query: JudgedQuery, parts: DataPlaneParts): Promise<void> {
  const { signal, queryTimeoutMs } = exchange;
  const served = await tableHints(exchange, query.tables, parts.engine);
  const outcome = await runSubmission(exchange, query, parts, { served, signal, queryTimeoutMs });
  if (outcome.kind === 'refused') return sendAnswer(exchange, outcome.response);
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
    sent = await readAndSend(exchange, reader, { offset: 0, numRows: firstPageRows(query, parts) }, parts, signal);
  } finally {
    await reader.close(sent);
  }
}

/** Rows of the first page. */
function firstPageRows({ paging }: JudgedQuery, { settings }: Pick<DataPlaneParts, 'settings'>): number {
  const { pageSize, maxPageSize } = settings();
  return Math.min(paging.numRows ?? pageSize, maxPageSize);
}

/** How a submission runs: for a caller that waits, or without one. */
export interface SubmissionRun {
  /** Tables that the broker must serve, from `tableHints`. */
  readonly served: readonly TableName[];
  readonly signal: AbortSignal;
  /** Milliseconds until the response headers of the engine must arrive; undefined for the default of the connection. */
  readonly queryTimeoutMs: number | undefined;
  readonly accepted?: QueryOrigin['accepted'];
  readonly onRows?: SubmissionHooks['onRows'];
  /** Called with the broker before it is asked, and when it has begun to respond. */
  readonly onBroker?: (broker: EngineEndpoint) => void;
  readonly onResponse?: () => void;
}

/**
 * Runs an authorized query and stores its result. The caller closes the reader or the answer of the outcome.
 * @throws {HttpError} 400 for a result with more rows than the caller's limit, 502; and as `PaginatedQueries.submit`
 */
export async function runSubmission(
  exchange: Exchange,
  query: JudgedQuery,
  parts: DataPlaneParts,
  run: SubmissionRun,
): Promise<Submitted> {
  const { tables, hasDefaultLimit } = query;
  const { signal, accepted, onRows } = run;
  const { trail } = exchange;
  const broker = await parts.engine.brokerFor(run.served, signal);
  run.onBroker?.(broker);
  const endpoint = namingEndpoint(broker, query.commonTables);
  const submit = (beginStoring: () => void): Promise<Submitted> =>
    parts.queries.submit(
      async () => {
        const { principal } = exchange;
        const request = engineRequest(query, { queryTimeoutMs: run.queryTimeoutMs, principal, trail });
        const response = await requestQuery(endpoint, request, run);
        beginStoring();
        // Its plan is in the rows, which are not checked otherwise.
        return query.explains ? checkedAnswer(exchange, response, query) : response;
      },
      {
        owner: exchange.principal.srn,
        tables,
        sql: sqlOf(query),
        hasDefaultLimit,
        ...(accepted !== undefined && { accepted }),
      },
      signal,
      {
        inspect: (fields, rowCount) => {
          const others = requireExpected(exchange, fields, query);
          // Before the result is visible: its owner could read it until it is deleted, and a deletion may fail.
          requireRows(exchange, rowCount);
          return others;
        },
        ...(onRows !== undefined && { onRows }),
      },
    );
  const outcome = await tracedStoring(trail, submit);
  if (outcome.kind !== 'refused') return outcome;
  const { response } = outcome;
  if (response.status === 401) {
    response.body.destroy();
    throw credentialRefused();
  }
  return { kind: 'refused', response: await checkedAnswer(exchange, response, query) };
}

/** @param submit calls `begin` with each response of the engine, whose rows are stored from then on */
async function tracedStoring<T>({ span }: Trail, submit: (begin: () => void) => Promise<T>): Promise<T> {
  let storing: TraceSpan | undefined;
  const begin = (): void => {
    storing?.end();
    storing = span?.child('store result', 'internal');
  };
  try {
    return await submit(begin);
  } catch (error) {
    storing?.fail(errorType(error));
    throw error;
  } finally {
    storing?.end();
  }
}

/** The text that the engine gets. */
export function sqlOf({ fields }: JudgedQuery): string | undefined {
  return typeof fields['sql'] === 'string' ? fields['sql'] : undefined;
}

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
function requireExpected(exchange: Exchange, fields: readonly RawField[], query: JudgedQuery): readonly TableName[] {
  const { tables: allowed } = query;
  const queried = fields.find(({ name }) => name === 'tablesQueried');
  if (queried === undefined) return [];
  const reported = Buffer.from(`"tablesQueried":${queried.value}`);
  const tables = unexpectedTables(reported, authorizedTables(exchange, { tables: allowed, explains: false }));
  if (tables.length === 0) return respelledTables(reported, allowed);
  exchange.log.error({ tables, allowed }, 'a query read tables that were not authorized');
  throw new UnexpectedTables(tables);
}
