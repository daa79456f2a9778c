import { gunzipSync } from 'node:zlib';
import { headerOf } from './headers.ts';
import type { ResponseHead } from './types.ts';

/**
 * A broker that is stopping closes its connections to the servers and its thread pools some time before its own port. In between it responds to queries
 * with errors (observed with 0.11.0 and 1.5.1), while other brokers can still run the same queries.
 */

/** `BrokerRequestSend`: a connection to a server was lost or refused. The cause can also be the server; another broker may then choose another replica. */
const REQUEST_SEND = 425;
/** A task for a thread pool that is shut down; a full pool is `[Running, …`. The message begins with it: other errors may quote names and literals of the query. */
const POOL_SHUT_DOWN =
  /^(?:(?:QueryExecution|QueryPlanning|Unknown)Error:\s*)?(?:java\.util\.concurrent\.RejectedExecutionException:\s*)?Task .*rejected from java\.util\.concurrent\.\w+@\w+\[(?:Shutting down|Terminated)/;
/** `QueryExecution`, and of the multi-stage engine `QueryPlanning` and `Unknown`. */
const OF_POOLS: ReadonlySet<unknown> = new Set([200, 720, 1000]);
/**
 * A service that is being shut down (1.5.1 then responds with 500 and an HTML page), a proxy without a service behind it, or an error outside of the query
 * engine.
 */
const SERVER_ERROR = 500;

/** 1.2 and newer report the code of the first error of a query in this header, and -1 for none. */
const ERROR_CODE = 'x-pinot-error-code';
const EXCEPTIONS = Buffer.from('"exceptions":[');
const OBJECT = '{'.charCodeAt(0);
/** Errors are short texts; a longer body is not one of them. */
const MAX_UNPACKED_BYTES = 1024 * 1024;

interface QueryException {
  readonly errorCode?: unknown;
  readonly message?: unknown;
}

/** Whether the head already excludes that the broker is stopping. */
export function isUsableHead({ status, rawHeaders }: ResponseHead): boolean {
  return status < SERVER_ERROR && headerOf(rawHeaders, ERROR_CODE) === '-1';
}

/** Whether the broker rejects the credential of the gateway, or its access to a table. Older versions respond with 403 to an invalid credential. */
export function isRejection({ status }: ResponseHead): boolean {
  return status === 401 || status === 403;
}

/** Whether a complete response comes from outside of the query engine, so that another broker may have the result. The broker itself may be well. */
export function isServerError({ status, rawHeaders }: ResponseHead): boolean {
  return status >= SERVER_ERROR && headerOf(rawHeaders, ERROR_CODE) === undefined;
}

/** Whether a complete response to a query shows that its broker is stopping or has lost its connection to a server. The result is then incomplete. */
export function isStoppingResponse(head: ResponseHead, chunks: readonly Buffer[]): boolean {
  const code = headerOf(head.rawHeaders, ERROR_CODE);
  if (code === '-1') return false;
  const body = unpacked(head, chunks, code !== undefined);
  if (body === undefined || !hasExceptions(body)) return false;
  const exceptions = exceptionsOf(body);
  return exceptions.some(
    ({ errorCode, message }) =>
      errorCode === REQUEST_SEND ||
      (OF_POOLS.has(errorCode) && typeof message === 'string' && POOL_SHUT_DOWN.test(message)),
  );
}

/** The field is after the rows: the search begins at the end. */
function hasExceptions(body: Buffer): boolean {
  const at = body.lastIndexOf(EXCEPTIONS);
  return at >= 0 && body[at + EXCEPTIONS.length] === OBJECT;
}

/** @param known whether the head reports an error; otherwise compressed bodies are not worth unpacking */
function unpacked(head: ResponseHead, chunks: readonly Buffer[], known: boolean): Buffer | undefined {
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  const coding = headerOf(head.rawHeaders, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity') return body;
  if (coding !== 'gzip' || !known) return undefined;
  try {
    return gunzipSync(body, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch {
    return undefined;
  }
}

function exceptionsOf(body: Buffer): readonly QueryException[] {
  try {
    const { exceptions } = (JSON.parse(body.toString()) ?? {}) as { readonly exceptions?: unknown };
    return Array.isArray(exceptions) ? exceptions.filter((one) => typeof one === 'object' && one !== null) : [];
  } catch {
    return [];
  }
}
