import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authentication } from '../../server/authentication/authentication.ts';
import type { RequestClass, RequestKind } from '../../server/request/classify.ts';
import type { JsonLimits } from '../../server/bodies/json-bodies.ts';
import { acceptQuery } from './accept.ts';
import type { Admission } from '../../server/admission/admission.ts';
import { countRequest, type Limits } from '../../server/admission/callers.ts';
import { Exchange, type ExchangeParts } from './exchange.ts';
import { JudgedTexts } from './judged-texts.ts';
import { sendResultPage } from './page.ts';
import type { DataPlaneParts } from './parts.ts';
import { passQuery } from './pass.ts';
import { type QueryReading, readQuery } from './query.ts';
import { submitQuery } from './submit.ts';

/** Checks that every request passes before it is served. */
export interface Checks {
  readonly authentication: Authentication;
  readonly limits: Limits | undefined;
  readonly admission: Pick<Admission, 'countCaller'>;
  /** Maximum bytes of a request body. */
  readonly bodyBytes: number;
  readonly json: JsonLimits;
}

const PAGE_ROUTE = '/query/:requestId/results';
const CURSOR_ROUTE = '/responseStore/:requestId/results';

/** Whether the data plane serves requests of this kind. */
export function isData(kind: RequestKind): boolean {
  return kind === 'submit' || kind === 'pass' || kind === 'page';
}

/** Serves queries and pages with plain Node handlers, without fastify. */
export class DataPlane {
  readonly #parts: DataPlaneParts;
  readonly #checks: Checks;
  readonly #exchange: ExchangeParts;
  readonly #reading: QueryReading;

  constructor(parts: DataPlaneParts, checks: Checks, exchange: ExchangeParts) {
    this.#parts = parts;
    this.#checks = checks;
    this.#exchange = exchange;
    const { bodyBytes, json } = checks;
    const { engine, memory, sqlLimits } = parts;
    this.#reading = { engine, memory, texts: new JudgedTexts(sqlLimits), bodyBytes, json };
  }

  /** Serves a request for which `isData` holds. */
  serve(request: IncomingMessage, response: ServerResponse, requestClass: RequestClass): void {
    const { sql, segments } = requestClass;
    const route = sql?.path ?? (segments[0] === 'query' ? PAGE_ROUTE : CURSOR_ROUTE);
    const exchange = new Exchange(request, response, route, this.#exchange);
    this.#run(exchange, requestClass).catch((error: unknown) => exchange.fail(error));
  }

  async #run(exchange: Exchange, requestClass: RequestClass): Promise<void> {
    const { authentication, limits, admission } = this.#checks;
    await authentication.authenticate(exchange);
    admission.countCaller(exchange.request, exchange.principal.srn);
    if (limits !== undefined) countRequest(limits, exchange, requestClass.kind, (call) => exchange.onQueryEnded(call));
    const { sql } = requestClass;
    if (sql === undefined) return sendResultPage(exchange, requestClass, this.#parts);
    const query = await readQuery(exchange, { ...requestClass, sql }, this.#reading);
    if (requestClass.kind !== 'submit') return passQuery(exchange, query, this.#parts);
    return query.paging.async === true
      ? acceptQuery(exchange, query, this.#parts)
      : submitQuery(exchange, query, this.#parts);
  }
}
