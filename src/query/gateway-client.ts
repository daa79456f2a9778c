import { Agent } from 'undici';
import { FORWARDED_HEADER, type GatewayAddress } from './peers.ts';

/** What a gateway's listing says of a result. */
export interface ListedResult {
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly expirationTimeMs: number;
}

/** The result-store endpoints of any gateway, as an administrator calls them. */
export interface GatewayClient {
  /** @throws {Error} where the gateway does not answer with a listing */
  list(gateway: GatewayAddress, signal: AbortSignal): Promise<readonly ListedResult[]>;
  /** @returns false where there was no such result any more. @throws {Error} for any other answer */
  delete(gateway: GatewayAddress, requestId: string, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

export interface GatewayClientOptions {
  readonly scheme?: 'http' | 'https';
  readonly ca?: string;
  /** Value of the `Authorization` header, read anew for each call so that a rotated credential is seen. */
  readonly credential: () => string | undefined | Promise<string | undefined>;
}

const CONNECT_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 30_000;
const MAX_LISTING_BYTES = 64 * 1024 * 1024;

export function createGatewayClient(options: GatewayClientOptions): GatewayClient {
  const agent = new Agent({
    connections: 2,
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
    maxResponseSize: MAX_LISTING_BYTES,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(options.ca === undefined ? {} : { ca: options.ca }) },
  });
  const call = async (
    method: 'GET' | 'DELETE',
    { host, port }: GatewayAddress,
    path: string,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> => {
    const authorization = await options.credential();
    const { statusCode, body } = await agent.request({
      origin: `${options.scheme ?? 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
      path,
      method,
      signal,
      // What it answers is about itself alone: it does not ask its peers.
      headers: { [FORWARDED_HEADER]: '1', ...(authorization === undefined ? {} : { authorization }) },
    });
    return { status: statusCode, text: await body.text() };
  };
  return {
    async list(gateway, signal) {
      const { status, text } = await call('GET', gateway, '/query/resultStore', signal);
      if (status !== 200) throw new Error(`the listing was answered with ${status}`);
      const { resultMetadataList } = JSON.parse(text) as { resultMetadataList?: readonly ListedResult[] };
      if (!Array.isArray(resultMetadataList)) throw new Error('the listing has no `resultMetadataList`');
      return resultMetadataList as readonly ListedResult[];
    },
    async delete(gateway, requestId, signal) {
      const path = `/query/resultStore/${encodeURIComponent(requestId)}`;
      const { status } = await call('DELETE', gateway, path, signal);
      if (status === 200) return true;
      if (status === 404) return false;
      throw new Error(`the deletion of \`${requestId}\` was answered with ${status}`);
    },
    close: () => agent.destroy(),
  };
}
