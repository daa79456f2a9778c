import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TableName } from '../../../pinot/table-name.ts';
import { TableSchemas } from '../../../pinot/table-schemas.ts';
import type { KnownTables } from '../../../pinot/types.ts';
import { judgedTableNames } from '../../engine/table-names.ts';
import { HttpError } from '../../server/errors.ts';
import { requireReading } from '../../server/reading.ts';
import { databaseOf } from '../../server/request/request-headers.ts';
import type { Authentication } from '../../server/authentication/authentication.ts';
import type { RequestClass, RequestKind } from '../../server/request/classify.ts';
import type { JsonLimits } from '../../server/bodies/read-body.ts';
import { authorizeQuery, logicalTablesOf } from './authorize.ts';
import type { Admission } from '../../server/admission/admission.ts';
import type { Limits } from '../../server/admission/callers.ts';
import { Exchange, type ExchangeDependencies } from './exchange.ts';
import { sendResultPage } from './page.ts';
import type { DataPlaneDependencies } from './dependencies.ts';
import { passQuery } from './pass.ts';
import { type AuthorizedQuery, engineForm, type JudgedQuery, judgeQuery, JudgedTexts } from './judge-query.ts';
import { type BodyLimits, readQuery } from './read-query.ts';
import { keyIn, submitOnce } from './submit-once.ts';

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
  readonly #dependencies: DataPlaneDependencies;
  readonly #checks: Checks;
  readonly #exchange: ExchangeDependencies;
  readonly #bodies: BodyLimits;
  readonly #texts: JudgedTexts;
  readonly #schemas: TableSchemas;

  constructor(dependencies: DataPlaneDependencies, checks: Checks, exchange: ExchangeDependencies) {
    this.#dependencies = dependencies;
    this.#checks = checks;
    this.#exchange = exchange;
    const { bodyBytes, json } = checks;
    this.#bodies = { memory: dependencies.memory, bodyBytes, json };
    this.#texts = new JudgedTexts(dependencies.sqlLimits);
    this.#schemas =
      dependencies.schemas ?? new TableSchemas(dependencies.engine.controller, () => exchange.clock.monotonic());
  }

  /** Serves a request for which `isData` holds. */
  serve(request: IncomingMessage, response: ServerResponse, requestClass: RequestClass): void {
    const { sql, segments } = requestClass;
    const route = sql?.path ?? (segments[0] === 'query' ? PAGE_ROUTE : CURSOR_ROUTE);
    const exchange = new Exchange(request, response, route, this.#exchange);
    this.#run(exchange, requestClass).catch((error: unknown) => exchange.fail(error));
  }

  /** The steps of a request, in order. Each one throws what the client gets. */
  async #run(exchange: Exchange, requestClass: RequestClass): Promise<void> {
    await this.#checks.authentication.authenticate(exchange);
    this.#admit(exchange, requestClass);
    const { sql } = requestClass;
    if (sql === undefined) return sendResultPage(exchange, requestClass, this.#dependencies);
    const key = keyIn(exchange.headers);
    const read = await readQuery(exchange, { ...requestClass, sql }, this.#bodies);
    const judged = await judgeQuery(exchange, sql, read, this.#texts);
    const query = await this.#decide(exchange, judged, requestClass);
    // Each of these asks a broker, guards the response by the authorized tables and rows, and responds.
    if (requestClass.kind !== 'submit') return passQuery(exchange, query, this.#dependencies);
    return submitOnce(exchange, query, judged, key, this.#dependencies);
  }

  /** Counts the connection and the request of the caller. @throws {HttpError} 429 */
  #admit(exchange: Exchange, { kind }: RequestClass): void {
    const { limits, admission } = this.#checks;
    admission.countCaller(exchange.request, exchange.principal.srn);
    limits?.count(exchange, kind, (call) => exchange.onQueryEnded(call));
  }

  /** Authorizes a query on all its tables. @throws {HttpError} 403; 400 for `debugOptions` or `FORWARD_TABLE` that are refused */
  async #decide(exchange: Exchange, judged: JudgedQuery, { kind }: RequestClass): Promise<AuthorizedQuery> {
    const { engine, sqlLimits } = this.#dependencies;
    const schemas = this.#schemas;
    const allowed = await authorizeQuery(exchange, judged, { engine, sqlLimits, schemas });
    const { tables, conditions } = allowed;
    const form = engineForm(exchange, allowed.judged, conditions.length === 0);
    const served = await tableHints(exchange, tables, engine);
    const logicalTables = kind === 'submit' ? await logicalTablesOf(exchange, tables, { engine, schemas }) : [];
    return { ...form, tables, text: judged.sql?.text, conditions, logicalTables, served };
  }
}

const MAX_TABLE_HINTS = 64;

/**
 * The tables of a query, plus those in `FORWARD_TABLE` headers, which the broker must serve, too. Both are authorized in the same way.
 * @throws {HttpError} 400, 403
 */
async function tableHints(
  exchange: Exchange,
  tables: readonly TableName[],
  known: KnownTables,
): Promise<readonly TableName[]> {
  const header = exchange.headers['forward_table'];
  if (header === undefined) return tables;
  const hints = [header]
    .flat()
    .flatMap((value) => value.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (hints.length > MAX_TABLE_HINTS) {
    throw new HttpError(400, `\`FORWARD_TABLE\` names more than ${MAX_TABLE_HINTS} tables`);
  }
  const database = databaseOf(exchange.headers);
  const written = hints.flatMap((name) => judgedTableNames(name, database));
  const named = await known.actualTables(written, exchange.signal, exchange.principal.srn);
  for (const table of named) requireReading(exchange, table, written);
  return [...new Set([...tables, ...named])];
}
