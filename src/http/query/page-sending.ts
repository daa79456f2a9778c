import type { Logger } from 'pino';
import type { Principal } from '../../access/principal.ts';
import type { FilePage } from '../../query/file-page.ts';
import type { WholePage } from '../../query/page.ts';
import type { ResultReader } from '../../query/result-store.ts';
import { type AnsweredRequest, type AnswerState, cutAnswer } from '../access-log.ts';
import type { LaneResponse } from '../front/lane.ts';
import { putFilePage, putPage } from './send.ts';

/** Who asks for a page. */
export interface PageCaller {
  readonly principal: Principal;
  readonly address: string;
  /** Of the request. */
  readonly id: string;
  readonly url: string;
}

/** Who is told of pages. */
export interface PageRecords {
  readonly record: (request: AnsweredRequest, response: AnswerState) => void;
  readonly logger: Pick<Logger, 'error'>;
}

const ROUTE = '/query/:requestId/results';
/** For the record of a page whose rows could not be read to their end. */
const BROKEN = 503;

/** One page on its way to its caller, with what must be closed and recorded when it is out or the caller has gone. */
export class PageSending {
  readonly caller: PageCaller;
  /** Of the result, as soon as it is open. */
  reader: ResultReader | undefined;
  readonly #response: LaneResponse;
  readonly #records: PageRecords;
  readonly #startedAt = performance.now();

  constructor(caller: PageCaller, response: LaneResponse, records: PageRecords) {
    this.caller = caller;
    this.#response = response;
    this.#records = records;
    response.once('close', this.#onClosed);
  }

  /** Whether the caller has gone, or has the page. */
  get over(): boolean {
    return this.#response.destroyed;
  }

  /** Whether rows may be left in a file. */
  get sendsFiles(): boolean {
    return this.#response.sendsFiles;
  }

  /** @param headers of every page, names and values in turn: without the request's id and the length */
  send(page: WholePage | FilePage, headers: readonly string[]): void {
    const own = ['x-request-id', this.caller.id, 'content-length', String(page.length)];
    this.#response.writeHeadOf(200, headers, own);
    if ('file' in page.rows) putFilePage(this.#response, page as FilePage, this.#broken);
    else putPage(this.#response, page as WholePage);
  }

  /** Breaks off where something was sent already. @returns whether nothing was, and the request can go another way */
  leave(): boolean {
    if (this.#response.destroyed) return false;
    if (this.#response.headersSent) {
      this.#response.destroy();
      return false;
    }
    this.#response.off('close', this.#onClosed);
    this.#close(true);
    return true;
  }

  /** @param reuse whether nobody holds what was read any more */
  #close(reuse: boolean): void {
    // Nothing was written through it: that it cannot be closed has no consequence that anybody could mend.
    this.reader?.close(reuse).catch(() => undefined);
  }

  readonly #broken = (error: unknown): void => {
    this.#records.logger.error({ err: error, reqId: this.caller.id }, 'the answer broke off while it was sent');
    cutAnswer(this.#response, BROKEN);
  };

  readonly #onClosed = (): void => {
    this.#close(this.#response.writableFinished);
    const { principal, address: clientAddress, id, url } = this.caller;
    const about = { id, method: 'GET', url, route: ROUTE, principal: principal.srn, clientAddress };
    this.#records.record({ ...about, startedAt: this.#startedAt }, this.#response);
  };
}
