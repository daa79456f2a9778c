import type { Authorizer } from '../../access/authorizer.ts';
import type { Principal } from '../../access/principal.ts';
import { clusterResource, tableResource } from '../../access/srn.ts';
import type { HolderAddress, PageRequest } from '../../query/page.ts';
import type { PaginatedQueries } from '../../query/paginated-queries.ts';
import type { ResultReader, ResultRecord } from '../../query/result-store.ts';
import type { PaginationSettings } from '../../query/settings.ts';
import type { AuthenticateNow } from '../authentication.ts';
import { clientAddress, type Trust } from '../front/client-address.ts';
import type { Lane, LaneRequest, LaneResponse } from '../front/lane.ts';
import type { Limits } from '../limits.ts';
import { type PageRecords, PageSending } from './page-sending.ts';
import { isWhole } from './send.ts';

/** What the routes of the same queries know. */
export interface PageSource {
  readonly queries: PaginatedQueries;
  readonly settings: () => PaginationSettings;
}

export interface PageLaneParts extends PageSource, PageRecords {
  readonly authenticate: AuthenticateNow;
  readonly authorizer: Authorizer;
  /** The same, but counting nothing: who is refused goes the long way and is counted there. */
  readonly uncounted: Authorizer;
  readonly limits: Limits | undefined;
  /** Those that every answer has, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** @param given the client's own */
  readonly requestId: (given: string | undefined) => string;
  /** Whether no more should be taken on now. */
  readonly overloaded: () => boolean;
  readonly trust: Trust | undefined;
}

interface Asked {
  readonly requestId: string;
  readonly offset: number;
  readonly numRows: number | undefined;
  readonly authorization: string;
  /** `x-request-id` as it was sent. */
  readonly given: string | undefined;
}

/** As `nextOffsetParams` spells it. */
const PAGE_URL =
  /^\/query\/([0-9a-f]{8}-[0-9a-f]{30})\/results\?offset=(0|[1-9]\d{0,14})(?:&numRows=([1-9]\d{0,14}))?$/;
/** Each of these may be there once. */
const LOOKED_AT = ['authorization', 'x-request-id', 'forward_host', 'forward_port'] as const;
const PLACES = new Map<string, number>(LOOKED_AT.map((name, place) => [name, place]));
/** Results that lie here are read from this machine, which nobody can hurry. */
const NEVER = new AbortController().signal;

/**
 * The short way of a page that this gateway holds, past the framework: what a framework does for any request costs more than to read and send a small page.
 *
 * It only ever says yes. All checks are those of the long way, at each read; where one of them does not say yes at once, or the request is in any way
 * unusual, the request goes the long way from its beginning, which decides, answers and leaves records.
 */
export class PageLane implements Lane {
  readonly #parts: PageLaneParts;
  readonly #headers: readonly string[];

  constructor(parts: PageLaneParts) {
    this.#parts = parts;
    this.#headers = [...Object.entries(parts.headers).flat(), 'content-type', 'application/json'];
  }

  take(request: LaneRequest, response: LaneResponse, longWay: () => void): boolean {
    const parts = this.#parts;
    const asked = askedOf(request, parts.queries);
    if (asked === undefined || parts.overloaded()) return false;
    const address = clientAddress(request, parts.trust);
    const principal = parts.authenticate(asked.authorization, address);
    if (principal === undefined) return false;
    const caller = { principal, address, id: parts.requestId(asked.given), url: request.url };
    const sending = new PageSending(caller, response, parts);
    const reader = parts.queries.openNow(asked.requestId);
    if (reader !== undefined) {
      sending.reader = reader;
      // All of this in one turn: what holds for the caller at its beginning holds at its end.
      if (!this.#admits(principal, reader.record)) {
        sending.leave();
        return false;
      }
      if (this.#sendNow(asked, reader, sending)) return true;
    }
    void this.#send(asked, sending).then((sent) => {
      if (!sent && sending.leave()) longWay();
    });
    return true;
  }

  /** @returns false where the rows must be read first; nothing was sent then */
  #sendNow(asked: Asked, reader: ResultReader, sending: PageSending): boolean {
    try {
      const page = this.#parts.queries.pageNow(reader, this.#rangeOf(asked), sending.sendsFiles);
      if (page !== undefined) sending.send(page, this.#headers);
      return page !== undefined;
    } catch {
      // Whoever reads the rows meets the same.
      return false;
    }
  }

  /** @returns false where the page could not be sent, or not to its end; never throws */
  async #send(asked: Asked, sending: PageSending): Promise<boolean> {
    const { queries, limits } = this.#parts;
    const { principal } = sending.caller;
    let admitted = sending.reader !== undefined;
    try {
      const reader = (sending.reader ??= await queries.open(asked.requestId, NEVER));
      admitted ||= this.#admits(principal, reader.record);
      const page = admitted ? await queries.page(reader, this.#rangeOf(asked), NEVER) : undefined;
      if (page !== undefined && isWhole(page) && !sending.over) {
        sending.send(page, this.#headers);
        return true;
      }
    } catch {
      // The long way meets the same, and says so.
    }
    if (admitted) limits?.uncountRequest(principal);
    return false;
  }

  #rangeOf({ offset, numRows }: Asked): PageRequest {
    const { pageSize, maxPageSize } = this.#parts.settings();
    return { offset, numRows: Math.min(numRows ?? pageSize, maxPageSize) };
  }

  /** Whether the caller may read the result and has asked for few enough pages, of which this is one then. */
  #admits(principal: Principal, record: ResultRecord): boolean {
    try {
      if (!this.#mayRead(principal, record)) return false;
      this.#parts.limits?.countRequest(principal);
      return true;
    } catch {
      // The long way meets the same, and says so.
      return false;
    }
  }

  /** As `requireRead`. */
  #mayRead(principal: Principal, record: ResultRecord): boolean {
    const { authorizer, uncounted } = this.#parts;
    const allows = (by: Authorizer): boolean =>
      (record.owner === principal.srn || by.isAllowed(principal, 'GetResponseStore', clusterResource)) &&
      record.tables.every((table) => by.isAllowed(principal, 'Query', tableResource(table)));
    return allows(uncounted) && allows(authorizer);
  }
}

/** @returns undefined where the request is no plain one for a page of a result that lies here */
function askedOf({ method, url, rawHeaders, body }: LaneRequest, queries: PaginatedQueries): Asked | undefined {
  if (method !== 'GET' || body.length > 0) return undefined;
  const [, requestId, offset, numRows] = PAGE_URL.exec(url) ?? [];
  if (requestId === undefined || !queries.holds(requestId)) return undefined;
  const found = headersOf(rawHeaders);
  if (found === undefined) return undefined;
  const [authorization, given, host, port] = found;
  if (authorization === undefined || !isNamed(queries.holder, host, port)) return undefined;
  const rows = numRows === undefined ? undefined : Number(numRows);
  return { requestId, offset: Number(offset), numRows: rows, authorization, given };
}

type Found = readonly (string | undefined)[];

/** Most requests of a connection have the headers of the one before. */
const known = new WeakMap<readonly string[], { readonly found: Found | undefined }>();

/** The values of `LOOKED_AT`; undefined where one is there twice. */
function headersOf(rawHeaders: readonly string[]): Found | undefined {
  let read = known.get(rawHeaders);
  if (read === undefined) known.set(rawHeaders, (read = { found: readHeaders(rawHeaders) }));
  return read.found;
}

function readHeaders(rawHeaders: readonly string[]): Found | undefined {
  const found: (string | undefined)[] = [undefined, undefined, undefined, undefined];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const place = PLACES.get(name);
    if (place === undefined) continue;
    if (found[place] === undefined) found[place] = rawHeaders[i + 1];
    else return undefined;
  }
  return found;
}

/** Whether the caller names this gateway as the holder, or none. */
function isNamed(self: HolderAddress | undefined, host: string | undefined, port: string | undefined): boolean {
  if (host === undefined && port === undefined) return true;
  return self !== undefined && host === self.host && port === String(self.port);
}
