import { Type } from 'typebox';
import type { FairQueue } from '../../../platform/fair-queue.ts';
import type { Turn } from '../../../platform/long-work.ts';
import { type JsonLimits, readJsonBody, withBody } from '../../server/bodies/read-body.ts';
import { HttpError } from '../../server/errors.ts';
import { PAGED_PATHS, type RequestClass, type SqlPath } from '../../server/request/classify.ts';
import { NoQuerystring } from '../../server/request/known-parameters.ts';
import { parameterReader, schemaReader } from '../../server/request/schema-readers.ts';
import { SqlBody, SqlQuerystring, SqlTextQuerystring, SubmitQuerystring } from '../schemas.ts';
import type { Exchange } from './exchange.ts';

/** Paging parameters of a submission. */
export interface Paging {
  readonly doPaginate?: boolean;
  readonly getCursor?: boolean;
  readonly numRows?: number;
  readonly async?: boolean;
}

/** A query as sent by the caller. */
export interface WrittenQuery {
  /** Absent only where `sqls` is present. */
  readonly sql?: string;
  /** Further texts, only to be validated. */
  readonly sqls?: readonly string[];
  readonly queryOptions?: string;
  readonly trace?: boolean | 'true' | 'false';
  readonly debugOptions?: string;
  readonly ignoreCase?: boolean;
}

/** A query as it was read from a request. */
export interface ReadQuery {
  readonly query: WrittenQuery;
  readonly paging: Paging;
  /** For each part of the work for a long text. */
  readonly turn: Turn;
}

/** Limits of the bodies of queries. */
export interface BodyLimits {
  readonly memory: FairQueue;
  /** Maximum bytes of a request body. */
  readonly bodyBytes: number;
  readonly json: JsonLimits;
}

/**
 * Reads the query of a request.
 * @throws {HttpError} 400, 405, 413, 415; {RequestValidationError} 400
 */
export async function readQuery(
  exchange: Exchange,
  requestClass: RequestClass & { readonly sql: SqlPath },
  limits: BodyLimits,
): Promise<ReadQuery> {
  requireMethod(exchange, requestClass.sql);
  const read = await readWritten(exchange, requestClass, limits);
  if (read.paging.async === true && requestClass.kind !== 'submit') {
    throw new HttpError(400, '`async=true` requires `doPaginate=true`: only a stored result can be read later');
  }
  return read;
}

function requireMethod({ method }: Exchange, { methods }: SqlPath): void {
  if ((methods as readonly string[]).includes(method)) return;
  const allow = methods.join(', ');
  throw new HttpError(405, `\`${method}\` is not allowed here: use ${allow}`, { headers: { allow } });
}

async function readWritten(
  exchange: Exchange,
  { sql: { path }, parameters }: RequestClass & { readonly sql: SqlPath },
  { bodyBytes, json, memory }: BodyLimits,
): Promise<ReadQuery> {
  const supportsPaging = PAGED_PATHS.has(path);
  const turnFor = (bytes: number): Turn =>
    exchange.server.work.bodyTurns(exchange.principal.srn, bytes, () => !exchange.isClosed);
  if (exchange.method === 'GET') {
    const turn = turnFor(exchange.url.length);
    await turn();
    if (!supportsPaging) return { query: readText(parameters), paging: {}, turn };
    const query = readPagedText(parameters);
    return { query, paging: query, turn };
  }
  const paging = supportsPaging ? readPaging(parameters) : readNoParameters(parameters);
  const { signal, principal } = exchange;
  const options = { max: bodyBytes, memory, caller: principal.srn, signal };
  return withBody(exchange.request, options, async (bytes) => {
    const turn = turnFor(bytes.length);
    const waits = turn();
    if (waits !== undefined) await waits;
    const body = await readJsonBody(exchange, bytes, json, turn);
    return { query: path === '/validateMultiStageQuery' ? readValidationBody(body) : readSqlBody(body), paging, turn };
  });
}

const readPaging = parameterReader(SubmitQuerystring);
const readNoParameters = parameterReader(NoQuerystring);
const readPagedText = parameterReader(SqlQuerystring);
const readText = parameterReader(SqlTextQuerystring);
const readSqlBody = schemaReader(SqlBody, 'body');

/** Maximum texts of one request. The limits of a text apply to each of them. */
const MAX_VALIDATED_TEXTS = 100;
const { sql, ...otherFields } = SqlBody.properties;
const readTexts = schemaReader(
  Type.Object(
    {
      ...otherFields,
      sql: Type.Optional(sql),
      sqls: Type.Optional(Type.Array(sql, { minItems: 1, maxItems: MAX_VALIDATED_TEXTS })),
      ignoreCase: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  'body',
);

/** Body of `/validateMultiStageQuery`. @throws {RequestValidationError} 400; {HttpError} 400 for a body without a text */
function readValidationBody(body: unknown): WrittenQuery {
  const query = readTexts(body);
  if (query.sql === undefined && query.sqls === undefined) {
    throw new HttpError(400, 'the body must have the field `sql`, or a list of texts in `sqls`');
  }
  return query;
}
