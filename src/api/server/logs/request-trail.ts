import type { IncomingMessage } from 'node:http';
import { redactedStart } from '../../../platform/credentials-in-text.ts';
import { TraceSpan, type Tracing } from '../../../platform/tracing.ts';
import { Trail } from '../../../platform/trail.ts';

const MAX_PATH_LENGTH = 512;
const MAX_AGENT_LENGTH = 256;
/** A client can send other bytes, which mean nothing in a log. */
const UNPRINTABLE = /[^\x20-\x7e]/g;

/** What is recorded of a request: begins with its headers. */
export interface RequestTrail {
  readonly trail: Trail;
  /** Bytes written to the connection since then, those of the response's head included. */
  readonly sentBytes: () => number;
}

/** @param tracing undefined where traces are off */
export function beginTrail(tracing: Tracing | undefined, request: IncomingMessage, id: string): RequestTrail {
  const { socket } = request;
  // Of injected requests there is none.
  const before = (socket as { bytesWritten?: number } | null)?.bytesWritten ?? 0;
  const sentBytes = (): number => Math.max(0, (socket as { bytesWritten?: number } | null)?.bytesWritten ?? 0) - before;
  return { trail: new Trail(tracing === undefined ? undefined : spanOf(tracing, request, id)), sentBytes };
}

function spanOf(tracing: Tracing, { method = '', url = '', headers }: IncomingMessage, id: string): TraceSpan {
  const agent = userAgent(headers['user-agent']);
  return TraceSpan.ofRequest(tracing, method, headers, {
    'http.request.method': method,
    'url.path': redactedStart(pathOf(url), MAX_PATH_LENGTH),
    'olap_warden.request_id': id,
    ...(agent !== undefined && { 'user_agent.original': agent }),
  });
}

/** The path of a request target, without its query string. */
export function pathOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

/** `User-Agent` as it is recorded: printable, limited in length, without credentials; undefined where there is none. */
export function userAgent(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  return redactedStart(value.replaceAll(UNPRINTABLE, '?'), MAX_AGENT_LENGTH);
}

/** How a response ended. */
export interface TrailEnd {
  readonly method: string;
  /** Route pattern. */
  readonly route: string;
  /** As in metrics: 499 where the client has gone. */
  readonly status: number;
  readonly principal: string | undefined;
  readonly clientAddress: string;
}

/** Ends the span of a request. */
export function endTrail(trail: Trail, end: TrailEnd): void {
  const { span } = trail;
  if (span === undefined) return;
  const { tables, conditions } = trail;
  const { method, route, status, principal, clientAddress } = end;
  if (route !== 'none') {
    span.rename(`${method} ${route}`);
    span.set({ 'http.route': route });
  }
  span.set({
    'http.response.status_code': status,
    'client.address': clientAddress,
    ...(principal !== undefined && { 'enduser.id': principal }),
    ...(tables !== undefined && { 'olap_warden.tables': [...tables] }),
    ...(conditions !== undefined && { 'olap_warden.conditions': [...conditions] }),
  });
  // Errors of the caller are not those of the server.
  if (status >= 500) span.fail(String(status));
  span.end();
}
