import type { FastifyReply, FastifyRequest } from 'fastify';
import { deliver } from '../engine/delivery.ts';
import { headerList, responseHeaders } from '../engine/headers.ts';
import { AnswerWriter, type AnswerTarget } from './answer-writer.ts';
import './limits.ts';
import type { EngineEndpoint, EngineRequest, EngineResponse } from '../engine/types.ts';

export interface ForwardOptions {
  /** Path and query string to ask for; the request's own where absent. */
  readonly path?: string;
  /** The body to send where the request's own was read already; a stream of the request's own body where absent. */
  readonly body?: EngineRequest['body'];
  /** Whether the engine may be asked again elsewhere when no answer came: true for queries, which only read. */
  readonly repeatable?: boolean;
  readonly headersTimeoutMs?: number;
  /**
   * The tables that the query may read: where the answer names others it is broken off, or refused when nothing was sent yet,
   * and logged as a defect. Not looked at where absent.
   */
  readonly allowedTables?: readonly string[];
}

/** Aborts when the client goes away before its answer was sent in full. */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { raw } = reply;
  const gone = () => {
    // An answer that was ended is on its way, whatever becomes of the connection.
    if (!raw.writableEnded) controller.abort();
  };
  if (raw.destroyed) controller.abort();
  else raw.once('close', gone);
  return controller.signal;
}

/**
 * Passes a request on and its answer back as they come: status, headers (but those of one connection) and encoding stay.
 * The engine's side is given up when the client leaves, and everything is freed. Return its promise from the handler.
 * @throws {EngineError} where no answer came; nothing was sent to the client then
 */
export async function forwardToEngine(
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: EngineEndpoint,
  options: ForwardOptions = {},
): Promise<FastifyReply> {
  const writer = new AnswerWriter(targetOf(request, reply), {
    tables: options.allowedTables,
    maxRows: request.maxRows,
  });
  reply.raw.once('close', () => writer.onClosed());
  await deliver(endpoint, engineRequest(request, options), writer);
  await writer.begun;
  return reply;
}

function targetOf({ method, log }: FastifyRequest, reply: FastifyReply): AnswerTarget {
  return {
    raw: reply.raw,
    method,
    log,
    take() {
      const headers = headerList(reply.getHeaders() as Record<string, string | string[]>);
      // Its hooks still run when the answer is out.
      reply.hijack();
      return headers;
    },
  };
}

function engineRequest(request: FastifyRequest, options: ForwardOptions): EngineRequest {
  const {
    path = request.url,
    body = ownBody(request),
    repeatable,
    headersTimeoutMs = request.queryTimeoutMs,
  } = options;
  return {
    method: request.method,
    path,
    headers: forwardedHeaders(request),
    ...(body === undefined ? {} : { body }),
    ...(repeatable === undefined ? {} : { repeatable }),
    ...(headersTimeoutMs === undefined ? {} : { headersTimeoutMs }),
  };
}

/** Some servers let these stand for another method than the one that was checked. */
const METHOD_OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override'] as const;

function forwardedHeaders({ headers, maxRows }: FastifyRequest): FastifyRequest['headers'] {
  if (maxRows === undefined && METHOD_OVERRIDES.every((name) => headers[name] === undefined)) return headers;
  const kept = { ...headers };
  for (const name of METHOD_OVERRIDES) delete kept[name];
  // Rows can be counted only in what is not packed.
  if (maxRows !== undefined) kept['accept-encoding'] = 'identity';
  return kept;
}

/** Nothing where the headers say that there is none: an empty stream would be sent chunked. */
function ownBody(request: FastifyRequest): EngineRequest['body'] {
  const { headers, raw } = request;
  if (headers['transfer-encoding'] !== undefined) return raw;
  return Number(headers['content-length'] ?? 0) > 0 ? raw : undefined;
}

/** Sends an answer of the engine as it comes. Fastify destroys the one side when the other breaks. */
export function sendAnswer(reply: FastifyReply, answer: EngineResponse): FastifyReply {
  return reply.code(answer.status).headers(responseHeaders(answer.headers)).send(answer.body);
}
