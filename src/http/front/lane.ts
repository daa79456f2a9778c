import type { ServerResponse } from 'node:http';
import type { FileRows } from '../../query/result-store.ts';
import type { FileBodyEnds } from './file-body.ts';

/** A request whose bytes are all there. */
export interface LaneRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, as they came. Requests of one connection whose headers are the same have the same list. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Of the connection; empty where it has gone. */
  readonly remoteAddress: string;
}

/** What is needed of an answer to write it: Node's own response is one, too. */
export interface AnswerStream extends Pick<
  ServerResponse,
  | 'statusCode'
  | 'headersSent'
  | 'destroyed'
  | 'writableEnded'
  | 'writableFinished'
  | 'writableLength'
  | 'writableNeedDrain'
  | 'cork'
  | 'uncork'
> {
  /** @param headers names and values in turn, or by name */
  writeHead(status: number, headers: string[] | Record<string, string | number>): unknown;
  /** @param done called once the system has the bytes, or never will */
  write(chunk: Uint8Array, done?: () => void): boolean;
  end(chunk?: Uint8Array | string, done?: () => void): unknown;
  destroy(error?: Error): unknown;
  /** @param expired told when nothing was read or written for `ms` */
  setTimeout(ms: number, expired: () => void): unknown;
  on(event: 'close' | 'drain' | 'error', listener: () => void): unknown;
  once(event: 'close' | 'drain' | 'error', listener: () => void): unknown;
  off(event: 'close' | 'drain' | 'error', listener: () => void): unknown;
}

/** The answer of a lane. */
export interface LaneResponse extends AnswerStream {
  /**
   * As `writeHead`, by two lists of names and values in turn.
   * @param constant the same list with many answers; made ready once
   */
  writeHeadOf(status: number, constant: readonly string[], own: readonly string[]): unknown;
  /** Whether `writeFile` may be called. */
  readonly sendsFiles: boolean;
  /**
   * Sends bytes of a file behind what was written, together with what was held back by `cork`. The head has told the answer's length. Before `ends.sent` is called nothing more may be written.
   * @throws {TypeError} where files cannot be sent
   */
  writeFile(rows: FileRows, ends: FileBodyEnds): void;
}

/** A short way for requests of one kind. It only ever says yes: where it does not, the request goes the long way from its beginning. */
export interface Lane {
  /**
   * @param longWay called at most once, where nothing was sent; the lane has nothing to do with the request any more then
   * @returns false where the request must go the long way; it is untouched then, and `longWay` is not called
   */
  take(request: LaneRequest, response: LaneResponse, longWay: () => void): boolean;
}
