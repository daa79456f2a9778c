import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { HttpError } from '../../server/errors.ts';
import { openResult } from '../open-result.ts';
import { requireRead, requireStatus } from '../access.ts';
import { acceptQuery, sendStatus } from './accept.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';
import type { AuthorizedQuery, JudgedQuery } from './judge-query.ts';
import { sendFirstPage, submitQuery } from './submit.ts';

/** 1 to 255 visible characters of ASCII, with spaces between them: one value of the header as RFC 8941 and the clients without quotes write it. */
const KEY = /^[!-~](?:[ -~]{0,253}[!-~])?$/;

/**
 * Submits an authorized query. With an `Idempotency-Key` it is submitted once: a repeated request gets the result or the state of the first one.
 * @throws {QueryError} key-reused, key-busy; and as `submitQuery` and `acceptQuery`
 */
export async function submitOnce(
  exchange: Exchange,
  query: AuthorizedQuery,
  judged: JudgedQuery,
  key: string | undefined,
  dependencies: DataPlaneDependencies,
): Promise<void> {
  const submit = query.paging.async === true ? acceptQuery : submitQuery;
  const { keys } = dependencies;
  if (key === undefined || keys === undefined) return submit(exchange, query, dependencies);
  const owner = exchange.principal.srn;
  const claim = await keys.claim({ owner, key, fingerprint: fingerprintOf(judged) }, exchange.signal);
  if (claim.kind === 'known') return repeat(exchange, query, claim.requestId, dependencies);
  try {
    await submit(exchange, query, dependencies, claim.requestId);
  } finally {
    await claim.end();
  }
}

/** Responds to a repeated request as to the first one. */
async function repeat(
  exchange: Exchange,
  query: AuthorizedQuery,
  requestId: string,
  dependencies: DataPlaneDependencies,
): Promise<void> {
  const { signal } = exchange;
  if (query.paging.async === true) {
    const status = await dependencies.runs?.find(requestId, signal);
    // Deleted since it was found.
    if (status === undefined) throw new HttpError(404, `no query \`${requestId}\`: expired or deleted`);
    requireStatus(exchange, status.owner);
    return sendStatus(exchange, status, dependencies);
  }
  const reader = await openResult(requestId, exchange, dependencies, signal);
  let sent = false;
  try {
    requireRead(exchange, reader.record);
    sent = await sendFirstPage(exchange, reader, query, dependencies);
  } finally {
    await reader.close(sent);
  }
}

/** The `Idempotency-Key` of a query. @throws {HttpError} 400 if it is malformed, also for a query that has no use for it */
export function keyIn({ 'idempotency-key': key }: IncomingHttpHeaders): string | undefined {
  if (key === undefined) return undefined;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new HttpError(
    400,
    'the header `Idempotency-Key` must have 1 to 255 visible ASCII characters, such as a UUID: `Idempotency-Key: 8e03978e-40d5-43e8-bc93-6894a57f9324`',
  );
}

/** What makes the query another one. The size of the first page and the choice of the broker do not. */
function fingerprintOf({ path, database, read: { query, paging } }: JudgedQuery): string {
  const { sql, queryOptions, trace, debugOptions } = query;
  const parts = [path.path, database, sql, queryOptions, String(trace ?? false), debugOptions, paging.async === true];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
