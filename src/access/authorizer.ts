import type { Principal } from './principal.ts';
import type { Srn } from './srn.ts';

export type DecisionReason = 'allowed' | 'explicitDeny' | 'implicitDeny' | 'invalidPolicy';

/** A statement that had a say in a decision. */
export interface MatchedStatement {
  /** Name of the role; undefined for an unsaved policy under simulation. */
  readonly role: string | undefined;
  readonly policy: string | undefined;
  /** Position in the policy's `statements`, from 0. */
  readonly statementIndex: number;
  readonly effect: 'allow' | 'deny';
}

export interface Decision {
  readonly allowed: boolean;
  readonly reason: DecisionReason;
  /** The statements that decided: every matching deny, or every matching allow where nothing denied. */
  readonly matchedStatements: readonly MatchedStatement[];
}

/** Decides from memory alone; never blocks, never throws for a well-formed SRN. */
export interface Authorizer {
  /** The hot path: the same answer as `decide(…).allowed`, without collecting reasons. */
  isAllowed(principal: Principal, action: string, resource: Srn): boolean;
  decide(principal: Principal, action: string, resource: Srn): Decision;
}
