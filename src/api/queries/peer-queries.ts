import type { FastifyRequest } from 'fastify';
import { FORWARDED_HEADER, type Peer } from '../../results/peers/peers.ts';
import { classOf } from '../server/request/classify.ts';
import type { Forwarding, PeerRouting } from './peer-routing.ts';
import type { MyQueries, QueryStatus } from './status-schemas.ts';

/** Bytes of a response of another gateway: 1,001 queries with the longest texts that are recorded. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Time limit of the listing of another gateway, which may read its whole store. One that does not respond at all is left earlier. */
const LISTING_MS = 10_000;

export interface QueriesOfPeers {
  readonly lists: readonly (readonly QueryStatus[])[];
  /** Whether a gateway did not respond, or not with all queries. */
  readonly isIncomplete: boolean;
}

/** The caller's queries on the other gateways, which check its credential themselves. */
export async function queriesOfPeers(
  request: FastifyRequest,
  peers: PeerRouting | undefined,
  signal: AbortSignal,
): Promise<QueriesOfPeers> {
  const forwarding = peers?.forwarding;
  if (peers === undefined || forwarding === undefined || request.headers[FORWARDED_HEADER] !== undefined) {
    return { lists: [], isIncomplete: false };
  }
  const others = await peers.directory.current();
  const responses = await Promise.all(others.map((peer) => queriesOfPeer(request, peer, forwarding, signal)));
  const found = responses.filter((response) => response !== undefined);
  const isIncomplete = found.length < responses.length || found.some(({ incomplete }) => incomplete === true);
  return { lists: found.map(({ queries }) => queries), isIncomplete };
}

async function queriesOfPeer(
  request: FastifyRequest,
  peer: Peer,
  { client }: Forwarding,
  signal: AbortSignal,
): Promise<MyQueries | undefined> {
  if (client.isSuspected(peer)) return undefined;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LISTING_MS)]);
  try {
    const { status, body } = await client.forward(request, classOf(request.raw), peer, limited);
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      if (status !== 200 || bytes > MAX_BYTES) return undefined;
      pieces.push(piece);
    }
    const response = JSON.parse(Buffer.concat(pieces).toString('utf8')) as MyQueries;
    return Array.isArray(response.queries) ? response : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
