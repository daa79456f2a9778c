import type { Readable } from 'node:stream';

export interface EngineRequest {
  readonly method: string;
  /** Path and query string, beginning with `/`. */
  readonly path: string;
  /** Lower-case names. A credential in here is dropped: the endpoint adds the gateway's own. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** In place of `headers`: names and values in turn, of what goes on to the engine; without credentials and what is about one connection. */
  readonly headerList?: readonly string[];
  readonly body?: string | Uint8Array | Readable;
  readonly signal?: AbortSignal;
  /** Milliseconds until the headers of the answer must be there; the endpoint's default where absent. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds of silence in the body that are borne; the endpoint's default where absent. */
  readonly bodyTimeoutMs?: number;
  /** Whether it may be sent again, elsewhere too, when no answer came. GET and HEAD may by default; a body that is a stream never. */
  readonly repeatable?: boolean;
}

export interface EngineResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Must be read to its end or destroyed. Not decoded: a gzip'ed answer is gzip'ed here. */
  readonly body: Readable;
  /** In place of `body`, for who is done with each piece before it asks for the next. */
  readonly pieces?: AnswerPieces;
  /** Base URL of who answered, where several stand in for each other; absent where answers do not come off a wire. */
  readonly url?: string;
}

/** The bytes of an answer, to be read once. A piece is written over when the next one is asked for. */
export interface AnswerPieces extends AsyncIterable<Uint8Array> {
  /** Gives the rest up; does nothing behind the end. */
  destroy(): unknown;
}

/** What an answer begins with. */
export interface AnswerHead {
  readonly status: number;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
}

/** Takes an answer piece by piece as it comes off the wire. None of its functions may throw. */
export interface AnswerSink {
  /** Told before anything is sent, by each endpoint that is asked: from now on the exchange can be given up. */
  onAsked(flow: AnswerFlow): void;
  /** Told first of the answer, and once. */
  onHeaders(head: AnswerHead): void;
  /**
   * @param chunk its bytes stay as they are until it is given back by `releasePiece`
   * @returns whether more is borne now; where not, nothing comes until `flow.resume` is called
   */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  /** The answer broke off after its headers, by `flow.abort` too. */
  onBroken(error: Error): void;
}

export interface AnswerFlow {
  resume(): void;
  /** Gives the exchange up; once it has headers, the sink is told of `reason` by `onBroken`. */
  abort(reason: Error): void;
}

/** One base URL of the engine: a controller, a broker, a server's admin port. */
export interface EngineEndpoint {
  /** Scheme, host and port, no trailing slash, no credential. */
  readonly url: string;
  /** @throws {EngineError} unreachable, timeout, aborted. An HTTP error status is an answer, not an error. */
  request(request: EngineRequest): Promise<EngineResponse>;
  /**
   * Like `request` for an answer that is only passed on: spares the stream. Settles once the sink was told of the headers. Absent where answers
   * do not come off a wire, as with recorded ones: see `deliver`.
   * @throws {EngineError} as `request`; the sink was told of nothing then
   */
  deliver?(request: EngineRequest, sink: AnswerSink): Promise<void>;
}

export type EngineErrorCode = 'unreachable' | 'timeout' | 'aborted' | 'no-broker' | 'overloaded' | 'bad-answer';

/** A failure to get an answer from the engine. `message` is for people; it holds no credential. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;
  constructor(code: EngineErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
  }
}

/** Everything that olap-warden asks of an Apache Pinot cluster goes through here. */
export interface Engine {
  /** The controller; fails over where several are configured. */
  readonly controller: EngineEndpoint;
  /**
   * A broker that serves all of the tables (raw names), spread over those that do; any broker for an empty list.
   * @throws {EngineError} no-broker, unreachable
   */
  brokerFor(tables: readonly string[], signal?: AbortSignal): Promise<EngineEndpoint>;
  /** The same from what is known here and now; undefined where somebody must be asked, or where there is none. */
  brokerNow?(tables: readonly string[]): EngineEndpoint | undefined;
  /**
   * The very broker of a base URL, with no other in its place; undefined where no broker that is known to be live has it, so that an address from
   * elsewhere is not followed. Absent where brokers have no addresses.
   * @throws {EngineError} where it cannot be told which brokers there are
   */
  brokerAt?(url: string, signal?: AbortSignal): Promise<EngineEndpoint | undefined>;
  /** Any other base URL of the cluster, such as a server's admin port. */
  endpoint(url: string): EngineEndpoint;
  close(): Promise<void>;
}

/** Which tables there are, by the names that the engine itself uses. */
export interface KnownTables {
  /**
   * The tables that the engine may mean by these names: it may compare without case, and old versions ignore a database that they do not know.
   * A name that means nothing is kept as it is, so that a question about it can be asked.
   * @throws {EngineError} where the tables could not be listed even once
   */
  actualTables(names: readonly string[], signal?: AbortSignal): Promise<readonly string[]>;
  /** The same from what is known here and now; undefined where somebody must be asked. */
  actualTablesNow?(names: readonly string[]): readonly string[] | undefined;
}
