import type { FastifyRequest } from 'fastify';
import { clusterResource, tableResource } from '../../access/srn.ts';
import type { ResultRecord } from '../../query/result-store.ts';
import { requireAllowed } from '../context.ts';

/** @throws {HttpError} 403 unless the caller may query every one of the tables */
export function requireQuery(request: FastifyRequest, tables: readonly string[]): void {
  for (const table of tables) requireAllowed(request, 'Query', tableResource(table));
}

/**
 * A stored result is read by who submitted it, or by who may read any; and its tables must still be the caller's to query.
 * @throws {HttpError} 403
 */
export function requireRead(request: FastifyRequest, record: ResultRecord): void {
  if (record.owner !== request.principal.srn) requireAllowed(request, 'GetResponseStore', clusterResource);
  requireQuery(request, record.tables);
}

/** @throws {HttpError} 403 */
export function requireDelete(request: FastifyRequest, owner: string): void {
  if (owner !== request.principal.srn) requireAllowed(request, 'DeleteResponseStore', clusterResource, { write: true });
}
