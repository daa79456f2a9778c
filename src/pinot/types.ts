import type { Readable } from 'node:stream';
import type { Trail } from '../platform/trail.ts';
import type { TableName } from './table-name.ts';

export interface EngineRequest {
  readonly method: string;
  /** Path and query string, beginning with `/`. */
  readonly path: string;
  /** Lower-case names. Credentials in here are dropped: the endpoint adds the gateway's own. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Alternative to `headers`: alternating names and values, sent as they are. Must not contain credentials or hop-by-hop headers. */
  readonly headerList?: readonly string[];
  readonly body?: string | Uint8Array | Readable;
  readonly signal?: AbortSignal;
  /** Milliseconds until the response headers must arrive; default: the endpoint's. */
  readonly headersTimeoutMs?: number;
  /** Maximum idle time in the response body, in milliseconds; default: the endpoint's. */
  readonly bodyTimeoutMs?: number;
  /** SRN of the caller on whose behalf the request is: callers take turns in the use of connections. Default: the gateway itself. */
  readonly caller?: string;
  /** Whether the request may be sent again, also to another endpoint, if no response arrived. Default: true for GET and HEAD. Never for a stream body. */
  readonly repeatable?: boolean;
  /** The trace of the client's request that this one serves. */
  readonly trail?: Trail | undefined;
}

export interface EngineResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Must be read to its end or destroyed. The content coding (such as gzip) is not decoded. */
  readonly body: Readable;
  /** Alternative to `body`: the same bytes without a stream. */
  readonly pieces?: ResponsePieces;
  /** Base URL of the endpoint that responded; undefined for recorded responses. */
  readonly url?: string;
}

/** Bytes of a response; can be iterated once. */
export interface ResponsePieces extends AsyncIterable<Uint8Array> {
  /** Discards the remaining bytes; no effect after the end. */
  destroy(): unknown;
}

/** Status and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  /** Alternating names and values as received. */
  readonly rawHeaders: readonly string[];
}

/** Receives a response in chunks as they arrive. Its functions must not throw. */
export interface ResponseSink {
  /** Called before each endpoint is tried. From now on the exchange can be aborted. */
  onAsked(flow: ResponseFlow): void;
  /** Called once, before the body. */
  onHeaders(head: ResponseHead): void;
  /**
   * @returns false to pause: no data comes until `flow.resume` is called, but the response may still end
   */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  /** The response ended early after its headers: an EngineError, or the reason of `flow.abort`. */
  onBroken(error: Error): void;
}

export interface ResponseFlow {
  resume(): void;
  /** Aborts the exchange. After the headers, `onBroken` is called with `reason`. */
  abort(reason: Error): void;
}

/** One base URL of the engine: a controller, a broker or a server's admin port. */
export interface EngineEndpoint {
  /** Scheme, host and port, without trailing slash and credential. */
  readonly url: string;
  /**
   * An HTTP error status is a response, not an error. The body fails with an EngineError (bad-response, timeout, aborted) if the response ends early; that of
   * a query with `unreachable` if the connection to the broker was lost.
   * @throws {EngineError} unreachable, timeout, aborted, overloaded, bad-response
   */
  request(request: EngineRequest): Promise<EngineResponse>;
  /**
   * Like `request`, without a stream: passes the response to the sink. Settles after `sink.onHeaders`. Absent for endpoints without a
   * connection, such as recorded ones: see `deliver` in `delivery.ts`.
   * @throws {EngineError} as `request`; the sink then got no call other than `onAsked`
   */
  deliver?(request: EngineRequest, sink: ResponseSink): Promise<void>;
}

export type EngineErrorCode = 'unreachable' | 'timeout' | 'aborted' | 'no-broker' | 'overloaded' | 'bad-response';

/** A failed request to the engine. `message` is readable text without credentials. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;
  constructor(code: EngineErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
  }
}

/** All requests of olap-warden to a Pinot cluster use this interface. */
export interface Engine {
  /** The controller, with failover if several are configured. */
  readonly controller: EngineEndpoint;
  /**
   * A broker that serves all of the tables, with load balancing; any broker for an empty list.
   * @throws {EngineError} no-broker, unreachable
   */
  brokerFor(tables: readonly TableName[], signal?: AbortSignal): Promise<EngineEndpoint>;
  /** Any other base URL of the cluster, such as a server's admin port. */
  endpoint(url: string): EngineEndpoint;
  close(): Promise<void>;
}

/** The existing tables of all databases, by the engine's own names. */
export interface KnownTables {
  /**
   * Tables that the engine may resolve these names to: it may compare names without case, and versions without databases (before 1.2) ignore an unknown one.
   * A name without a match is returned as it is, and in lower case, so that access to it can still be checked.
   * @param caller SRN of the caller: names that do not exist make the lists be read again, and the rate of this is limited for each caller
   * @throws {EngineError} if the tables of the database of a name were never listed successfully
   */
  actualTables(names: readonly TableName[], signal?: AbortSignal, caller?: string): Promise<readonly TableName[]>;
  /**
   * All tables of all databases.
   * @param maxAgeMs maximum age of the list in milliseconds; 0 to list them now
   * @throws {EngineError} if a database cannot be listed
   */
  currentTables(maxAgeMs: number, signal?: AbortSignal): Promise<readonly TableName[]>;
  /**
   * All tables of all databases as last listed; undefined if they were never listed successfully. Never waits: an old list is
   * refreshed in the background.
   */
  tableNames(): readonly TableName[] | undefined;
  /** Whether the table is a logical one, which consists of others, as last listed. Never waits. */
  isLogical(table: TableName): boolean;
}
