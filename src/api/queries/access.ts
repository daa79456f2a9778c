import { clusterResource } from '../../access/policy/srn.ts';
import type { ResultRecord } from '../../results/result-store.ts';
import { requireAllowed, type RequestContext } from '../server/context.ts';
import { addRequired } from '../server/pending-writes.ts';
import { requireSameReading } from '../server/reading.ts';

/**
 * Allows the owner of a stored result, and callers with `GetResponseStore` on the cluster. Both still need `Query` on the tables, by the same conditions.
 * @throws {HttpError} 403, 410
 */
export function requireRead(request: RequestContext, record: ResultRecord): void {
  const isOwner = record.owner === request.principal.srn;
  if (!isOwner) requireAllowed(request, 'GetResponseStore', clusterResource);
  requireSameReading(request, record, isOwner);
}

/** Allows the owner of a query, and callers with `GetResponseStore` on the cluster, to see its state. @throws {HttpError} 403 */
export function requireStatus(request: RequestContext, owner: string): void {
  if (owner !== request.principal.srn) requireAllowed(request, 'GetResponseStore', clusterResource);
}

/** Whether the caller may do what the owner of a query may, or what `action` on the cluster allows. */
export function isOwnerOr(
  { principal, server }: RequestContext,
  action: 'GetResponseStore' | 'DeleteResponseStore',
  owner: string,
): boolean {
  return owner === principal.srn || server.authorizer.isAllowed(principal, action, clusterResource);
}

/**
 * Allows the owner of a stored result, and callers with `DeleteResponseStore` on the cluster. The deletion has an audit record in both cases.
 * @param owner undefined if it is unknown. @throws {HttpError} 403
 */
export function requireDelete(request: RequestContext, owner: string | undefined): void {
  const action = 'DeleteResponseStore';
  if (owner !== request.principal.srn) requireAllowed(request, action, clusterResource, { write: true });
  else
    addRequired(request, { action, resource: clusterResource, decision: { reason: 'owner', matchedStatements: [] } });
}
