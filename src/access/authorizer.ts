import type { Reading } from './conditions.ts';
import type { Principal } from './principal.ts';
import type { Srn } from './policy/srn.ts';

/**
 * `conditional`: only a part of the table may be read, see `reading`; whoever does not know conditions must refuse.
 * `systemAdmin`: allowed by the role `system-admin`, although a statement or an invalid policy of the caller's roles denies it. Only for the
 * management of access, see isAccessManagement().
 */
export type DecisionReason =
  | 'allowed'
  | 'systemAdmin'
  | 'conditional'
  | 'explicitDeny'
  | 'implicitDeny'
  | 'invalidPolicy';

/** A statement that determined a decision. */
export interface DecidingStatement {
  /** Name of the role; undefined for the unsaved policy of a simulation. */
  readonly role: string | undefined;
  readonly policy: string | undefined;
  /** Position in the policy's `statements`, from 0. */
  readonly statementIndex: number;
  readonly effect: 'allow' | 'deny';
}

export interface Decision {
  readonly allowed: boolean;
  readonly reason: DecisionReason;
  /** The statements that determined the decision: matching denies, or matching allows if none denied, or those with conditions, or that of the policy `system-admin`; at most 100. */
  readonly matchedStatements: readonly DecidingStatement[];
}

/** Decides synchronously from memory; never throws for a well-formed SRN. */
export interface Decisions {
  /** Fast path: the same result as `decide(…).allowed`, without reasons. */
  isAllowed(principal: Principal, action: string, resource: Srn): boolean;
  decide(principal: Principal, action: string, resource: Srn): Decision;
  /** The same result as `isAllowed`, for display: it is not counted as a decision, and does not mark a role as used. It must not guard an action. */
  wouldAllow(principal: Principal, action: string, resource: Srn): boolean;
  /**
   * Whether the principal may `Query` a table, and which rows and columns of it. Nothing else knows statements with conditions: for `isAllowed`, `decide` and
   * `wouldAllow` they allow nothing.
   */
  reading(principal: Principal, table: Srn): Reading;
  /** Whether some statement of the principal has conditions. Without one, `reading` never has conditions. */
  hasConditions(principal: Principal): boolean;
}

/** Decisions about authenticated callers, and about those whose request has ended. */
export interface Authorizer extends Decisions {
  /**
   * Whether the principal still exists: false for a service token that was deleted or has expired. Work that outlives its request needs this besides
   * a decision, because nothing authenticates its caller again.
   */
  isActive(principal: Principal): boolean;
}
