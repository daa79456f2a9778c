import { RESULT_LINKS, STATUS, RUNNING } from './examples.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { QueryRuns } from '../../results/runs/runs.ts';
import { RunWaits } from '../../results/runs/waits.ts';
import { isActive, type RunStatus } from '../../results/runs/status.ts';
import { queriesOf, positionOf, mergedQueries } from '../../results/runs/listing.ts';
import type { ResultStore } from '../../results/result-store.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Damages } from '../../results/rows/damages.ts';
import { FairQueue, type QueueLimits, type QueueMetrics } from '../../platform/fair-queue.ts';
import { systemClock } from '../../platform/clock.ts';
import { admit } from '../server/admission/admit.ts';
import { ErrorBody, HttpError } from '../server/errors.ts';
import { classOf } from '../server/request/classify.ts';
import { sendResponse } from '../engine/forward.ts';
import { clientSignal } from '../server/client-signal.ts';
import { requireDelete, requireStatus } from './access.ts';
import { RETRY_AFTER_SECONDS } from './open-result.ts';
import { queriesOfPeers } from './peer-queries.ts';
import { type Holder, holderOf, type PeerRouting } from './peer-routing.ts';
import { queryStatus, type StatusFields } from './query-status.ts';
import { ForwardHeaders, RequestIdParams, READ_ERRORS } from './schemas.ts';
import { MineQuerystring, MyQueries, QueryStatus, StatusQuerystring } from './status-schemas.ts';

export interface QueryRunRoutes extends StatusFields {
  readonly runs: QueryRuns;
  readonly store: Pick<ResultStore, 'list'>;
  readonly clock: Clock;
  readonly damages?: Pick<Damages, 'of'>;
  /** Default: the limit of listings has no metrics. */
  readonly limits?: QueueMetrics;
  /** How requests reach the gateway that stores the result; absent where each one is handled here. */
  readonly peers?: PeerRouting | undefined;
}

const TAGS = ['paginated queries'];
/** The engine has queries in other languages below `/query/`, such as `/query/timeseries`. */
const ENGINE_METHODS = ['POST'] as const;
const DEFAULT_LIMIT = 100;
/** Each listing may read the whole store. */
const LISTINGS: QueueLimits = {
  name: 'listings-of-queries',
  total: 4,
  perKey: 1,
  maxWaiting: 1_000,
  maxWaitingOfKey: 256,
};

/** Fewer than the connections to another gateway. Others do not wait, and ask again later. */
const FORWARDED_WAITS: QueueLimits = { name: 'forwarded-waits', total: 16, perKey: 4, maxWaiting: 0 };

/** `/query/{requestId}` and `/query/mine`: the states of queries whose results are stored. */
export function queryRuns(app: FastifyInstance, options: QueryRunRoutes): void {
  mine(app, options);
  oneQuery(app, options);
}

/** Forwards a request for the state of a query. Waits occupy connections to the other gateway, of which other requests need some. */
function waitForwarding(): (request: FastifyRequest, reply: FastifyReply, holder: Holder) => Promise<FastifyReply> {
  const places = new FairQueue(FORWARDED_WAITS);
  return async (request, reply, holder) => {
    const target = classOf(request.raw);
    const signal = clientSignal(reply);
    if (!target.parameters.has('wait')) return sendResponse(reply, await holder.forward(request, target, signal));
    const place = places.tryEnter(request.principal.srn);
    const parameters = new URLSearchParams([...target.parameters].filter(([name]) => name !== 'wait'));
    const sent = typeof place === 'string' ? { ...target, parameters } : target;
    try {
      return sendResponse(reply, await holder.forward(request, sent, signal));
    } finally {
      if (typeof place !== 'string') place.release();
    }
  };
}

function oneQuery(app: FastifyInstance, options: QueryRunRoutes): void {
  const { runs, peers, clock } = options;
  const waits = new RunWaits(options);
  const forwardWait = waitForwarding();
  const schema = { tags: TAGS, params: RequestIdParams, headers: ForwardHeaders };
  const response = { 200: QueryStatus, ...READ_ERRORS };
  app.get<{ Params: RequestIdParams; Querystring: StatusQuerystring }>(
    '/query/:requestId',
    {
      config: { methodsElsewhere: ENGINE_METHODS },
      schema: {
        ...schema,
        operationId: 'getQueryStatus',
        'x-docs': { ok: 'The state of the query.', response: STATUS, links: RESULT_LINKS },
        summary: 'The state of a query whose result is stored, from its submission until the result expires.',
        querystring: StatusQuerystring,
        response,
      },
    },
    async (request, reply) => {
      const { requestId } = request.params;
      const signal = clientSignal(reply);
      const holder = await holderOf(request, requestId, peers);
      if (holder !== undefined) return forwardWait(request, reply, holder);
      let status = known(await runs.find(requestId, signal), requestId);
      requireStatus(request, status.owner);
      const { wait } = request.query;
      if (wait !== undefined && isActive(status)) {
        const maxMs = 1_000 * Number.parseInt(wait, 10);
        await waits.untilEnded(requestId, { caller: request.principal.srn, maxMs }, signal);
        status = known(await runs.find(requestId, signal), requestId);
        // The caller may have lost the right meanwhile.
        requireStatus(request, status.owner);
      }
      const shown = queryStatus(status, options, clock.now());
      if (isActive(status)) void reply.header('retry-after', RETRY_AFTER_SECONDS);
      if (shown.nextUrl !== undefined) void reply.header('link', `<${shown.nextUrl}>; rel="next"`);
      return shown;
    },
  );
  app.delete<{ Params: RequestIdParams }>(
    '/query/:requestId',
    {
      config: { methodsElsewhere: ENGINE_METHODS },
      schema: {
        ...schema,
        operationId: 'cancelQuery',
        'x-docs': {
          ok: 'The state of the query afterwards.',
          response: { ...RUNNING, state: 'cancelled', error: { status: 499, message: 'the query was cancelled' } },
          accepted: {
            ok: 'Another gateway runs the query and was asked to cancel it.',
            response: { ...RUNNING, cancelRequested: true },
          },
        },
        summary: 'Cancels a query that waits or runs. One that has ended stays as it is.',
        response: { ...response, 202: QueryStatus },
      },
    },
    async (request, reply) => {
      const { requestId } = request.params;
      const signal = clientSignal(reply);
      const holder = await holderOf(request, requestId, peers);
      if (holder !== undefined) return sendResponse(reply, await holder.forward(request, classOf(request.raw), signal));
      requireDelete(request, known(await runs.find(requestId, signal), requestId).owner);
      const status = known(await runs.cancel(requestId, signal), requestId);
      return reply.status(status.cancelRequested === true ? 202 : 200).send(queryStatus(status, options, clock.now()));
    },
  );
}

function mine(app: FastifyInstance, options: QueryRunRoutes): void {
  const { peers, clock, limits } = options;
  const listings = new FairQueue(LISTINGS, systemClock, limits);
  limits?.watch(listings);
  app.get<{ Querystring: MineQuerystring }>(
    '/query/mine',
    {
      schema: {
        operationId: 'listMyQueries',
        'x-docs': { ok: 'The queries of the caller.', response: { queries: [STATUS] } },
        tags: TAGS,
        summary: "The caller's own queries whose results are stored, in any state, newest first.",
        querystring: MineQuerystring,
        response: { 200: MyQueries, 400: ErrorBody, 401: ErrorBody, 429: ErrorBody, 503: ErrorBody },
      },
    },
    async (request, reply): Promise<MyQueries> => {
      const { limit = DEFAULT_LIMIT, before } = request.query;
      const signal = clientSignal(reply);
      const owner = request.principal.srn;
      const place = await admit(listings, owner, { signal });
      if (reply.raw.destroyed) place.release();
      else reply.raw.once('close', () => place.release());
      const own = await queriesOf(owner, { limit, before }, options, signal);
      const now = clock.now();
      const ofPeers = await queriesOfPeers(request, peers, signal);
      const shown = own.queries.map((status) => queryStatus(status, options, now));
      const isIncomplete = own.isIncomplete || ofPeers.isIncomplete;
      return { ...page([shown, ...ofPeers.lists], limit), ...(isIncomplete && { incomplete: true }) };
    },
  );
}

function page(lists: readonly (readonly QueryStatus[])[], limit: number): MyQueries {
  const merged = mergedQueries(lists, limit);
  const queries = merged.slice(0, limit);
  const last = queries.at(-1);
  const hasMore = merged.length > limit && last !== undefined;
  return { queries, ...(hasMore && { nextParams: `limit=${limit}&before=${positionOf(last)}` }) };
}

function known(status: RunStatus | undefined, requestId: string): RunStatus {
  if (status !== undefined) return status;
  throw new HttpError(404, `no query \`${requestId.slice(0, 64)}\`: never submitted, expired, or deleted`);
}
