import { type Static, Type, type TSchema } from 'typebox';
import type { Operation } from '../../server/operation.ts';
import { validatorCompiler } from '../../server/app-validation.ts';
import { singleParameters } from '../../server/request/target.ts';
import { NoQuerystring } from '../../server/request/known-parameters.ts';
import { ErrorBody, HttpError } from '../../server/errors.ts';
import {
  CursorResponse,
  ForwardHeaders,
  PageQuerystring,
  QueryResponse,
  READ_ERRORS,
  RequestIdParams,
  ResultLinks,
  ResultsQuerystring,
  SqlBody,
  SqlQuerystring,
  SqlTextQuerystring,
  SubmitQuerystring,
} from '../schemas.ts';
import { QueryStatus } from '../status-schemas.ts';

const text = (example: string): object => ({ schema: Type.String(), example });
const PARTS = {
  'application/x-ndjson': text('["Oslo",42]\n'),
  'text/csv': text('city,orders\r\nOslo,42\r\n'),
};
const DOWNLOADS = {
  ...PARTS,
  'application/vnd.apache.arrow.stream': text('(binary)'),
  'application/vnd.apache.parquet': text('(binary)'),
};

const TAGS = ['paginated queries'];

const SUBMIT_RESPONSES = {
  200: Type.Union([CursorResponse, QueryResponse]),
  202: QueryStatus,
  400: ErrorBody,
  401: ErrorBody,
  403: ErrorBody,
  429: ErrorBody,
  501: ErrorBody,
  502: ErrorBody,
  503: ErrorBody,
  504: ErrorBody,
  507: ErrorBody,
};

/** Of a page or a download, at the path of the gateway and at that of Pinot. */
const ROWS_RESPONSES = {
  200: {
    description: 'One page, a download, or links.',
    content: {
      'application/json': { schema: Type.Union([CursorResponse, ResultLinks]) },
      ...DOWNLOADS,
    },
  },
  206: { description: 'A part of a download of JSON lines or CSV.', content: PARTS },
  ...READ_ERRORS,
  416: ErrorBody,
};

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'POST',
    url: '/query/sql',
    schema: {
      operationId: 'submitQuery',
      tags: TAGS,
      summary: 'Runs a query. With `doPaginate=true`, stores its whole result and returns the first page.',
      querystring: SubmitQuerystring,
      body: SqlBody,
      response: SUBMIT_RESPONSES,
    },
  },
  {
    method: 'GET',
    url: '/query/sql',
    schema: {
      operationId: 'submitQueryByGet',
      tags: TAGS,
      summary: 'Runs a query from the query string, like POST.',
      querystring: SqlQuerystring,
      response: SUBMIT_RESPONSES,
    },
  },
  {
    method: 'GET',
    url: '/query/:requestId/results',
    schema: {
      operationId: 'getQueryResults',
      tags: TAGS,
      summary: 'One page of a stored result, or a download of its rows as JSON lines, CSV, Arrow or Parquet.',
      params: RequestIdParams,
      headers: ForwardHeaders,
      querystring: ResultsQuerystring,
      response: ROWS_RESPONSES,
    },
  },
  {
    method: 'GET',
    url: '/responseStore/:requestId/results',
    schema: {
      operationId: 'getCursorResults',
      tags: TAGS,
      summary: 'Like `getQueryResults`, at the path of Pinot. The default of `offset` is 0.',
      params: RequestIdParams,
      headers: ForwardHeaders,
      querystring: ResultsQuerystring,
      response: ROWS_RESPONSES,
    },
  },
];

type Validate = (data: unknown) => { value?: unknown; error?: Error };

/** Validates data against the schema that the OpenAPI document has. @throws {RequestValidationError} 400 */
function reader<S extends TSchema>(
  schema: S,
  httpPart: 'body' | 'querystring' | 'params',
): (data: unknown) => Static<S> {
  let validate: Validate | undefined;
  return (data) => {
    // Compiled on first use to shorten startup.
    validate ??= validatorCompiler({ schema, httpPart, method: '', url: '' }) as Validate;
    const { value, error } = validate(data);
    if (error !== undefined) throw error;
    return value as Static<S>;
  };
}

function parameterReader<S extends TSchema>(schema: S): (parameters: URLSearchParams) => Static<S> {
  const read = reader(schema, 'querystring');
  return (parameters) => read(singleParameters(parameters));
}

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

export const readPaging = parameterReader(SubmitQuerystring);
export const readNoParameters = parameterReader(NoQuerystring);
export const readPagedText = parameterReader(SqlQuerystring);
export const readText = parameterReader(SqlTextQuerystring);
export const readPageParameters = parameterReader(PageQuerystring);
export const readResultsParameters = parameterReader(ResultsQuerystring);
export const readRequestId = reader(RequestIdParams, 'params');
export const readSqlBody = reader(SqlBody, 'body');

/** Maximum texts of one request. The limits of a text apply to each of them. */
const MAX_VALIDATED_TEXTS = 100;
const { sql, ...otherFields } = SqlBody.properties;
const readTexts = reader(
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
export function readValidationBody(body: unknown): WrittenQuery {
  const query = readTexts(body);
  if (query.sql === undefined && query.sqls === undefined) {
    throw new HttpError(400, 'the body must have the field `sql`, or a list of texts in `sqls`');
  }
  return query;
}
