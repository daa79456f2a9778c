import type { FastifyRequest } from 'fastify';
import { ANY_ACTION } from '../../pinot/action-names.ts';
import { clusterResource } from '../../access/policy/srn.ts';
import type { EngineEndpoint } from '../../pinot/types.ts';
import { notFound } from '../server/app-errors.ts';
import { printTarget, type RequestTarget } from '../server/request/target.ts';

/** The engine answers at once, because nothing is read. */
const TIMEOUT_MS = 5_000;

/**
 * A path that the engine does not have is 404 for every caller: clients probe for calls of other distributions and versions, and a 403 would stop them.
 * `OPTIONS` neither changes nor reads anything. Call it for calls that are not in the list.
 * @throws {HttpError} 404
 */
export async function requirePath(
  request: FastifyRequest,
  { segments }: RequestTarget,
  controller: EngineEndpoint,
): Promise<void> {
  const { principal, server } = request;
  // Its call is forwarded, so that the engine itself responds.
  if (server.authorizer.isAllowed(principal, ANY_ACTION, clusterResource)) return;
  const path = printTarget({ segments, parameters: new URLSearchParams() });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let status: number;
  try {
    const response = await controller.request({ method: 'OPTIONS', path, caller: principal.srn, signal });
    response.body.destroy();
    ({ status } = response);
  } catch {
    // The caller has no right to it in any case.
    return;
  }
  if (status === 404) throw notFound(request);
}
