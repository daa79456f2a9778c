import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { EngineResponse } from '../../pinot/types.ts';
import { type ForwardAddress, FORWARDED_HEADER, type PeerDirectory } from '../../results/peers/peers.ts';
import type { RequestContext } from '../server/context.ts';
import type { RequestTarget } from '../server/request/target.ts';
import { HttpError } from '../server/errors.ts';
import type { PeerClient } from './peer-client.ts';

export interface PeerRouting {
  readonly directory: PeerDirectory;
  /** Absent where nothing is forwarded: there is a single gateway, or each one reads every result. */
  readonly forwarding?: Forwarding | undefined;
}

export interface Forwarding {
  readonly client: PeerClient;
  /** Whether this gateway can read the result, although its id names another one: they share a disk, or this one was renamed. */
  readonly isStoredHere: (requestId: string) => Promise<boolean>;
}

const ABSENT_RETRY_AFTER_SECONDS = '5';

/** The gateway that stores a result. */
export interface Holder {
  /** @throws {HttpError} 503 where it does not respond */
  forward(request: RequestContext, target: RequestTarget, signal: AbortSignal): Promise<EngineResponse>;
}

/**
 * Finds the gateway that stores a result.
 * @returns undefined where this gateway handles the request
 * @throws {HttpError} 400 where the caller names an unknown gateway, and the id names none; 503 where the storing gateway is not running
 */
export async function holderOf(
  request: RequestContext,
  requestId: string,
  peers: PeerRouting | undefined,
): Promise<Holder | undefined> {
  // A request is forwarded only once, to prevent loops between gateways with different routing data.
  if (peers === undefined || request.headers[FORWARDED_HEADER] !== undefined) return undefined;
  const { directory, forwarding } = peers;
  const named = forwardHeaders(request);
  if (forwarding === undefined) {
    const refusal = await directory.refusal(requestId, named);
    if (refusal !== undefined) throw new HttpError(400, refusal);
    return undefined;
  }
  const route = await directory.route(requestId, named);
  if (route.kind === 'refused') throw new HttpError(400, route.message);
  if (route.kind === 'local') return undefined;
  if (route.kind === 'absent') {
    if (await forwarding.isStoredHere(requestId)) return undefined;
    throw new HttpError(503, `the gateway that stores the result \`${requestId}\` is not running; try again later`, {
      headers: { 'retry-after': ABSENT_RETRY_AFTER_SECONDS },
    });
  }
  return { forward: (incoming, target, signal) => forwarding.client.forward(incoming, target, route.peer, signal) };
}

function forwardHeaders({ headers }: RequestContext): ForwardAddress {
  const { forward_host: host, forward_port: port } = headers;
  return { ...(typeof host === 'string' && { host }), ...(typeof port === 'string' && { port }) };
}

/** `GET /query/gateway`: the `brokerId` of this gateway. Other gateways verify addresses with it. It needs no credential, because pages contain the same id. */
export function gatewayIdentity(app: FastifyInstance, brokerId: string): void {
  app.get(
    '/query/gateway',
    {
      config: { public: true },
      schema: {
        operationId: 'getGatewayIdentity',
        'x-docs': { ok: 'The id of this gateway.', response: { brokerId: 'olap-warden-gateway-0' } },
        tags: ['paginated queries'],
        summary: 'The `brokerId` of this gateway, by which other gateways verify its address.',
        security: [],
        response: { 200: Type.Object({ brokerId: Type.String() }) },
      },
    },
    async () => ({ brokerId }),
  );
}
