import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The client's `X-Request-Id` where it is valid, otherwise a new id. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const value = headers['x-request-id'];
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : randomUUID();
}
