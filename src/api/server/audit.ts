import type { Decision } from '../../access/authorizer.ts';
import type { Change } from '../../access/manager/changes.ts';
import type { Principal } from '../../access/principal.ts';
import type { Srn } from '../../access/policy/srn.ts';

/** Why a write was allowed: by a decision, or because the caller owns what it changes. */
export type WriteDecision = Pick<Decision, 'matchedStatements'> & { readonly reason: Decision['reason'] | 'owner' };

/** An action on a resource that a write required, and that was allowed. */
export interface Required {
  readonly action: string;
  readonly resource: Srn;
  readonly decision: WriteDecision;
}

/** The call: its path, and the parameters that select the change. */
export interface Called {
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The names that a write is about. */
export interface About {
  readonly role?: string;
  readonly policy?: string;
  readonly serviceToken?: string;
  readonly subject?: { readonly type: string; readonly name: string };
}

/** A sign-in, a sign-out or a failed login. */
export interface Login {
  readonly action: 'Authenticate' | 'SignIn' | 'SignOut';
  /** HTTP status of the response. */
  readonly status: number;
  /** Why it failed. */
  readonly message?: string;
  /** Undefined where nobody was authenticated. */
  readonly principal?: Principal | undefined;
}

/** A write and how it ended. */
export interface WriteOutcome {
  readonly action: string;
  readonly resource: Srn;
  readonly decision: WriteDecision;
  /** HTTP status of the response; undefined if the client disconnected before it was sent. */
  readonly status: number | undefined;
  /** The call, if its route alone does not identify the change. */
  readonly called?: Called;
  /** Other actions that the write required, the first of them. */
  readonly also?: readonly Pick<Required, 'action' | 'resource'>[];
  /** Number of all of them. */
  readonly alsoCount?: number;
  /** Error message of the response. */
  readonly message?: string | undefined;
  readonly about?: About;
  /** Body of the request, without credentials. */
  readonly asked?: unknown;
  readonly changes?: readonly Change[];
}
