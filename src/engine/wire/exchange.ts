import type { ResponseHead } from './response-head.ts';

export interface WireRequest {
  readonly method: string;
  /** Path and query string, beginning with `/`. */
  readonly path: string;
  /** Names and values in turn; without `host`, `content-length` and what is about one connection. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | undefined;
  /** Whether it may be sent again where a kept connection ended before any of its answer came. */
  readonly repeatable: boolean;
  /** Of the clock of `performance.now`: when the head of the answer must be there, give or take the pool's tick. */
  readonly deadline: number;
  /** Milliseconds of silence within the body that are borne. */
  readonly bodyTimeoutMs: number;
}

/** What holds the answer back and gives it up. */
export interface WireFlow {
  resume(): void;
  /** Ends the connection, and the exchange with it: it is told of `reason`. */
  destroy(reason: Error): void;
}

/** Takes the answer to one request. None of its functions may throw. */
export interface Exchange {
  readonly request: WireRequest;
  /** What the request is under way on; set by the connection. */
  connection: WireFlow | undefined;
  onHead(head: ResponseHead): void;
  /**
   * @param piece its bytes stay as they are until it is given back by `releasePiece`
   * @returns whether more is borne now; where not, nothing comes until `connection.resume` is called
   */
  onData(piece: Buffer): boolean;
  onEnd(): void;
  /** The deadline has passed, and there is no head: told before the exchange is given up. */
  onDeadline(): void;
  /** In place of `onHead`, or of `onEnd` after it. */
  onError(error: Error): void;
}
