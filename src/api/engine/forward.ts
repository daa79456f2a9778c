import type { FastifyReply, FastifyRequest } from 'fastify';
import { deliver } from '../../pinot/delivery.ts';
import { responseHeaders } from '../../pinot/headers.ts';
import { type ResponseBounds, ResponseWriter, type ResponseTarget } from './response-writer.ts';
import type { EngineEndpoint, EngineRequest, EngineResponse } from '../../pinot/types.ts';

export interface ForwardOptions {
  /** Path and query string, as they were authorized. */
  readonly path: string;
  /** Validated headers to send. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, where it was read already; the request stream where absent. */
  readonly body?: EngineRequest['body'];
  readonly headersTimeoutMs?: number;
}

/**
 * Streams a request to the engine and the response back. Status, end-to-end headers and encoding are unchanged.
 * The engine request is aborted when the client disconnects. Return the promise from the handler.
 * @throws {EngineError} where no response arrived; nothing was sent to the client then
 */
export async function forwardToEngine(
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: EngineEndpoint,
  options: ForwardOptions,
): Promise<FastifyReply> {
  await passResponse(targetOf(request, reply), endpoint, engineRequest(request, options), { maxRows: request.maxRows });
  return reply;
}

/**
 * Sends a request to the engine and streams the response to the client. Resolves when the response head is written.
 * @throws {EngineError} where no response arrived; {HttpError} where it must not be sent. Nothing was sent to the client then
 */
export async function passResponse(
  target: ResponseTarget,
  endpoint: EngineEndpoint,
  request: EngineRequest,
  bounds: ResponseBounds,
): Promise<void> {
  const writer = new ResponseWriter(target, bounds);
  target.raw.once('close', () => writer.onClosed());
  await deliver(endpoint, request, writer);
  await writer.started;
}

function targetOf({ method, log }: FastifyRequest, reply: FastifyReply): ResponseTarget {
  return {
    raw: reply.raw,
    method,
    log,
    beginResponse() {
      const headers = headerList(reply.getHeaders());
      // The response hooks of fastify still run.
      reply.hijack();
      return headers;
    },
  };
}

/** Flattens headers to name, value, name, value, … */
function headerList(headers: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((one) => [name, String(one)]));
}

function engineRequest(request: FastifyRequest, options: ForwardOptions): EngineRequest {
  const { path, headers, body = ownBody(request), headersTimeoutMs = request.queryTimeoutMs } = options;
  return {
    method: request.method,
    path,
    caller: request.principal.srn,
    // Rows can be counted only in an uncompressed response.
    headers: request.maxRows === undefined ? headers : { ...headers, 'accept-encoding': 'identity' },
    ...(body === undefined ? {} : { body }),
    ...(headersTimeoutMs === undefined ? {} : { headersTimeoutMs }),
    trail: request.trail,
  };
}

/** Undefined where the request has no body: an empty stream would be sent chunked. */
function ownBody(request: FastifyRequest): EngineRequest['body'] {
  const { headers, raw } = request;
  if (headers['transfer-encoding'] !== undefined) return raw;
  return Number(headers['content-length'] ?? 0) > 0 ? raw : undefined;
}

/** Streams a response of the engine. Fastify destroys either stream when the other one fails. */
export function sendResponse(reply: FastifyReply, response: EngineResponse): FastifyReply {
  return reply.code(response.status).headers(responseHeaders(response.headers)).send(response.body);
}
