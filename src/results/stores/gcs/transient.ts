/**
 * Reasons of a 403 that asks for fewer requests. All other ones refuse the request for good.
 * https://cloud.google.com/storage/docs/json_api/v1/status-codes
 */
const RATE_LIMIT = /\b(?:userRateLimitExceeded|rateLimitExceeded)\b/;

/** Bytes of the body of a 403 that are searched for its reason. */
const MAX_BODY_BYTES = 16 * 1024;

/** Whether another attempt of a request with this response may succeed. @param body of a 403 */
export function isTransientResponse(status: number, body: string): boolean {
  return status >= 500 || status === 408 || status === 429 || (status === 403 && RATE_LIMIT.test(body));
}

/** Whether another attempt may succeed after this error of the SDK. One without a response, such as of a connection, may. */
export function isTransientError(error: unknown): boolean {
  const { response, status = response?.status } = (error ?? {}) as SdkError;
  return typeof status !== 'number' || isTransientResponse(status, textOf(response?.data));
}

/** The parts that are used of a GaxiosError. */
interface SdkError {
  readonly status?: unknown;
  readonly response?: { readonly status?: unknown; readonly data?: unknown };
}

function textOf(data: unknown): string {
  return (typeof data === 'string' ? data : (JSON.stringify(data) ?? '')).slice(0, MAX_BODY_BYTES);
}

/** The beginning of a body. The rest is not read. */
export async function bodyStart(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(pieces).toString('latin1', 0, MAX_BODY_BYTES);
}
