import { Agent } from 'undici';
import { withErrorListener } from '../../platform/stream-errors.ts';
import { FORWARDED_HEADER, type GatewayAddress } from './peers.ts';

/** A result in a gateway's listing. */
export interface ListedResult {
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly expirationTimeMs: number;
}

/** Client for the result-store endpoints of any gateway, with administrator rights. */
export interface GatewayClient {
  /** @throws {Error} if the response is not a listing */
  list(gateway: GatewayAddress, signal: AbortSignal): Promise<readonly ListedResult[]>;
  /** @returns false if the result did not exist. @throws {Error} for any other response */
  delete(gateway: GatewayAddress, requestId: string, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

export interface GatewayClientOptions {
  readonly scheme?: 'http' | 'https';
  readonly ca?: string;
  /** Certificate of this process, where the gateways require one, PEM. */
  readonly client?: { readonly cert: string; readonly key: string } | undefined;
  /** Value of the `Authorization` header, read for each call because the credential may be rotated. */
  readonly credential: () => string | undefined | Promise<string | undefined>;
}

const CONNECT_TIMEOUT_MS = 3_000;
const RESPONSE_TIMEOUT_MS = 30_000;
const MAX_LISTING_BYTES = 64 * 1024 * 1024;

export function createGatewayClient(options: GatewayClientOptions): GatewayClient {
  const agent = new Agent({
    connections: 2,
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: RESPONSE_TIMEOUT_MS,
    maxResponseSize: MAX_LISTING_BYTES,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      ...options.client,
    },
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
      // Restricts the response to this gateway: it does not forward the call to its peers.
      headers: { [FORWARDED_HEADER]: '1', ...(authorization === undefined ? {} : { authorization }) },
    });
    return { status: statusCode, text: await withErrorListener(body).text() };
  };
  return {
    async list(gateway, signal) {
      const { status, text } = await call('GET', gateway, '/query/resultStore', signal);
      if (status !== 200) throw new Error(`listing results: status ${status}`);
      const { resultMetadataList } = JSON.parse(text) as { resultMetadataList?: readonly ListedResult[] };
      if (!Array.isArray(resultMetadataList))
        throw new Error('listing results: the response has no `resultMetadataList`');
      return resultMetadataList as readonly ListedResult[];
    },
    async delete(gateway, requestId, signal) {
      const path = `/query/resultStore/${encodeURIComponent(requestId)}`;
      const { status } = await call('DELETE', gateway, path, signal);
      if (status === 200) return true;
      if (status === 404) return false;
      throw new Error(`deleting \`${requestId}\`: status ${status}`);
    },
    close: () => agent.destroy(),
  };
}
