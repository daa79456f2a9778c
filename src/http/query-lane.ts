import type { Logger } from 'pino';
import type { Authorizer } from '../access/authorizer.ts';
import type { Principal } from '../access/principal.ts';
import { tableResource } from '../access/srn.ts';
import type { Engine, EngineEndpoint, KnownTables } from '../engine/types.ts';
import type { AnsweredRequest, AnswerState } from './access-log.ts';
import type { AuthenticateNow } from './authentication.ts';
import { clientAddress, type Trust } from './front/client-address.ts';
import type { Lane, LaneRequest, LaneResponse } from './front/lane.ts';
import { readLaneHead } from './lane-head.ts';
import { LaneQuery } from './lane-query.ts';
import type { Limits } from './limits.ts';
import { QueryTexts } from './query-texts.ts';
import type { AskedRows } from './row-limit.ts';

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
  readonly record: (request: AnsweredRequest, response: AnswerState) => void;
  /** @param given the client's own */
  readonly requestId: (given: string | undefined) => string;
  /** Whether no more should be taken on now. */
  readonly overloaded: () => boolean;
  /** Whether an address is that of a proxy whose `X-Forwarded-For` is believed; none is where absent. */
  readonly trust: Trust | undefined;
  readonly now: () => Date;
}

interface Asked {
  readonly text: AskedRows;
  readonly tables: readonly string[];
  readonly endpoint: EngineEndpoint;
}

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
export class QueryLane implements Lane {
  readonly #parts: QueryLaneParts;
  readonly #texts = new QueryTexts();

  constructor(parts: QueryLaneParts) {
    this.#parts = parts;
  }

  take(request: LaneRequest, response: LaneResponse): boolean {
    const parts = this.#parts;
    if (request.method !== 'POST' || !PLAIN_URL.test(request.url)) return false;
    const head = readLaneHead(request.rawHeaders);
    const { body } = request;
    if (head === undefined || body.length === 0 || body.length > MAX_BODY_BYTES || parts.overloaded()) return false;
    const address = clientAddress(request, parts.trust);
    const principal = parts.authenticate(head.authorization, address);
    if (principal === undefined) return false;
    const asked = this.#mayAsk(body, principal);
    if (asked === undefined) return false;
    const id = parts.requestId(head.requestId);
    const query = new LaneQuery(request, response, { id, head, principal, address, parts });
    if (!query.admit()) return false;
    if (query.asksForFewEnough(asked.text) && allowsAll(parts.authorizer, principal, asked.tables)) {
      void query.run(asked.tables, asked.endpoint);
      return true;
    }
    query.leave();
    return false;
  }

  /** What a query reads, and of whom to ask it; undefined where its caller may not, or more than a look would be needed. */
  #mayAsk(body: Buffer, principal: Principal): Asked | undefined {
    const { engine, uncounted } = this.#parts;
    const text = this.#texts.read(body);
    const tables = text && engine.actualTablesNow?.(text.tables);
    if (text === undefined || tables === undefined || !allowsAll(uncounted, principal, tables)) return undefined;
    const endpoint = engine.brokerNow?.(tables);
    return endpoint && { text, tables, endpoint };
  }
}

function allowsAll(authorizer: Authorizer, principal: Principal, tables: readonly string[]): boolean {
  return tables.every((table) => authorizer.isAllowed(principal, 'Query', tableResource(table)));
}
