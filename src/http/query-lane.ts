import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import type { Logger } from 'pino';
import type { Authorizer } from '../access/authorizer.ts';
import type { Principal } from '../access/principal.ts';
import { tableResource } from '../access/srn.ts';
import type { Engine, KnownTables } from '../engine/types.ts';
import type { AnsweredRequest } from './access-log.ts';
import type { AuthenticateNow } from './authentication.ts';
import { readLaneHead } from './lane-head.ts';
import { LaneQuery } from './lane-query.ts';
import type { Limits } from './limits.ts';
import { QueryTexts } from './query-texts.ts';
import { replay } from './replay.ts';

export interface QueryLaneParts {
  readonly engine: Engine & KnownTables;
  readonly authenticate: AuthenticateNow;
  readonly authorizer: Authorizer;
  /** The same without counting what it is asked: where it says no, the long way asks once more. */
  readonly uncounted: Authorizer;
  readonly limits: Limits | undefined;
  /** Those that every answer has, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same as names and values in turn. */
  readonly headerList: readonly string[];
  readonly logger: Logger;
  readonly record: (request: AnsweredRequest, response: ServerResponse) => void;
  /** @param given the client's own */
  readonly requestId: (given: string | undefined) => string;
  /** Whether no more should be taken on now. */
  readonly overloaded: () => boolean;
  /** Whether an address is that of a proxy whose `X-Forwarded-For` is believed; none is where absent. */
  readonly trust: ((address: string, hop: number) => boolean) | undefined;
  readonly now: () => Date;
}

type LongWay = (request: IncomingMessage, response: ServerResponse) => void;

/** Nothing to decode, and no parameter of the gateway's own. */
const PLAIN_URL = /^\/query\/sql(?:\?(?!(?:.*&)?(?:doPaginate|getCursor|numRows)=)\w+=[\w.-]*(?:&\w+=[\w.-]*)*)?$/;
const MAX_BODY_BYTES = 1024 * 1024;
/**
 * The short way of `POST /query/sql` without pagination, past the framework: most requests are one, and what a framework does for any request costs
 * more than to check this one and pass it on.
 *
 * It only ever says yes. All checks are those of the long way, made by the same parts; where one of them does not say yes at once, or the
 * request is in any way unusual, the request goes the long way from its beginning, which decides, answers and leaves records.
 */
export class QueryLane {
  readonly #parts: QueryLaneParts;
  readonly #texts = new QueryTexts();

  constructor(parts: QueryLaneParts) {
    this.#parts = parts;
  }

  /** Puts the lane before what listens to the requests of a server. */
  install(server: Server): void {
    const [longWay] = server.listeners('request') as LongWay[];
    if (longWay === undefined) throw new TypeError('the server has no listener of requests');
    server.removeListener('request', longWay);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (!server.listening || !this.#take(request, response, longWay)) longWay(request, response);
    });
  }

  /** @returns false where the request must go the long way; it is untouched then */
  #take(request: IncomingMessage, response: ServerResponse, longWay: LongWay): boolean {
    const parts = this.#parts;
    if (request.method !== 'POST' || !PLAIN_URL.test(request.url ?? '')) return false;
    const head = readLaneHead(request.rawHeaders);
    if (head === undefined || !isPlainLength(head.contentLength) || parts.overloaded()) return false;
    const { trust } = parts;
    const address = trust === undefined ? (request.socket.remoteAddress ?? '') : proxyAddr(request, trust);
    const principal = parts.authenticate(head.authorization, address);
    if (principal === undefined) return false;
    const query = new LaneQuery(request, response, {
      id: parts.requestId(head.requestId),
      head,
      principal,
      address,
      parts,
    });
    if (!query.admit()) return false;
    collect(request, head.contentLength, (body) => {
      const text = this.#texts.read(body);
      const tables = text && parts.engine.actualTablesNow?.(text.tables);
      const mayRead = tables !== undefined && allowsAll(parts.uncounted, principal, tables);
      const endpoint = mayRead ? parts.engine.brokerNow?.(tables) : undefined;
      if (
        text &&
        tables &&
        endpoint &&
        query.asksForFewEnough(text) &&
        allowsAll(parts.authorizer, principal, tables)
      ) {
        return void query.run(body, tables, endpoint);
      }
      query.leave();
      replay(request, response, body, longWay);
    });
    return true;
  }
}

function isPlainLength(bytes: number): boolean {
  return bytes > 0 && bytes <= MAX_BODY_BYTES;
}

function allowsAll(authorizer: Authorizer, principal: Principal, tables: readonly string[]): boolean {
  return tables.every((table) => authorizer.isAllowed(principal, 'Query', tableResource(table)));
}

/**
 * Reads a body of a length that the server holds the client to. One that breaks off is told of by the end of the response alone.
 * @param length in bytes, above 0
 */
function collect(request: IncomingMessage, length: number, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size === length) done(chunks.length === 1 ? chunk : Buffer.concat(chunks));
  });
}
