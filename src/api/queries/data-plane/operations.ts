import { PAGE, SUBMIT } from '../examples.ts';
import { Type } from 'typebox';
import type { Operation } from '../../server/operation.ts';
import { ErrorBody } from '../../server/errors.ts';
import {
  CursorResponse,
  ForwardHeaders,
  QueryResponse,
  READ_ERRORS,
  RequestIdParams,
  ResultLinks,
  ResultsQuerystring,
  SqlBody,
  SqlQuerystring,
  SubmitHeaders,
  SubmitQuerystring,
} from '../schemas.ts';
import { QueryStatus } from '../status-schemas.ts';

const text = (example: string): object => ({ schema: Type.String(), example });
const DOWNLOADS = {
  'application/x-ndjson': text('["Oslo",42]\n'),
  'text/csv': text('city,orders\r\nOslo,42\r\n'),
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
  409: ErrorBody,
  422: ErrorBody,
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
  206: { description: 'A part of a download.', content: DOWNLOADS },
  304: Type.Null({ description: 'The download is that of `If-None-Match`.' }),
  ...READ_ERRORS,
  412: ErrorBody,
  416: ErrorBody,
};

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'POST',
    url: '/query/sql',
    schema: {
      operationId: 'submitQuery',
      'x-docs': { ...SUBMIT, request: { sql: 'SELECT city, count(*) AS orders FROM orders GROUP BY city LIMIT 10' } },
      tags: TAGS,
      summary: 'Runs a query. With `doPaginate=true`, stores its whole result and returns the first page.',
      headers: SubmitHeaders,
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
      'x-docs': SUBMIT,
      tags: TAGS,
      summary: 'Runs a query from the query string, like POST.',
      headers: SubmitHeaders,
      querystring: SqlQuerystring,
      response: SUBMIT_RESPONSES,
    },
  },
  {
    method: 'GET',
    url: '/query/:requestId/results',
    schema: {
      operationId: 'getQueryResults',
      'x-docs': { ok: 'One page of the result.', response: PAGE },
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
      'x-docs': { ok: 'One page of the result.', response: PAGE },
      tags: TAGS,
      summary: 'Like `getQueryResults`, at the path of Pinot. The default of `offset` is 0.',
      params: RequestIdParams,
      headers: ForwardHeaders,
      querystring: ResultsQuerystring,
      response: ROWS_RESPONSES,
    },
  },
];
