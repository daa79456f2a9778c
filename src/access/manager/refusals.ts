import { ManagerError } from '../errors.ts';
import type { DelegationRight } from '../policy/actions.ts';
import type { CompiledStatement } from '../policy/compiled-policy.ts';
import { TooManyComparisons, type MissingGrant } from '../policy/gain.ts';
import { formatSrn, policyResource, roleResource, type Srn } from '../policy/srn.ts';
import { assignmentsRight, readableText, readRight, type GuardedText, type ReadableText } from '../readable-text.ts';
import type { DenyProblem } from './deny-containment.ts';

/** A change that a caller requests, and the right that allows it without the containment check. */
export interface Attempt {
  /** As in `you may not <what>`. */
  readonly what: string;
  readonly right: DelegationRight;
  readonly on: Srn;
  /** The caller has sent the statements that it is about. */
  readonly isOwnText?: boolean;
  /** Why it is refused, for callers that may not read the statements that it is about. */
  readonly unread: string;
  /** Where the caller has not named the role: what is shown to callers that may not read who has it. */
  readonly unnamed?: string;
}

export function writing(policy: string): Attempt {
  const unread = `a statement of policy \`${policy}\`, which you may not read, exceeds what you hold`;
  return { what: `write policy \`${policy}\``, right: 'EscalatePolicy', on: policyResource(policy), unread };
}

export function binding(what: string, policy: string): Attempt {
  const unread = `there is no policy \`${policy}\`, or a statement of policy \`${policy}\`, which you may not read, exceeds what you hold`;
  return { what, right: 'BindPolicy', on: policyResource(policy), unread };
}

/** As `binding`, for the removal from a role. */
export function unbinding(role: string, policy: string): Attempt {
  const attempt = binding(`detach policy \`${policy}\` from role \`${role}\``, policy);
  const unread = `role \`${role}\` does not have policy \`${policy}\`, or a statement of it, which you may not read, exceeds what you hold`;
  return { ...attempt, unread };
}

export function assigning(what: string, role: string): Attempt {
  const unread = `a statement of role \`${role}\`, which you may not read, exceeds what you hold`;
  return { what, right: 'AssignRole', on: roleResource(role), unread };
}

/** Anyone who holds the secret of a service token has its roles. */
export function takingOver(token: string, role: string): Attempt {
  const what = `rotate service token \`${token}\``;
  const unnamed = `you may not ${what}: a statement of one of its roles, which you may not read, exceeds what you hold`;
  return { ...assigning(what, role), unnamed };
}

/** The deletion of a service token takes its role. */
export function deleting(token: string, role: string): Attempt {
  const what = `delete service token \`${token}\`, which has role \`${role}\``;
  const unnamed = `you may not delete service token \`${token}\`: it has a role, which you may not read, that you may not remove`;
  return { ...assigning(what, role), unnamed };
}

export function unreadable(attempt: Attempt, policy: string): ManagerError {
  const text = `policy \`${policy}\` is invalid and denies everything, so it cannot be compared with your grants`;
  return refused(attempt, unreadPolicy(attempt, policy, text));
}

export function refused({ what, right, on, unnamed }: Attempt, reason: string | GuardedText): ManagerError {
  const text = readableText`you may not ${what}: ${reason}; the right \`${right}\` on \`${formatSrn(on)}\` would allow it`;
  if (unnamed === undefined) return new ManagerError('forbidden', text);
  const rights = [assignmentsRight(on.levels[0]?.id ?? '')];
  return new ManagerError('forbidden', readableText`${{ rights, text, otherwise: unnamed }}`);
}

/** A reason that is about a policy. Which policies a role has is read with the role. */
export function unreadPolicy({ on, right, unread }: Attempt, policy: string, text: string | ReadableText): GuardedText {
  const role = on.levels[0]?.id ?? '';
  const rights = [readRight('Policy', policy), ...(right === 'AssignRole' ? [readRight('Role', role)] : [])];
  return { rights, text, otherwise: unread };
}

/** A reason that is about a statement; the caller knows its own text. */
function ofStatement(
  attempt: Attempt,
  statement: CompiledStatement | undefined,
  text: string | ReadableText,
): GuardedText {
  if (attempt.isOwnText === true) return { rights: [], text, otherwise: '' };
  return unreadPolicy(attempt, statement?.policy ?? '', text);
}

export function describe(
  attempt: Attempt,
  { statement, action, resource, deniedBy }: MissingGrant,
  notHeld = 'which you do not hold',
): GuardedText {
  const grant = `\`${action}\` on \`${resource}\``;
  const gives = statement.effect === 'allow' ? `gives ${grant}` : `removes the deny of ${grant}`;
  const lacks = deniedBy && {
    rights: [readRight('Policy', deniedBy.policy ?? '')],
    text: `which ${placeOf(deniedBy)} denies to you`,
    otherwise: 'which a statement of your roles denies to you',
  };
  const text = readableText`${placeOf(statement)} ${gives}, ${lacks ?? notHeld}`;
  return ofStatement(attempt, statement, text);
}

export function describeDeny(
  attempt: Attempt,
  { missing: { statement, action, resource }, why }: DenyProblem,
): GuardedText {
  const whom = why === 'not-held' ? ', which you do not hold' : ' to you, too';
  const denies = `denies \`${action}\` on \`${resource}\`${whom}, so that you could not take it back`;
  return ofStatement(attempt, statement, `${placeOf(statement)} ${denies}`);
}

/** Runs a comparison of statements with those of the caller. @throws {ManagerError} forbidden if it would take too long */
export function compared<T>(attempt: Attempt, statements: readonly CompiledStatement[], comparison: () => T): T {
  try {
    return comparison();
  } catch (error) {
    if (!(error instanceof TooManyComparisons)) throw error;
    const text = 'it has too many statements to compare with your own: split the policy';
    throw refused(attempt, ofStatement(attempt, statements[0], text));
  }
}

function placeOf({ policy, index }: CompiledStatement): string {
  return `statements[${index}] of policy \`${policy ?? ''}\``;
}
