/// <reference types="@fastify/swagger" />
import { REQUEST_ID, METADATA } from './examples.ts';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { clusterResource } from '../../access/policy/srn.ts';
import { listingItem, metadataJson } from '../../results/rows/metadata.ts';
import { requireAllowed } from '../server/context.ts';
import { ErrorBody } from '../server/errors.ts';
import { clientSignal } from '../server/client-signal.ts';
import type { PaginatedQueries } from '../../results/submit/paginated-queries.ts';
import { enginePaths } from './engine-paths.ts';
import { deleteResult, readResult } from './stored-result.ts';
import { queryRuns, type QueryRunRoutes } from './runs.ts';
import { gatewayIdentity, type PeerRouting } from './peer-routing.ts';
import {
  ForwardHeaders,
  QueryMetadata,
  RequestIdParams,
  ResultStoreUsage,
  StoredResultListing,
  READ_ERRORS,
} from './schemas.ts';

export interface PaginatedQueriesOptions {
  readonly queries: PaginatedQueries;
  /** Asynchronous queries and `/query/mine`; their routes do not exist where absent. */
  readonly runs?: Omit<QueryRunRoutes, 'queries' | 'peers'> | undefined;
  /** How requests reach the gateway that stores the result; absent where each one is handled here. */
  readonly peers?: PeerRouting | undefined;
}

const TAGS = ['paginated queries'];
/** `/query/…`: metadata, listing and deletion of stored results. Queries and pages are served by the data plane. */
export async function paginatedQueries(app: FastifyInstance, options: PaginatedQueriesOptions): Promise<void> {
  gatewayIdentity(app, options.queries.brokerId);
  reading(app, options);
  administration(app, options);
  enginePaths(app, options);
  const { runs, queries, peers } = options;
  if (runs !== undefined) queryRuns(app, { ...runs, queries, peers });
}

function reading(app: FastifyInstance, options: PaginatedQueriesOptions): void {
  app.get<{ Params: RequestIdParams }>(
    '/query/:requestId/metadata',
    {
      schema: {
        operationId: 'getQueryMetadata',
        'x-docs': { ok: 'The metadata of the result.', response: [{ ...METADATA, requestId: REQUEST_ID }] },
        tags: TAGS,
        summary: 'Metadata of a stored result: the response of the engine without the rows.',
        params: RequestIdParams,
        headers: ForwardHeaders,
        response: { 200: Type.Array(QueryMetadata), ...READ_ERRORS },
      },
    },
    async (request, reply) => readResult(request, reply, options, metadataJson),
  );
}

function administration(app: FastifyInstance, options: PaginatedQueriesOptions): void {
  const { queries } = options;
  app.get(
    '/query/resultStore',
    {
      schema: {
        operationId: 'listStoredResults',
        'x-docs': {
          ok: 'The stored results that the caller may read.',
          response: {
            resultMetadataList: [
              {
                requestId: REQUEST_ID,
                brokerId: 'olap-warden-gateway-0',
                submissionTimeMs: 1_769_846_400_000,
                expirationTimeMs: 1_769_850_000_000,
                responseMetadata: [
                  { type: 'JSON', numRows: 2, dataFile: 's3://results/a', metadataFile: 's3://results/b' },
                ],
                owner: 'srn2:user#ada@example.com',
                bytes: 2048,
              },
            ],
          },
        },
        tags: TAGS,
        summary: 'All stored results, in order of submission.',
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
      schema: {
        operationId: 'getResultStoreUsage',
        'x-docs': {
          ok: 'The usage of the result store.',
          response: {
            usedBytes: 2048,
            capacityBytes: null,
            cleanerEnabled: true,
            quotaBytes: 10_737_418_240,
            criticalPercent: 90,
            targetPercent: 70,
          },
        },
        tags: TAGS,
        summary: 'Storage used by the results of this gateway, and its limits.',
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
        'x-docs': { ok: 'The result is deleted.', response: `Query Results for ${REQUEST_ID} deleted.` },
        tags: TAGS,
        summary: 'Deletes a stored result.',
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
