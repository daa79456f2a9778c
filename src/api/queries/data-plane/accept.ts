import type { TableName } from '../../../pinot/table-name.ts';
import type { EngineEndpoint, EngineResponse } from '../../../pinot/types.ts';
import type { Submitted } from '../../../results/submit/submissions.ts';
import type { AsyncQuery, RunEnd, RunHandle } from '../../../results/runs/run.ts';
import { isActive, type RunStatus } from '../../../results/runs/status.ts';
import type { UnstoredResponse } from '../../../results/submit/submit.ts';
import { knownError } from '../../server/app-errors.ts';
import { HttpError } from '../../server/errors.ts';
import { isSameReading } from '../../server/reading.ts';
import { RETRY_AFTER_SECONDS } from '../open-result.ts';
import { queryStatus } from '../query-status.ts';
import { cancellable, cancelQuery } from './cancel.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import { exceptionMessages, shownExceptions, shownResponse } from './failure-message.ts';
import type { AuthorizedQuery } from './judge-query.ts';
import { sendJson } from './send.ts';
import { runSubmission } from './submit.ts';

/** Of the message of a failed query. */
const MAX_MESSAGE_LENGTH = 4_096;
/** Of a response of the engine that is shown. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Accepts an authorized query that then runs without its caller: 202 with its status. @param requestId a new id where absent */
export async function acceptQuery(
  exchange: Exchange,
  query: AuthorizedQuery,
  dependencies: DataPlaneDependencies,
  requestId?: string,
): Promise<void> {
  const { runs } = dependencies;
  if (runs === undefined) throw new HttpError(501, 'this gateway does not run asynchronous queries');
  // Without a caller the limits of its requests would no longer count the query.
  if (exchange.signal.aborted) throw new HttpError(499, 'the client disconnected');
  const endQuery = exchange.detachQuery();
  const status = await runs
    .submit(new AcceptedQuery(exchange, { query, endQuery }, dependencies), requestId)
    .catch((error: unknown) => {
      endQuery();
      throw error;
    });
  sendStatus(exchange, status, dependencies);
}

/** Responds with 202 and the state of an asynchronous query. */
export function sendStatus(exchange: Exchange, status: RunStatus, dependencies: DataPlaneDependencies): void {
  const location = `/query/${status.requestId}`;
  const headers = { location, ...(isActive(status) && { 'retry-after': RETRY_AFTER_SECONDS }) };
  sendJson(exchange, 202, headers, queryStatus(status, dependencies, exchange.now()));
}

/** A query of a request that is answered already. */
class AcceptedQuery implements AsyncQuery {
  readonly owner: string;
  readonly sql: string | undefined;
  readonly tables: readonly TableName[];
  readonly heldBytes: number;
  readonly #exchange: Exchange;
  readonly #dependencies: DataPlaneDependencies;
  readonly #query: AuthorizedQuery;
  readonly #endQuery: () => void;
  #broker: EngineEndpoint | undefined;
  #hasEnded = false;

  constructor(
    exchange: Exchange,
    accepted: { readonly query: AuthorizedQuery; readonly endQuery: () => void },
    dependencies: DataPlaneDependencies,
  ) {
    const { query, endQuery } = accepted;
    this.owner = exchange.principal.srn;
    this.sql = query.text;
    this.tables = query.tables;
    this.heldBytes = JSON.stringify(query.fields).length;
    this.#exchange = exchange;
    this.#dependencies = dependencies;
    this.#query = query;
    this.#endQuery = endQuery;
  }

  isAllowed(): boolean {
    const { principal, server } = this.#exchange;
    // As for a read of the result: `FORWARD_TABLE` only selects the broker.
    return server.authorizer.isActive(principal) && isSameReading(this.#exchange, this.#query);
  }

  async execute(run: RunHandle): Promise<RunEnd> {
    const { requestId, submissionTimeMs, signal, remainingMs } = run;
    const { queryTimeoutMs } = this.#exchange;
    try {
      const outcome = await runSubmission(this.#exchange, cancellable(this.#query, requestId), this.#dependencies, {
        signal,
        // The caller does not wait, so only its limit and that of asynchronous queries apply.
        queryTimeoutMs: Math.min(queryTimeoutMs ?? remainingMs, remainingMs),
        accepted: { requestId, submissionTimeMs },
        onRows: (rows, bytes) => run.onRows(rows, bytes),
        onBroker: (broker) => {
          this.#broker = broker;
        },
        onResponse: () => run.onResponse(),
      });
      return await endOf(outcome);
    } catch (error) {
      const { statusCode: status, message, cause } = knownError(error);
      if (status >= 500 && !signal.aborted)
        this.#exchange.log.error({ err: cause ?? error, requestId }, 'an asynchronous query failed');
      return { kind: 'failed', status, message: message.slice(0, MAX_MESSAGE_LENGTH) };
    }
  }

  async cancelAtEngine(requestId: string): Promise<void> {
    if (this.#broker !== undefined) await cancelQuery(this.#broker, this.#query, requestId);
  }

  onEnd(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#endQuery();
  }
}

async function endOf(outcome: Submitted): Promise<RunEnd> {
  if (outcome.kind === 'stored') {
    const { rowCount, rowBytes, expirationTimeMs, warnings } = outcome.reader.record;
    await outcome.reader.close();
    return { kind: 'stored', rowCount, bytes: rowBytes, expirationTimeMs, warnings };
  }
  return outcome.kind === 'refused' ? refusal(outcome.response) : failure(outcome);
}

/** A response with another status than 200. It is read to its end, because the check of its tables ends there. */
async function refusal({ status, body }: EngineResponse): Promise<RunEnd> {
  try {
    const message = `the engine responded with ${status}: ${await shown(body)}`;
    return { kind: 'failed', status, message: message.slice(0, MAX_MESSAGE_LENGTH) };
  } finally {
    body.destroy();
  }
}

/** A response with exceptions. A synchronous query gets it with 200. */
async function failure(response: UnstoredResponse): Promise<RunEnd> {
  try {
    const exceptions = JSON.parse(response.exceptions) as readonly unknown[];
    const message = `the engine responded with exceptions: ${exceptionMessages(exceptions)}`;
    const shownOnes = shownExceptions(exceptions);
    return { kind: 'failed', status: 200, message: message.slice(0, MAX_MESSAGE_LENGTH), exceptions: shownOnes };
  } finally {
    await response.close();
  }
}

/** A response as the state of a query shows it. */
async function shown(body: AsyncIterable<Uint8Array>): Promise<string> {
  const text = await beginning(body, MAX_ERROR_BYTES);
  return text.length < MAX_ERROR_BYTES
    ? shownResponse(text.toString())
    : `more than ${MAX_ERROR_BYTES} bytes, which are not kept`;
}

/** At most the first `max` bytes. */
async function beginning(body: AsyncIterable<Uint8Array>, max: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    pieces.push(Buffer.from(piece));
    size += piece.length;
    if (size >= max) break;
  }
  return Buffer.concat(pieces).subarray(0, max);
}
