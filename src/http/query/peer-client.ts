import { Agent } from 'undici';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FORWARDED_HEADER, type GatewayAddress } from '../../query/peers.ts';
import { HttpError } from '../errors.ts';
import { clientSignal, sendAnswer } from '../forward.ts';

export interface PeerClientOptions {
  /** What the gateways of this deployment speak; `http` by default. */
  readonly scheme?: 'http' | 'https';
  /** Certificates of the authorities that the gateways' certificates may be signed by, PEM. */
  readonly ca?: string;
}

const CONNECTIONS = 32;
const CONNECT_TIMEOUT_MS = 2_000;
const HEADERS_TIMEOUT_MS = 60_000;
const BODY_TIMEOUT_MS = 60_000;
const IDENTIFY_TIMEOUT_MS = 2_000;
const IDENTITY_BYTES = 4096;

/** Of the caller's headers these go along: the credential, and what the answer depends on. */
const PASSED_HEADERS = ['authorization', 'cookie', 'accept', 'x-request-id'] as const;

/** Speaks to the other gateways. Close it. */
export class PeerClient {
  readonly #agent: Agent;
  readonly #scheme: string;

  constructor(options: PeerClientOptions = {}) {
    this.#scheme = options.scheme ?? 'http';
    this.#agent = new Agent({
      connections: CONNECTIONS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: BODY_TIMEOUT_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS, ...(options.ca === undefined ? {} : { ca: options.ca }) },
    });
  }

  /**
   * Passes the request on, with the caller's credential, and the peer's answer back, status and all.
   * @throws {HttpError} 503 where the peer does not answer
   */
  async forward(request: FastifyRequest, reply: FastifyReply, peer: GatewayAddress): Promise<FastifyReply> {
    const headers: Record<string, string> = { [FORWARDED_HEADER]: '1' };
    for (const name of PASSED_HEADERS) {
      const value = request.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    const signal = clientSignal(reply);
    const answer = await this.#agent
      .request({
        origin: this.#origin(peer),
        path: request.url,
        method: request.method,
        headers,
        signal,
      })
      .catch((error: unknown) => {
        throw new HttpError(503, `the gateway \`${peer.host}:${peer.port}\`, which holds the result, does not answer`, {
          headers: { 'retry-after': '5' },
          cause: error,
        });
      });
    return sendAnswer(reply, { status: answer.statusCode, headers: answer.headers, body: answer.body });
  }

  /** The `brokerId` of a gateway; undefined where none answers there. */
  async identify(address: GatewayAddress): Promise<string | undefined> {
    try {
      const { statusCode, body } = await this.#agent.request({
        origin: this.#origin(address),
        path: '/query/gateway',
        method: 'GET',
        signal: AbortSignal.timeout(IDENTIFY_TIMEOUT_MS),
      });
      const text = Buffer.from(await body.arrayBuffer()).toString('utf8', 0, IDENTITY_BYTES);
      if (statusCode !== 200) return undefined;
      const { brokerId } = JSON.parse(text) as { brokerId?: unknown };
      return typeof brokerId === 'string' ? brokerId : undefined;
    } catch {
      // Down, starting, or no gateway: it is asked again at the next refresh.
      return undefined;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  #origin({ host, port }: GatewayAddress): string {
    return `${this.#scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
}
