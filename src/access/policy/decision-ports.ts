import type { Principal } from '../principal.ts';
import type { CompiledStatement } from './compiled-policy.ts';
import type { GrantSet } from './grants/grant-set.ts';

/** The roles of a principal, and the time in which they are valid if no assignment changes. */
export interface HeldRoles {
  /** Names of all roles of all subjects of the principal, without duplicates. */
  readonly roles: readonly string[];
  /** Milliseconds since the epoch, inclusive: the last expiry that has passed; -Infinity for none. */
  readonly validFrom: number;
  /** Milliseconds since the epoch, exclusive: the next expiry; Infinity for none. */
  readonly validUntil: number;
}

/** Maps principals to roles. */
export interface RoleLookup {
  heldRoles(principal: Principal): HeldRoles;
}

/** Receives the callers and statements that determine decisions, each at least once a day. */
export interface DecisionObserver {
  /** Today, in days since the epoch (UTC). */
  readonly day: number;
  /** The first decision of a day for a principal. */
  principalDecided(principal: Principal): void;
  /** The first decision of a day by a statement. */
  statementDecided(statement: CompiledStatement): void;
  /** The first decision of a day for a principal by a statement of a policy. */
  policyDecided(principal: Principal, grants: GrantSet, policy: string): void;
}
