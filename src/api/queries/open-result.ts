import { QueryError } from '../../results/errors.ts';
import type { DeletableResult, PaginatedQueries } from '../../results/submit/paginated-queries.ts';
import type { ResultReader } from '../../results/result-store.ts';
import type { QueryRuns } from '../../results/runs/runs.ts';
import { isActive, type RunStatus } from '../../results/runs/status.ts';
import { traced } from '../../platform/tracing.ts';
import type { RequestContext } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { isOwnerOr } from './access.ts';

export interface ResultDependencies {
  readonly queries: PaginatedQueries;
  readonly runs?: QueryRuns | undefined;
}

/** Until the state of a query is asked for again. */
export const RETRY_AFTER_SECONDS = '1';

/**
 * Opens a stored result. Only callers that may see the state of the query learn why there is no result yet, or none at all.
 * @throws {HttpError} 409 while the query runs, 410 where it failed or was cancelled; {QueryError} not-found, damaged, store-unavailable
 */
export async function openResult(
  requestId: string,
  request: RequestContext,
  { queries, runs }: ResultDependencies,
  signal: AbortSignal,
): Promise<ResultReader> {
  try {
    return await traced(request.trail?.span, 'open result', () => queries.open(requestId, signal));
  } catch (error) {
    if (!(error instanceof QueryError) || error.code !== 'not-found') throw error;
    const status = await runs?.find(requestId, signal);
    if (status === undefined || !isOwnerOr(request, 'GetResponseStore', status.owner)) throw error;
    if (status.state === 'done') return queries.open(requestId, signal);
    if (isActive(status)) {
      throw new HttpError(
        409,
        `the query is ${status.state}: wait until \`GET /query/${requestId}\` has the state \`done\``,
        {
          headers: { 'retry-after': RETRY_AFTER_SECONDS },
        },
      );
    }
    throw withoutResult(status);
  }
}

function withoutResult({ state, error }: RunStatus): HttpError {
  const why = state === 'cancelled' ? 'was cancelled' : `failed${error === undefined ? '' : `: ${error.message}`}`;
  return new HttpError(410, `the query has no result, because it ${why}`);
}

/**
 * A stored result that is to be deleted. A caller that may cancel the query learns that it still waits or runs: its result would be stored later.
 * @throws {HttpError} 409, 410; {QueryError} not-found, store-unavailable
 */
export async function deletableResult(
  requestId: string,
  request: RequestContext,
  { queries, runs }: ResultDependencies,
  signal: AbortSignal,
): Promise<DeletableResult> {
  try {
    return await queries.deletable(requestId, signal);
  } catch (error) {
    if (!(error instanceof QueryError) || error.code !== 'not-found') throw error;
    const status = await runs?.find(requestId, signal);
    if (status === undefined || !isOwnerOr(request, 'DeleteResponseStore', status.owner)) throw error;
    if (status.state === 'done') return queries.deletable(requestId, signal);
    if (!isActive(status)) throw withoutResult(status);
    throw new HttpError(
      409,
      `the query is ${status.state} and has no result yet: cancel it with \`DELETE /query/${requestId}\``,
    );
  }
}
