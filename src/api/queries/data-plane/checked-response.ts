import { Readable } from 'node:stream';
import { withErrorListener } from '../../../platform/stream-errors.ts';
import type { EngineResponse } from '../../../pinot/types.ts';
import { RowCounter } from '../../engine/row-limit.ts';
import { authorizedTables, TablesGuard } from '../../engine/tables-guard.ts';
import { HttpError, unexplainedFailure } from '../../server/errors.ts';
import type { Exchange } from './exchange.ts';
import type { AuthorizedQuery } from './judge-query.ts';

/**
 * A response that is not stored because of its status. It has rows where the query failed in a part and the caller asked for HTTP statuses, so its
 * tables and rows are checked like those of a query without pages.
 * @throws {HttpError} 403, 400, 502 where a small response is rejected; a large one ends early
 */
export async function checkedResponse(
  exchange: Exchange,
  response: EngineResponse,
  query: Pick<AuthorizedQuery, 'tables' | 'explains'>,
): Promise<EngineResponse> {
  const pieces = checked(exchange, response, query);
  const first = await pieces.next();
  const { status, headers } = response;
  if (first.done === true && status >= 500) throw unexplainedFailure(status);
  // Without `pieces`, the same bytes before they are checked.
  return { status, headers, body: withErrorListener(Readable.from(joined(first, pieces))) };
}

async function* joined(first: IteratorResult<Uint8Array, void>, rest: AsyncGenerator<Uint8Array, void>) {
  if (first.done !== true) yield first.value;
  yield* rest;
}

async function* checked(
  exchange: Exchange,
  { status, headers, body }: EngineResponse,
  query: Pick<AuthorizedQuery, 'tables' | 'explains'>,
): AsyncGenerator<Uint8Array, void> {
  const { maxRows } = exchange;
  const counter = maxRows === undefined ? undefined : new RowCounter(maxRows, status);
  const guard = new TablesGuard(authorizedTables(exchange, query), false, () => undefined);
  try {
    if (String(headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new HttpError(502, 'the engine compressed its response, so its tables and rows cannot be checked');
    }
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const tooMany = counter?.push(chunk);
      if (tooMany !== undefined) throw tooMany;
      yield* guard.push(chunk);
    }
    const { unexpected, rest } = await ended(guard);
    if (unexpected !== undefined) throw unexpected;
    yield* rest;
  } finally {
    body.destroy();
  }
}

function ended(
  guard: TablesGuard,
): Promise<{ readonly unexpected: Error | undefined; readonly rest: readonly Buffer[] }> {
  return new Promise((resolve) => guard.finish((unexpected, rest) => resolve({ unexpected, rest })));
}
