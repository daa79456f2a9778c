import type { Readable } from 'node:stream';
import { EngineError, type EngineEndpoint, type EngineRequest } from './types.ts';

export interface JsonResponse {
  readonly status: number;
  /** Undefined if the body is not JSON and the status is an error. */
  readonly value: unknown;
}

/** Maximum size of a buffered controller response: metadata of a table with very many segments is large. */
const MAX_JSON_BYTES = 256 * 1024 * 1024;

/**
 * Reads the whole body.
 * @throws {EngineError} bad-response if it is longer than `maxBytes`; unreachable if it ends unexpectedly
 */
export async function readBody(body: Readable, maxBytes: number, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new EngineError('bad-response', `${what} responded with more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw new EngineError('unreachable', `the response to ${what} ended unexpectedly`, { cause: error });
  }
  return Buffer.concat(chunks);
}

/**
 * Sends a request and parses the response as JSON, whatever its status.
 * @param request method defaults to `GET`
 * @throws {EngineError} as `request` does; bad-response for a success response that is not JSON or is longer than `maxBytes`
 */
export async function requestJson(
  endpoint: EngineEndpoint,
  request: Omit<EngineRequest, 'method'> & { readonly method?: string },
  maxBytes: number = MAX_JSON_BYTES,
): Promise<JsonResponse> {
  const { method = 'GET', path } = request;
  const headers = { accept: 'application/json', ...request.headers };
  const response = await endpoint.request({ ...request, method, headers });
  const what = `\`${method} ${endpoint.url}${path}\``;
  const bytes = await readBody(response.body, maxBytes, what);
  try {
    return { status: response.status, value: JSON.parse(bytes.toString()) as unknown };
  } catch (error) {
    if (response.status >= 400) return { status: response.status, value: undefined };
    throw new EngineError('bad-response', `${what} responded with a body that is not JSON`, { cause: error });
  }
}

/**
 * Sends a `GET` that must succeed and returns the parsed JSON.
 * @throws {EngineError} as `requestJson`; bad-response for status 300 and above
 */
export async function getJson(
  endpoint: EngineEndpoint,
  path: string,
  signal?: AbortSignal,
  headers: NonNullable<EngineRequest['headers']> = {},
): Promise<unknown> {
  const response = await requestJson(endpoint, signal ? { path, headers, signal } : { path, headers });
  if (response.status < 300) return response.value;
  throw new EngineError('bad-response', `\`GET ${endpoint.url}${path}\` responded with status ${response.status}`);
}
