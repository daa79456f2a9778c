import type { PolicySpec, Statement } from '../../resources/policy.ts';
import type { Directory } from '../directory.ts';
import { ManagerError } from '../errors.ts';
import type { DelegationRight } from '../policy/actions.ts';
import { compilePolicy, type CompiledPolicy, type CompiledStatement } from '../policy/compiled-policy.ts';
import { findMissingGrant, TooManyComparisons, type Gain, type MissingGrant } from '../policy/containment.ts';
import { PREDEFINED_POLICIES } from '../policy/predefined.ts';
import { formatSrn, policyResource, roleResource, type Srn } from '../policy/srn.ts';
import type { Principal } from '../principal.ts';

/** What a caller is about to do, and the right with which the containment check is not needed. */
interface Attempt {
  /** As in `you may not <what>`. */
  readonly what: string;
  readonly right: DelegationRight;
  readonly on: Srn;
}

/**
 * Prevents privilege escalation: whoever writes a policy, attaches, detaches, assigns or unassigns must hold every grant that somebody
 * gains by it, or the right to hand on that policy or role. A deny that no longer applies counts as a grant of what it denied.
 *
 * Every method compares only what its change adds, so that any order of concurrent changes by several callers gives nobody more than
 * these callers hold together.
 */
export class EscalationGuard {
  readonly #directory: Directory;

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  /** @param before the stored spec; undefined for a new policy. @throws {ManagerError} forbidden */
  requireMayWritePolicy(caller: Principal, name: string, before: PolicySpec | undefined, after: PolicySpec): void {
    const attempt = { what: `write policy \`${name}\``, right: 'EscalatePolicy', on: policyResource(name) } as const;
    if (before && JSON.stringify(before.statements) === JSON.stringify(after.statements)) return;
    const old = before && compilePolicy(name, before);
    if (old && isUnreadable(old) && !this.#has(caller, attempt)) throw unreadable(attempt, name);
    const { statements } = compilePolicy(name, after);
    const denied = denies(statements);
    const kept = new Set(before?.statements.map(grantText));
    // Who has the policy has these grants already. Somebody who does not hold them may still add denies.
    const added = allows(statements).filter(({ index }) => !kept.has(grantText(after.statements[index]!)));
    this.#require(caller, attempt, { gained: added, denied });
    this.#require(caller, attempt, { gained: denies(old?.statements), denied });
  }

  /** @param policies of the role, without the new one. @throws {ManagerError} forbidden */
  requireMayAttach(caller: Principal, role: string, policies: readonly string[], policy: string): void {
    const attempt = {
      what: `attach policy \`${policy}\` to role \`${role}\``,
      right: 'BindPolicy',
      on: policyResource(policy),
    } as const;
    const gained = this.#readable(caller, attempt, policy);
    if (!gained) return;
    const denied = denies(gained).concat(denies(this.#statementsOf(policies)));
    this.#require(caller, attempt, { gained: allows(gained), denied });
  }

  /** @param policies of the role, without the one to be detached. @throws {ManagerError} forbidden */
  requireMayDetach(caller: Principal, role: string, policies: readonly string[], policy: string): void {
    const attempt = {
      what: `detach policy \`${policy}\` from role \`${role}\``,
      right: 'BindPolicy',
      on: policyResource(policy),
    } as const;
    const lifted = this.#readable(caller, attempt, policy);
    if (!lifted) return;
    this.#require(caller, attempt, { gained: denies(lifted), denied: denies(this.#statementsOf(policies)) });
  }

  /** @throws {ManagerError} forbidden */
  requireMayAssign(caller: Principal, role: string, policies: readonly string[]): void {
    const attempt = { what: `assign role \`${role}\``, right: 'AssignRole', on: roleResource(role) } as const;
    const gained = policies.flatMap((policy) => this.#readable(caller, attempt, policy) ?? []);
    this.#require(caller, attempt, { gained: allows(gained), denied: denies(gained) });
  }

  /** @throws {ManagerError} forbidden */
  requireMayUnassign(caller: Principal, role: string, policies: readonly string[]): void {
    const attempt = {
      what: `take role \`${role}\` from a subject`,
      right: 'AssignRole',
      on: roleResource(role),
    } as const;
    const lifted = policies.flatMap((policy) => this.#readable(caller, attempt, policy) ?? []);
    this.#require(caller, attempt, { gained: denies(lifted) });
  }

  /** The statements of a policy; none if it does not exist; undefined if it is invalid and the caller has the right for it. */
  #readable(caller: Principal, attempt: Attempt, name: string): readonly CompiledStatement[] | undefined {
    const policy = this.#policy(name);
    if (!policy || !isUnreadable(policy)) return policy?.statements ?? [];
    if (this.#has(caller, attempt)) return undefined;
    throw unreadable(attempt, name);
  }

  /** Of the policies that exist and are valid. */
  #statementsOf(policies: readonly string[]): readonly CompiledStatement[] {
    return policies.flatMap((name) => this.#policy(name)?.statements ?? []);
  }

  /** A predefined policy counts as what it is restored to. */
  #policy(name: string): CompiledPolicy | undefined {
    return PREDEFINED.get(name) ?? this.#directory.engine.compiledPolicy(name);
  }

  #has(caller: Principal, { right, on }: Attempt): boolean {
    return this.#directory.isAllowed(caller, right, on);
  }

  #require(caller: Principal, attempt: Attempt, gain: Gain): void {
    if (gain.gained.length === 0 || this.#has(caller, attempt)) return;
    try {
      const missing = findMissingGrant(this.#directory.grantsOf(caller), gain);
      if (missing) throw refused(attempt, describe(missing));
    } catch (error) {
      if (!(error instanceof TooManyComparisons)) throw error;
      throw refused(attempt, 'it has too many statements to compare with your own: split the policy');
    }
  }
}

const PREDEFINED: ReadonlyMap<string, CompiledPolicy> = new Map(
  PREDEFINED_POLICIES.map(({ metadata, spec }) => [metadata.name, compilePolicy(metadata.name, spec)]),
);

function grantText({ effect, actions, resources }: Statement): string {
  return JSON.stringify([effect, actions, resources]);
}

function isUnreadable({ errors }: CompiledPolicy): boolean {
  return errors.length > 0;
}

function allows(statements: readonly CompiledStatement[] = []): CompiledStatement[] {
  return statements.filter(({ effect }) => effect === 'allow');
}

function denies(statements: readonly CompiledStatement[] = []): CompiledStatement[] {
  return statements.filter(({ effect }) => effect === 'deny');
}

function unreadable(attempt: Attempt, policy: string): ManagerError {
  return refused(
    attempt,
    `policy \`${policy}\` is invalid and denies everything, so it cannot be compared with your grants`,
  );
}

function refused({ what, right, on }: Attempt, reason: string): ManagerError {
  return new ManagerError(
    'forbidden',
    `you may not ${what}: ${reason}; the right \`${right}\` on \`${formatSrn(on)}\` would allow it`,
  );
}

function describe({ statement, action, resource, deniedBy }: MissingGrant): string {
  const grant = `\`${action}\` on \`${resource}\``;
  const gives = statement.effect === 'allow' ? `gives ${grant}` : `lifts the deny of ${grant}`;
  const lacks = deniedBy ? `which ${placeOf(deniedBy)} denies to you` : 'which you do not hold';
  return `${placeOf(statement)} ${gives}, ${lacks}`;
}

function placeOf({ policy, index }: CompiledStatement): string {
  return `statements[${index}] of policy \`${policy ?? ''}\``;
}
