/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { clusterResource } from '../../access/srn.ts';
import { listingItem, metadataJson } from '../../query/metadata.ts';
import { requireAllowed } from '../context.ts';
import { ErrorBody } from '../errors.ts';
import { clientSignal } from '../forward.ts';
import { requireDelete, requireRead } from './access.ts';
import { gatewayIdentity, passedOn, type PeerRouting } from './peer-routing.ts';
import { asHttpError } from './query-errors.ts';
import {
  CursorResponse,
  ForwardHeaders,
  PageQuerystring,
  QueryMetadata,
  RequestIdParams,
  ResultStoreUsage,
  SqlBody,
  SqlQuerystring,
  StoredResultListing,
  SubmitQuerystring,
} from './schemas.ts';
import { sendPage } from './send.ts';
import { keepRawJson } from './sql-body.ts';
import { runSql, type SubmitOptions } from './submit.ts';

export interface PaginatedQueriesOptions extends SubmitOptions {
  /** The other gateways; absent where there are none. */
  readonly peers?: PeerRouting;
}

const TAGS = ['paginated queries'];
/** Those of the engine, too, which may keep the result. */
const READ_ERRORS = {
  400: ErrorBody,
  401: ErrorBody,
  403: ErrorBody,
  404: ErrorBody,
  501: ErrorBody,
  502: ErrorBody,
  503: ErrorBody,
  504: ErrorBody,
};

/** `/query/…`: submission, pages, metadata, listing and deletion of stored results; queries without pagination pass through. */
export async function paginatedQueries(app: FastifyInstance, options: PaginatedQueriesOptions): Promise<void> {
  keepRawJson(app);
  app.setErrorHandler((error) => {
    throw asHttpError(error);
  });
  gatewayIdentity(app, options.queries.brokerId);
  submission(app, options);
  reading(app, options);
  administration(app, options);
}

function submission(app: FastifyInstance, options: PaginatedQueriesOptions): void {
  const responses = {
    response: {
      200: CursorResponse,
      400: ErrorBody,
      401: ErrorBody,
      403: ErrorBody,
      501: ErrorBody,
      502: ErrorBody,
      503: ErrorBody,
      504: ErrorBody,
      507: ErrorBody,
    },
  };
  app.post<{ Body: { sql: string }; Querystring: SubmitQuerystring }>(
    '/query/sql',
    {
      schema: {
        operationId: 'submitQuery',
        tags: TAGS,
        summary: 'Runs a query; with `doPaginate=true` stores its whole result and answers the first page.',
        querystring: SubmitQuerystring,
        body: SqlBody,
        ...responses,
      },
    },
    (request, reply) => runSql(request, reply, options),
  );
  app.get<{ Querystring: SqlQuerystring }>(
    '/query/sql',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'submitQueryByGet',
        tags: TAGS,
        summary: 'The same with the query in the address.',
        querystring: SqlQuerystring,
        ...responses,
      },
    },
    (request, reply) => runSql(request, reply, options),
  );
}

function reading(app: FastifyInstance, options: PaginatedQueriesOptions): void {
  const { queries, settings, peers } = options;
  app.get<{ Params: RequestIdParams; Querystring: PageQuerystring }>(
    '/query/:requestId/results',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'getQueryResults',
        tags: TAGS,
        summary: 'One page of a stored result.',
        params: RequestIdParams,
        headers: ForwardHeaders,
        querystring: PageQuerystring,
        response: { 200: CursorResponse, ...READ_ERRORS },
      },
    },
    async (request, reply) => {
      if (await passedOn(request, reply, peers)) return reply;
      const signal = clientSignal(reply);
      const reader = await queries.open(request.params.requestId, signal);
      let sent = false;
      try {
        requireRead(request, reader.record);
        const { pageSize, maxPageSize } = settings();
        const numRows = Math.min(request.query.numRows ?? pageSize, maxPageSize);
        sent = await sendPage(reply, await queries.page(reader, { offset: request.query.offset, numRows }, signal));
        return reply;
      } finally {
        await reader.close(sent);
      }
    },
  );
  app.get<{ Params: RequestIdParams }>(
    '/query/:requestId/metadata',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'getQueryMetadata',
        tags: TAGS,
        summary: 'What the engine told about a query beside its rows.',
        params: RequestIdParams,
        headers: ForwardHeaders,
        response: { 200: Type.Array(QueryMetadata), ...READ_ERRORS },
      },
    },
    async (request, reply) => {
      if (await passedOn(request, reply, peers)) return reply;
      const signal = clientSignal(reply);
      const reader = await queries.open(request.params.requestId, signal);
      try {
        requireRead(request, reader.record);
        return await reply.type('application/json').send(metadataJson(await queries.described(reader, signal)));
      } finally {
        await reader.close();
      }
    },
  );
}

function administration(app: FastifyInstance, options: PaginatedQueriesOptions): void {
  const { queries, peers } = options;
  app.get(
    '/query/resultStore',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'listStoredResults',
        tags: TAGS,
        summary: 'Every stored result, in order of submission.',
        response: { 200: StoredResultListing, 401: ErrorBody, 403: ErrorBody, 503: ErrorBody },
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'GetResponseStore', clusterResource);
      const results = await queries.list(clientSignal(reply));
      return { resultMetadataList: results.map(listingItem) };
    },
  );
  app.get(
    '/query/resultStore/usage',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'getResultStoreUsage',
        tags: TAGS,
        summary: 'How much of its quota the results of this gateway take up.',
        response: { 200: ResultStoreUsage, 401: ErrorBody, 403: ErrorBody, 503: ErrorBody },
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'GetResponseStore', clusterResource);
      return queries.usage(clientSignal(reply));
    },
  );
  app.delete<{ Params: RequestIdParams }>(
    '/query/resultStore/:requestId',
    {
      schema: {
        operationId: 'deleteStoredResult',
        tags: TAGS,
        summary: 'Deletes a stored result.',
        params: RequestIdParams,
        headers: ForwardHeaders,
        response: { 200: Type.String(), ...READ_ERRORS },
      },
    },
    async (request, reply) => {
      if (await passedOn(request, reply, peers)) return reply;
      const { requestId } = request.params;
      const signal = clientSignal(reply);
      const record = await queries.recordOf(requestId, signal);
      requireDelete(request, record.owner);
      await queries.delete(record, signal);
      return reply.type('text/plain').send(`Query Results for ${requestId} deleted.`);
    },
  );
}
