import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { MonotonicClock } from '../../../platform/clock.ts';
import { cutConnection } from '../cut-connection.ts';

/** The request part of an access record. */
export interface AnsweredRequest {
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
}

/** Called for each response with the route pattern and the duration in seconds. */
export type Observe = (method: string, route: string, status: number, seconds: number) => void;

/** The status that nginx logs when the client closes its connection before the response is complete. */
export const CLIENT_CLOSED = 499;

/** The response part of an access record. */
export type AnswerState = Pick<ServerResponse, 'statusCode' | 'headersSent' | 'writableFinished' | 'destroy'>;

const abortStatus = new WeakMap<AnswerState, number>();

/** Cuts the connection before the response is complete. @param status error status for the access record */
export function cutAnswer(response: AnswerState, status: number): void {
  abortStatus.set(response, status);
  cutConnection(response);
}

/** The status of a closed response; undefined if the connection ended before a status was sent. */
export function sentStatus({
  headersSent,
  statusCode,
}: Pick<AnswerState, 'headersSent' | 'statusCode'>): number | undefined {
  return headersSent ? statusCode : undefined;
}

export type AccessLog = (request: AnsweredRequest, response: AnswerState) => void;

/**
 * Creates the access log. Call it once for each request, when its response has closed. Records hold no query string, header or body.
 */
export function accessLog(logger: Logger, clock: MonotonicClock, observe?: Observe): AccessLog {
  return (request, response) => {
    const { id, method, url, route, principal, clientAddress, startedAt } = request;
    const ms = clock.monotonic() - startedAt;
    const cutFor = abortStatus.get(response);
    const aborted = !response.writableFinished && cutFor === undefined;
    observe?.(method, route, cutFor ?? (aborted ? CLIENT_CLOSED : response.statusCode), ms / 1000);
    if (!logger.isLevelEnabled('info')) return;
    const mark = url.indexOf('?');
    logger.info(
      {
        reqId: id,
        method,
        path: mark < 0 ? url : url.slice(0, mark),
        // An aborted response keeps its status if the headers were sent.
        status: aborted && !response.headersSent ? CLIENT_CLOSED : response.statusCode,
        ...(aborted && { aborted }),
        ...(cutFor !== undefined && { cutFor }),
        ms: Math.round(ms * 10) / 10,
        principal,
        clientAddress,
      },
      aborted || cutFor !== undefined ? 'broken off' : 'answered',
    );
  };
}
