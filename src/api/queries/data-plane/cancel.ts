import type { EngineEndpoint } from '../../../pinot/types.ts';
import type { AuthorizedQuery } from './judge-query.ts';

const CLIENT_ID = 'clientQueryId';
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * The query with an id by which the engine can cancel it. Pinot before 1.4 ignores the option. A query with an id of its own keeps it.
 * @param requestId of the result; only characters of ids
 */
export function cancellable(query: AuthorizedQuery, requestId: string): AuthorizedQuery {
  if (namesItself(query)) return query;
  const { queryOptions } = query.fields;
  const option = `${CLIENT_ID}=${requestId}`;
  const options = typeof queryOptions === 'string' ? `${queryOptions};${option}` : option;
  return { ...query, fields: { ...query.fields, queryOptions: options } };
}

/**
 * Asks a broker to cancel the query. Never throws: the broker may be an older version, may not have cancellation enabled
 * (`pinot.broker.enable.query.cancellation`), or the query may have ended.
 */
export async function cancelQuery(broker: EngineEndpoint, query: AuthorizedQuery, requestId: string): Promise<void> {
  if (namesItself(query)) return;
  try {
    const { body } = await broker.request({
      method: 'DELETE',
      path: `/query/${requestId}?client=true&timeoutMs=${CANCEL_TIMEOUT_MS}`,
      headersTimeoutMs: CANCEL_TIMEOUT_MS,
      signal: AbortSignal.timeout(2 * CANCEL_TIMEOUT_MS),
    });
    body.destroy();
  } catch {
    // The connection to the broker is closed already, and the engine's own time-out ends the query.
  }
}

/** Whether the caller named the query: the id may belong to another query, which must not be cancelled. */
function namesItself({ fields }: AuthorizedQuery): boolean {
  return Object.values(fields).some((value) => String(value).toLowerCase().includes(CLIENT_ID.toLowerCase()));
}
