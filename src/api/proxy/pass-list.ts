import type { FastifyReply, FastifyRequest } from 'fastify';
import { readBody } from '../../pinot/controller.ts';
import { responseHeaders } from '../../pinot/headers.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import type { FairQueue } from '../../platform/fair-queue.ts';
import { admit } from '../server/admission/admit.ts';
import { credentialRefused, HttpError } from '../server/errors.ts';
import { clientSignal } from '../server/client-signal.ts';
import { addressOf, seesDatabases, visibleTo, type Address, type RewriteResponse } from './lists.ts';

/** Maximum size of lists of tables and of brokers. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** Maximum age of the list of tables by which databases are shown. */
const MAX_TABLES_AGE_MS = 2_000;
/** Reserved for a list before the size of one is known. */
const EXPECTED_BYTES = 64 * 1024;

/** Counts lists against the bytes of responses in memory. Every caller may request lists, and a client may read them slowly. */
export class ListMemory {
  readonly #memory: FairQueue;
  /** The largest list so far, by kind of list: the next one is about as large. */
  readonly #largest = new Map<RewriteResponse, number>();

  constructor(memory: FairQueue) {
    this.#memory = memory;
  }

  /**
   * Reserves memory until the response closes.
   * @returns sets the actual size
   * @throws {HttpError} 503, 499
   */
  async reserve(
    caller: string,
    rewrite: RewriteResponse,
    { raw }: FastifyReply,
    signal: AbortSignal,
  ): Promise<(bytes: number) => void> {
    const lease = await admit(this.#memory, caller, {
      units: this.#largest.get(rewrite) ?? EXPECTED_BYTES,
      signal,
    });
    if (raw.closed) lease.release();
    else raw.once('close', () => lease.release());
    return (bytes) => {
      this.#largest.set(rewrite, Math.max(this.#largest.get(rewrite) ?? EXPECTED_BYTES, bytes));
      lease.resize(bytes);
    };
  }
}

interface ListCall {
  readonly rewrite: RewriteResponse;
  readonly judged: { readonly path: string; readonly headers: Readonly<Record<string, string>> };
}

interface ListOptions {
  readonly engine: Engine & KnownTables;
  readonly brokerAddress?: Address;
}

/** Fetches a list and sends the entries that the caller may see. */
export async function passList(
  request: FastifyRequest,
  reply: FastifyReply,
  { rewrite, judged }: ListCall,
  options: ListOptions,
  memory: ListMemory,
): Promise<FastifyReply> {
  const signal = clientSignal(reply);
  const resize = await memory.reserve(request.principal.srn, rewrite, reply, signal);
  const response = await options.engine.controller.request({
    method: 'GET',
    path: judged.path,
    caller: request.principal.srn,
    // Only an uncompressed list can be filtered.
    headers: { ...judged.headers, 'accept-encoding': 'identity' },
    signal,
    trail: request.trail,
  });
  if (response.status === 401) {
    response.body.destroy();
    throw credentialRefused();
  }
  const bytes = await readBody(response.body, MAX_LIST_BYTES, `\`GET ${judged.path}\` of the engine`);
  resize(bytes.length);
  const headers = responseHeaders(response.headers);
  delete headers['content-length'];
  reply.code(response.status).headers(headers);
  if (response.status !== 200) return reply.send(bytes);
  let list: unknown;
  try {
    list = JSON.parse(bytes.toString());
  } catch (error) {
    throw new HttpError(502, 'the engine returned a list that is not JSON', { cause: error });
  }
  const context = {
    visible: visibleTo(request),
    tables: () => options.engine.currentTables(MAX_TABLES_AGE_MS, signal),
    allDatabases: seesDatabases(request),
    broker: options.brokerAddress ?? addressOf(request),
  };
  return reply.type('application/json').send(JSON.stringify(await rewrite(list, context)));
}
