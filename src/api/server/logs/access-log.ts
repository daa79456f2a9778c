import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { MonotonicClock } from '../../../platform/clock.ts';
import type { Trail } from '../../../platform/trail.ts';
import { cutConnection } from '../cut-connection.ts';
import { CLIENT_CLOSED } from '../errors.ts';
import { endTrail, pathOf, type RequestTrail, userAgent } from './request-trail.ts';

/** The request part of an access record. */
export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  /** Route pattern, never the path. */
  readonly route: string;
  /** SRN; undefined where the request was not authenticated. */
  readonly principal: string | undefined;
  readonly clientAddress: string;
  /** Monotonic time when the request headers were complete, milliseconds. */
  readonly startedAt: number;
  /** `User-Agent` as received. */
  readonly agent: string | undefined;
  readonly trail: RequestTrail;
}

/** Called for each response with the route pattern and the duration in seconds. */
export type Observe = (method: string, route: string, status: number, seconds: number) => void;

/** The response part of an access record. */
export type ResponseState = Pick<ServerResponse, 'statusCode' | 'headersSent' | 'writableFinished' | 'destroy'>;

const abortStatus = new WeakMap<ResponseState, number>();

/** Cuts the connection before the response is complete. @param status error status for the access record */
export function cutResponse(response: ResponseState, status: number): void {
  abortStatus.set(response, status);
  cutConnection(response);
}

/** The status of a closed response; undefined if the connection ended before a status was sent. */
export function sentStatus({
  headersSent,
  statusCode,
}: Pick<ResponseState, 'headersSent' | 'statusCode'>): number | undefined {
  return headersSent ? statusCode : undefined;
}

export type AccessLog = (request: LoggedRequest, response: ResponseState) => void;

/**
 * Creates the access log. Call it once for each request, when its response has closed. Records hold no query string and no body, and of the headers only
 * `User-Agent`. It also ends the span of the request.
 */
export function accessLog(logger: Logger, clock: MonotonicClock, observe?: Observe): AccessLog {
  return (request, response) => {
    const { id, method, url, route, principal, clientAddress, startedAt, agent } = request;
    const { trail, sentBytes } = request.trail;
    const ms = clock.monotonic() - startedAt;
    const cutFor = abortStatus.get(response);
    const aborted = !response.writableFinished && cutFor === undefined;
    const counted = cutFor ?? (aborted ? CLIENT_CLOSED : response.statusCode);
    observe?.(method, route, counted, ms / 1000);
    endTrail(trail, { method, route, status: counted, principal, clientAddress });
    if (!logger.isLevelEnabled('info')) return;
    logger.info(
      {
        reqId: id,
        method,
        path: pathOf(url),
        // An aborted response keeps its status if the headers were sent.
        status: aborted && !response.headersSent ? CLIENT_CLOSED : response.statusCode,
        ...(aborted && { aborted }),
        ...(cutFor !== undefined && { cutFor }),
        ms: tenths(ms),
        bytes: sentBytes(),
        ...upstreamOf(trail),
        principal,
        clientAddress,
        userAgent: userAgent(agent),
        ...(trail.span !== undefined && { traceId: trail.span.traceId }),
      },
      aborted || cutFor !== undefined ? 'broken off' : 'answered',
    );
  };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** What the request caused at other servers. Absent fields: it caused nothing. */
function upstreamOf({ upstream, upstreamMs, retries, tables, conditions }: Trail): object {
  return {
    ...(upstream !== undefined && { upstream, upstreamMs: tenths(upstreamMs) }),
    ...(retries > 0 && { retries }),
    ...(tables !== undefined && { tables }),
    ...(conditions !== undefined && { conditions }),
  };
}
