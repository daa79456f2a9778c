import type { Logger } from 'pino';
import type { AnswerStream } from './front/lane.ts';

/** What an access record tells of a request, beside its answer. */
export interface AnsweredRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  /** The pattern of the route, never the path itself. */
  readonly route: string;
  /** Of the principal; undefined where there was none. */
  readonly principal: string | undefined;
  readonly clientAddress: string;
  /** Of the clock of `performance.now`, when the request's headers were there. */
  readonly startedAt: number;
}

/** Told of each answer: the route's pattern, and how long it took in seconds. */
export type Observe = (method: string, route: string, status: number, seconds: number) => void;

/** As nginx says where a client closed its connection before its answer was out. */
export const CLIENT_CLOSED = 499;

/** What a record needs of an answer. */
export type AnswerState = Pick<AnswerStream, 'statusCode' | 'headersSent' | 'writableFinished' | 'destroy'>;

const cut = new WeakMap<AnswerState, number>();

/** Ends an answer short of its end, so that nobody takes it for a whole one. @param status of why, for the record */
export function cutAnswer(response: AnswerState, status: number): void {
  cut.set(response, status);
  response.destroy();
}

/**
 * Makes what writes one record for each request and counts it, when its answer is out or its client has gone: no query string, no header, no body.
 */
export function accessLog(
  logger: Logger,
  observe?: Observe,
): (request: AnsweredRequest, response: AnswerState) => void {
  return (request, response) => {
    const { id, method, url, route, principal, clientAddress, startedAt } = request;
    const ms = performance.now() - startedAt;
    const cutFor = cut.get(response);
    const aborted = !response.writableFinished && cutFor === undefined;
    observe?.(method, route, cutFor ?? (aborted ? CLIENT_CLOSED : response.statusCode), ms / 1000);
    if (!logger.isLevelEnabled('info')) return;
    const mark = url.indexOf('?');
    logger.info(
      {
        reqId: id,
        method,
        path: mark < 0 ? url : url.slice(0, mark),
        // What was sent of an answer that broke off; nothing of a status where nothing was.
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
