/// <reference types="@fastify/swagger" />
import { REQUEST_ID, CURSOR } from './examples.ts';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { clusterResource } from '../../access/policy/srn.ts';
import { cursorMetadataJson } from '../../results/rows/metadata.ts';
import { requireAllowed } from '../server/context.ts';
import { ErrorBody } from '../server/errors.ts';
import { clientSignal } from '../server/client-signal.ts';
import type { PaginatedQueriesOptions } from './index.ts';
import { CursorMetadata, ForwardHeaders, RequestIdParams, READ_ERRORS } from './schemas.ts';
import { deleteResult, readResult } from './stored-result.ts';

const TAGS = ['paginated queries'];

/**
 * `/responseStore/…`: the paths of Pinot's own cursors, so that its clients work unchanged. They serve the results of the gateway only; pages are
 * served by the data plane.
 */
export function enginePaths(app: FastifyInstance, options: PaginatedQueriesOptions): void {
  const { queries } = options;
  app.get(
    '/responseStore',
    {
      schema: {
        operationId: 'listCursors',
        'x-docs': { ok: 'The metadata of all results.', response: [CURSOR] },
        tags: TAGS,
        summary: 'All stored results, in the form and at the path of Pinot.',
        response: { 200: Type.Array(CursorMetadata), 401: ErrorBody, 403: ErrorBody, 503: ErrorBody },
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'GetResponseStore', clusterResource);
      const results = await queries.list(clientSignal(reply));
      const readable = results.filter(({ damaged }) => damaged === undefined);
      const items = readable.map(({ record }) => cursorMetadataJson(record, queries.holder));
      return reply.type('application/json').send(`[${items.join(',')}]`);
    },
  );
  app.get<{ Params: RequestIdParams }>(
    '/responseStore/:requestId',
    {
      schema: {
        operationId: 'getCursor',
        'x-docs': { ok: 'The metadata of the result.', response: CURSOR },
        tags: TAGS,
        summary: 'Metadata of a stored result, in the form and at the path of Pinot.',
        params: RequestIdParams,
        headers: ForwardHeaders,
        response: { 200: CursorMetadata, ...READ_ERRORS },
      },
    },
    async (request, reply) =>
      readResult(request, reply, options, (record) => cursorMetadataJson(record, queries.holder)),
  );
  app.delete<{ Params: RequestIdParams }>(
    '/responseStore/:requestId',
    {
      schema: {
        operationId: 'deleteCursor',
        'x-docs': { ok: 'The result is deleted.', response: `Query Results for ${REQUEST_ID} deleted.` },
        tags: TAGS,
        summary: 'Deletes a stored result, at the path of Pinot.',
        params: RequestIdParams,
        headers: ForwardHeaders,
        response: {
          200: { description: 'Deleted.', content: { 'text/plain': { schema: Type.String() } } },
          ...READ_ERRORS,
        },
      },
    },
    async (request, reply) => deleteResult(request, reply, options),
  );
}
