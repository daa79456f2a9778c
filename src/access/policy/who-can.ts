import type { Slices } from '../../platform/long-work.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Decision, DecidingStatement } from '../authorizer.ts';
import type { Directory } from '../directory.ts';
import { asPrincipal, decideForAll } from './simulate.ts';
import type { Srn } from './srn.ts';

/** A role of a subject that allows the action. */
export interface GrantingRole {
  readonly role: string;
  /** The first deciding statement of the role. */
  readonly by: DecidingStatement;
  /** Whether it allows a part of the table only. */
  readonly conditional: boolean;
  /** Of the assignment or, if that is earlier, of the service token: milliseconds since the epoch, or Infinity. */
  readonly expiry: number;
}

export interface Granted {
  readonly subject: Subject;
  readonly roles: readonly GrantingRole[];
}

export interface AllowingRole {
  readonly role: string;
  /** The first deciding statement. */
  readonly by: DecidingStatement;
  /** Whether it allows a part of the table only. */
  readonly conditional: boolean;
}

export interface WhoCan {
  /** Ordered by type and name, truncated at the limit. */
  readonly granted: readonly Granted[];
  /** Exact total number. */
  readonly total: number;
  /** Roles that allow it by themselves, assigned or not; ordered by name, truncated at the limit. */
  readonly roles: readonly AllowingRole[];
  /** Exact total number. */
  readonly totalRoles: number;
}

export interface WhoCanRequest {
  readonly action: string;
  /** What the request may mean, at least one: it is allowed if each of them is. */
  readonly resources: readonly Srn[];
  /** Maximum subjects, and maximum roles. */
  readonly limit: number;
  /** Names of the roles to list. */
  readonly roleNames: readonly string[];
}

/**
 * Roles that allow `action` on the resource, and the subjects of role assignments that may perform it, each evaluated separately and with the
 * code that enforces. Conditions count as met: a member of a group can have the values that their filters need. A person with several subjects (user, groups, domain) may have more permissions, or fewer because of a deny.
 */
export function* whoCan(directory: Directory, request: WhoCanRequest): Slices<WhoCan> {
  const decide = cachedDecisions(directory, request);
  const granted: Granted[] = [];
  let total = 0;
  for (const subject of yield* directory.assignedSubjects()) {
    yield;
    const principal = asPrincipal(directory, subject);
    const ends = directory.tokenExpiry(principal);
    if (!(ends > directory.now())) continue;
    const decision = decide(directory.existingRolesOf(principal));
    const conditional = decision.reason === 'conditional';
    if (!decision.allowed && !conditional) continue;
    total += 1;
    if (granted.length >= request.limit) continue;
    const roles = [...firstByRole(decision)].map(([role, by]) => {
      return { role, by, conditional, expiry: Math.min(ends, directory.roleExpiry(principal, role)) };
    });
    granted.push({ subject, roles });
  }
  const roles: AllowingRole[] = [];
  let totalRoles = 0;
  for (const role of request.roleNames) {
    yield;
    const decision = decide([role]);
    const by = decision.matchedStatements[0];
    const conditional = decision.reason === 'conditional';
    if (!(decision.allowed || conditional) || !by) continue;
    totalRoles += 1;
    if (roles.length < request.limit) roles.push({ role, by, conditional });
  }
  return { granted, total, roles, totalRoles };
}

/** Many subjects have the same roles, so decisions are cached by set of roles. */
function cachedDecisions(directory: Directory, request: WhoCanRequest): (roles: readonly string[]) => Decision {
  const decisions = new Map<string, Decision>();
  return (roles) => {
    const key = roles.join(' ');
    let decision = decisions.get(key);
    if (!decision) {
      const grants = directory.engine.simulatedGrants(roles, undefined);
      decisions.set(key, (decision = decideForAll(directory, grants, request)));
    }
    return decision;
  };
}

function firstByRole({ matchedStatements }: Decision): Map<string, DecidingStatement> {
  const first = new Map<string, DecidingStatement>();
  for (const matched of matchedStatements) {
    const role = matched.role ?? '';
    if (!first.has(role)) first.set(role, matched);
  }
  return first;
}
