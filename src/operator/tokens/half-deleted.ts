import { DELETED_AT } from '../../access/manager/service-tokens.ts';
import type { TokenHashes } from '../../access/service-token.ts';
import type { RoleAssignment, ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import type { Action } from '../controller/plan.ts';

interface NamedToken {
  readonly object: ServiceToken | undefined;
  readonly hashes: TokenHashes | undefined;
  /** The RoleAssignments with the token as a subject. */
  readonly assignments: readonly RoleAssignment[];
}

/**
 * The uid of a ServiceToken that a gateway began to delete: it has expired, and loses its roles before it is deleted. If the gateway ended there,
 * nobody would repeat the call, because the token is rejected already.
 */
export function halfDeleted({ object }: Pick<NamedToken, 'object'>): string | undefined {
  if (object?.spec.expiresAt !== DELETED_AT) return undefined;
  // An author of a manifest may choose this time, too.
  const byGateway = object.metadata.annotations?.[ANNOTATIONS.lastUpdatedBy]?.startsWith('srn2:') === true;
  return byGateway ? object.metadata.uid : undefined;
}

/** Removes the token from its assignments, so that a later token of this name does not have its roles. */
export function unassign({ object, hashes, assignments }: NamedToken): Action[] {
  const names = new Set([object?.metadata.name, hashes?.accessKey]);
  return assignments.map((assignment): Action => {
    const { spec, metadata } = assignment;
    const subjects = spec.subjects.filter(({ type, name }) => type !== 'service-token' || !names.has(name));
    if (subjects.length > 0)
      return { do: 'update', kind: 'RoleAssignment', object: { ...assignment, spec: { ...spec, subjects } } };
    const { name, uid, resourceVersion } = metadata;
    return { do: 'delete', kind: 'RoleAssignment', name, uid, resourceVersion };
  });
}
