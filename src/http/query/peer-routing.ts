import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { FORWARDED_HEADER, type PeerDirectory } from '../../query/peers.ts';
import { HttpError } from '../errors.ts';
import type { PeerClient } from './peer-client.ts';

export interface PeerRouting {
  readonly directory: PeerDirectory;
  readonly client: PeerClient;
}

/**
 * Passes a request about a stored result on to the gateway that holds it.
 * @returns true where it did; false where the result is to be looked for here
 * @throws {HttpError} 400 where the caller names a gateway that is none of this deployment; 503 where the holder does not answer
 */
export async function passedOn(
  request: FastifyRequest<{ Params: { requestId: string } }>,
  reply: FastifyReply,
  peers: PeerRouting | undefined,
): Promise<boolean> {
  // A request is passed on once: gateways that disagree about who holds a result must not play ball with it.
  if (peers === undefined || request.headers[FORWARDED_HEADER] !== undefined) return false;
  const route = await peers.directory.route(request.params.requestId, forwardHeaders(request));
  if (route.kind === 'refused') throw new HttpError(400, route.message);
  if (route.kind === 'local') return false;
  await peers.client.forward(request, reply, route.peer);
  return true;
}

function forwardHeaders(request: FastifyRequest): { host?: string; port?: string } {
  const { forward_host: host, forward_port: port } = request.headers;
  return { ...(typeof host === 'string' && { host }), ...(typeof port === 'string' && { port }) };
}

/** `GET /query/gateway`: who answers here. The other gateways ask it before they trust an address; every page tells as much. */
export function gatewayIdentity(app: FastifyInstance, brokerId: string): void {
  app.get(
    '/query/gateway',
    {
      config: { public: true },
      exposeHeadRoute: false,
      schema: {
        operationId: 'getGatewayIdentity',
        tags: ['paginated queries'],
        summary: 'The `brokerId` of the gateway that answers; how gateways recognise each other.',
        security: [],
        response: { 200: Type.Object({ brokerId: Type.String() }) },
      },
    },
    async () => ({ brokerId }),
  );
}
