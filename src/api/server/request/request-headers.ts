import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpError } from '../errors.ts';

/** Headers that `Connection` may name, RFC 9110 section 7.6.1. */
const HOP_BY_HOP = /^(?:close|keep-alive|upgrade|te|trailer|transfer-encoding|http2-settings|proxy-[a-z-]+)$/i;
const DATABASE = /^[\w-]{1,128}$/;
/** Headers that must not be repeated: servers differ in which value they use. */
const SINGLE_VALUED = new Set([
  'authorization',
  'content-type',
  'content-encoding',
  'database',
  'host',
  'idempotency-key',
]);

/**
 * Rejects headers that the gateway and the engine could interpret differently.
 * @throws {HttpError} 400, 417
 */
export function checkHeaders({
  headers,
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'httpVersion'>): void {
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new HttpError(400, 'the header `Host` is missing, which HTTP/1.1 requires');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new HttpError(417, 'the header `Expect` may only be `100-continue`');
  }
  checkConnection(headers.connection);
  databaseOf(headers);
  const seen: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!SINGLE_VALUED.has(name)) continue;
    if (seen.includes(name)) throw new HttpError(400, `the header \`${name}\` is given more than once`);
    seen.push(name);
  }
}

function checkConnection(connection: string | undefined): void {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return;
  for (const part of connection.split(',')) {
    const name = part.trim();
    if (name === '' || HOP_BY_HOP.test(name)) continue;
    throw new HttpError(
      400,
      `the header \`Connection\` names \`${name.slice(0, 64)}\`, but may only name hop-by-hop headers such as \`keep-alive\``,
    );
  }
}

/** The database of table names without a database prefix. An empty header names none, as in the engine. @throws {HttpError} 400 for an invalid or repeated name */
export function databaseOf({ database }: IncomingHttpHeaders): string | undefined {
  if (database === undefined || database === '') return undefined;
  if (typeof database === 'string' && DATABASE.test(database)) return database;
  throw new HttpError(
    400,
    'the header `Database` must contain one name of at most 128 letters, digits, `_` and `-`, such as `sales`',
  );
}
