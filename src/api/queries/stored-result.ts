import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ResultRecord } from '../../results/result-store.ts';
import { sendResponse } from '../engine/forward.ts';
import { clientSignal } from '../server/client-signal.ts';
import { classOf } from '../server/request/classify.ts';
import { requireDelete, requireRead } from './access.ts';
import type { PaginatedQueriesOptions } from './index.ts';
import { deletableResult, openResult } from './open-result.ts';
import { holderOf } from './peer-routing.ts';
import type { RequestIdParams } from './schemas.ts';

type ResultRequest = FastifyRequest<{ Params: RequestIdParams }>;

/** Responds with what `json` makes of a result that the caller may read, from this gateway or from the one that stores it. */
export async function readResult(
  request: ResultRequest,
  reply: FastifyReply,
  { queries, runs, peers }: PaginatedQueriesOptions,
  json: (record: ResultRecord) => string,
): Promise<FastifyReply> {
  const { requestId } = request.params;
  const signal = clientSignal(reply);
  const holder = await holderOf(request, requestId, peers);
  if (holder !== undefined) return sendResponse(reply, await holder.forward(request, classOf(request.raw), signal));
  const reader = await openResult(requestId, request, { queries, runs: runs?.runs }, signal);
  try {
    requireRead(request, reader.record);
    return await reply.type('application/json').send(json(reader.record));
  } finally {
    await reader.close();
  }
}

/** Deletes a result, on this gateway or on the one that stores it. */
export async function deleteResult(
  request: ResultRequest,
  reply: FastifyReply,
  { queries, runs, peers }: PaginatedQueriesOptions,
): Promise<FastifyReply> {
  const { requestId } = request.params;
  const signal = clientSignal(reply);
  const holder = await holderOf(request, requestId, peers);
  if (holder !== undefined) return sendResponse(reply, await holder.forward(request, classOf(request.raw), signal));
  const record = await deletableResult(requestId, request, { queries, runs: runs?.runs }, signal);
  requireDelete(request, record.owner);
  await queries.delete(record, signal);
  return reply.type('text/plain').send(`Query Results for ${requestId} deleted.`);
}
