import type { PolicySpec, Statement } from '../../resources/policy.ts';
import type { Directory } from '../directory.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { isStoreError, ManagerError } from '../errors.ts';
import { ADMINISTRATION } from '../policy/administration.ts';
import {
  byEffect,
  compilePolicy,
  isDenying,
  isInvalid,
  type CompiledPolicy,
  type CompiledStatement,
} from '../policy/compiled-policy.ts';
import type { Gain } from '../policy/gain.ts';
import { PREDEFINED_POLICIES, SYSTEM_ADMIN } from '../policy/predefined.ts';
import { policyResource } from '../policy/srn.ts';
import type { Principal } from '../principal.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { assignmentsRight, readableText } from '../readable-text.ts';
import { sameSubject } from '../subjects.ts';
import { problemOfDenies, type AddedDenies } from './deny-containment.ts';
import {
  assigning,
  binding,
  compared,
  describe,
  describeDeny,
  refused,
  takingOver,
  unbinding,
  unreadable,
  unreadPolicy,
  writing,
  type Attempt,
} from './refusals.ts';

/** Policies as they are in the store, by name. */
export type PolicyContents = ReadonlyMap<string, CompiledPolicy>;

/** Up to this many policies are read one by one, more of them as a list. */
const MAX_SINGLE_READS = 8;

/**
 * Prevents privilege escalation. A caller who writes a policy, attaches, detaches, assigns or unassigns must hold every grant that any subject
 * gains by the change, or a delegation right on that policy or role. If a deny no longer applies, the subject gains what it denied. A deny that
 * begins to apply is compared as well (problemOfDenies()), so that nobody can deny to others what it cannot allow again.
 *
 * Every method checks only what its change adds. Concurrent changes by several callers, in any order, therefore give no subject more than
 * these callers hold together. Denies are read from the store, not from the local view: the view may be older, and a caller could remove a
 * new deny at a gateway that has not received it yet.
 */
export class EscalationGuard {
  readonly #directory: Directory;
  readonly #store: ResourceStore;

  constructor(directory: Directory, store: ResourceStore) {
    this.#directory = directory;
    this.#store = store;
  }

  /** Reads policies from the store, for the methods below. For predefined ones the predefined content is used, because the operator restores it. @throws {StoreError} */
  async read(names: readonly string[]): Promise<PolicyContents> {
    const wanted = new Set(names);
    const found =
      wanted.size > MAX_SINGLE_READS
        ? (await this.#store.readAll('Policy')).filter(({ metadata }) => wanted.has(metadata.name))
        : await Promise.all([...wanted].map((name) => this.#store.read('Policy', name)));
    const contents = new Map<string, CompiledPolicy>();
    for (const policy of found) {
      if (policy) contents.set(policy.metadata.name, compilePolicy(policy.metadata.name, policy.spec));
    }
    for (const name of wanted) {
      const predefined = PREDEFINED.get(name);
      if (predefined) contents.set(name, predefined);
    }
    return contents;
  }

  /** Whether the caller may read a policy or attach it whatever it contains: others get no message that depends on its existence. */
  knows(caller: Principal, policy: string): boolean {
    return this.mayRead(caller, policy) || this.#directory.wouldAllow(caller, 'BindPolicy', policyResource(policy));
  }

  /** Those of the policies that may deny something. */
  withDenies(names: readonly string[]): string[] {
    return names.filter((name) => {
      const policy = this.#directory.engine.compiledPolicy(name);
      return policy !== undefined && isDenying(policy);
    });
  }

  /** Whether the caller may read a policy. A response about one that it may not read must not depend on what the policy contains. */
  mayRead(caller: Principal, policy: string): boolean {
    return this.#directory.wouldAllow(caller, 'GetPolicy', policyResource(policy));
  }

  /**
   * @param before the stored spec; undefined for a new policy. Of a caller that may not read it, all statements of `after` count as new: it would
   *   find out by the message which of them are stored
   * @throws {ManagerError} forbidden
   */
  requireMayWritePolicy(caller: Principal, name: string, before: PolicySpec | undefined, after: PolicySpec): void {
    const attempt = writing(name);
    if (before?.statements === after.statements) return;
    const known = this.mayRead(caller, name) ? before : undefined;
    if (known && JSON.stringify(known.statements) === JSON.stringify(after.statements)) return;
    const { allows, denies: denied } = byEffect(compilePolicy(name, after).statements);
    const kept = new Set(known?.statements.map(grantText));
    const isNew = ({ index }: CompiledStatement): boolean => !kept.has(grantText(after.statements[index]));
    const sent = { ...attempt, isOwnText: true };
    const roles = new Set(this.#directory.engine.rolesHolding(name));
    const toCaller = this.#directory.rolesOf(caller).some((role) => roles.has(role));
    const already = byEffect((known && compilePolicy(name, known))?.statements ?? []).denies;
    const requireStored = (): void => {
      const old = before && compilePolicy(name, before);
      if (old && isInvalid(old) && !this.#has(caller, attempt)) throw unreadable(attempt, name);
      this.#require(caller, attempt, { gained: byEffect(old?.statements ?? []).denies, denied });
    };
    if (known) requireStored();
    // Subjects of the policy have the kept grants already. So a caller who does not hold them may still change others.
    this.#require(caller, sent, { gained: allows.filter(isNew), denied });
    this.#requireDenies(caller, sent, { added: denied.filter(isNew), already, toCaller });
    // Last, so that the outcome does not depend on what is stored unless all that is sent may be written.
    if (!known) requireStored();
  }

  /**
   * @param others policies of the role without the new one
   * @param contents the new policy, and those of the others whose denies apply
   * @throws {ManagerError} forbidden
   */
  requireMayAttach(
    caller: Principal,
    role: string,
    others: readonly string[],
    policy: string,
    contents: PolicyContents,
  ): void {
    const attempt = binding(`attach policy \`${policy}\` to role \`${role}\``, policy);
    if (!contents.has(policy) && !this.knows(caller, policy)) throw refused(attempt, unreadPolicy(attempt, policy, ''));
    const gained = this.#statements(caller, attempt, [policy], contents);
    const { allows, denies } = byEffect(gained);
    const already = byEffect(readable(others, contents)).denies;
    this.#require(caller, attempt, { gained: allows, denied: denies.concat(already) });
    const toCaller = this.#directory.rolesOf(caller).includes(role);
    this.#requireDenies(caller, attempt, { added: denies, already, toCaller });
  }

  /**
   * @param others policies of the role without the detached one
   * @param contents the detached policy, and those of the others whose denies apply
   * @throws {ManagerError} forbidden
   */
  requireMayDetach(
    caller: Principal,
    role: string,
    others: readonly string[],
    policy: string,
    contents: PolicyContents,
  ): void {
    const attempt = unbinding(role, policy);
    const lifted = this.#statements(caller, attempt, [policy], contents);
    this.#require(caller, attempt, {
      gained: byEffect(lifted).denies,
      denied: byEffect(readable(others, contents)).denies,
    });
  }

  /** For a caller that may not know whether the role has the policy. @throws {ManagerError} forbidden */
  refuseDetach(role: string, policy: string): never {
    const attempt = unbinding(role, policy);
    throw refused(attempt, unreadPolicy(attempt, policy, attempt.unread));
  }

  /**
   * @param subjects that get the role
   * @param until last expiry of the assignments, milliseconds since the epoch; Infinity for none
   * @throws {ManagerError} forbidden; conflict if the role changes meanwhile
   */
  async requireMayAssign(
    caller: Principal,
    {
      role,
      policies,
      subjects,
      until,
    }: { role: string; policies: readonly string[]; subjects: readonly Subject[]; until: number },
  ): Promise<void> {
    const attempt = assigning(`assign role \`${role}\``, role);
    const denies = await this.#requireRole(caller, attempt, { role, policies, until });
    const own = this.#directory.subjectsOf(caller);
    const toCaller = subjects.some((subject) => own.some((other) => sameSubject(other, subject)));
    this.#requireDenies(caller, attempt, { added: denies, already: [], toCaller }, until);
  }

  /**
   * Whether the caller may get the secret of a service token, for one of its roles.
   * @param until until when the token has the role, milliseconds since the epoch; Infinity for no end
   * @throws {ManagerError} forbidden; conflict if the role changes meanwhile
   */
  async requireMayTakeOver(caller: Principal, token: string, role: string, until: number): Promise<void> {
    const policies = (await this.#store.read('Role', role))?.spec.policies ?? [];
    await this.#requireRole(caller, takingOver(token, role), { role, policies, until });
  }

  /** Requires what the role gives. @returns its denies; none for a caller with the right of the attempt, and for `system-admin` */
  async #requireRole(
    caller: Principal,
    attempt: Attempt,
    { role, policies, until }: { role: string; policies: readonly string[]; until: number },
  ): Promise<readonly CompiledStatement[]> {
    if (this.#has(caller, attempt)) return [];
    // Its holders have all of it on access, whatever policies the stored role has and whatever these deny.
    if (role === SYSTEM_ADMIN) {
      this.#require(caller, attempt, { gained: ADMINISTRATION }, until);
      return [];
    }
    // The policies are read before the role: every deny that is found was in its policy when the role had the policy.
    const contents = await this.read(policies);
    const current = await this.#store.read('Role', role);
    if (!sameNames(current?.spec.policies ?? [], policies)) {
      const changed = { rights: [assignmentsRight(role)], text: `role \`${role}\``, otherwise: 'the role' };
      throw new ManagerError('conflict', readableText`${changed} was changed by another writer: try again`);
    }
    const { allows, denies } = byEffect(this.#statements(caller, attempt, policies, contents));
    this.#require(caller, attempt, { gained: allows, denied: denies }, until);
    return denies;
  }

  /** Also required to make an assignment expire earlier. @throws {ManagerError} forbidden */
  async requireMayUnassign(
    caller: Principal,
    role: string,
    attempt: Attempt = assigning(`remove role \`${role}\` from a subject`, role),
  ): Promise<void> {
    if (role === SYSTEM_ADMIN && !this.#mayGrantEverything(caller, attempt)) {
      throw refused(attempt, 'you do not hold `*` on `*` without an expiry');
    }
    const policies = (await this.#store.read('Role', role))?.spec.policies ?? [];
    const lifted = this.#statements(caller, attempt, policies, await this.read(policies));
    this.#require(caller, attempt, { gained: byEffect(lifted).denies });
  }

  /** The statements of policies; a policy that does not exist has none. @throws {ManagerError} forbidden, if one is invalid */
  #statements(
    caller: Principal,
    attempt: Attempt,
    policies: readonly string[],
    contents: PolicyContents,
  ): readonly CompiledStatement[] {
    const invalid = policies.find((name) => {
      const policy = contents.get(name);
      return policy !== undefined && isInvalid(policy);
    });
    if (invalid !== undefined && !this.#has(caller, attempt)) throw unreadable(attempt, invalid);
    return readable(policies, contents);
  }

  /** Whether the caller has the right of the attempt, or holds every grant of `system-admin` without an expiry. */
  #mayGrantEverything(caller: Principal, attempt: Attempt): boolean {
    try {
      this.#require(caller, attempt, { gained: ADMINISTRATION });
      return true;
    } catch (error) {
      if (!isStoreError(error, 'forbidden')) throw error;
      return false;
    }
  }

  #has(caller: Principal, { right, on }: Attempt): boolean {
    return this.#directory.isAllowed(caller, right, on);
  }

  /** @param until end of the gain, milliseconds since the epoch: the caller must hold it until then */
  #require(caller: Principal, attempt: Attempt, gain: Gain, until = Infinity): void {
    if (gain.gained.length === 0 || this.#has(caller, attempt)) return;
    const missing = compared(attempt, gain.gained, () => this.#directory.grantsOf(caller).missingGrant(gain));
    if (missing) throw refused(attempt, describe(attempt, missing));
    const ending = compared(attempt, gain.gained, () =>
      this.#directory.grantsLasting(caller, until)?.missingGrant(gain),
    );
    if (ending) throw refused(attempt, describe(attempt, ending, 'which you hold only for a shorter time'));
  }

  /** @param until end of the denies, milliseconds since the epoch */
  #requireDenies(caller: Principal, attempt: Attempt, denies: AddedDenies, until = Infinity): void {
    if (denies.added.length === 0 || this.#has(caller, attempt)) return;
    const problem = compared(attempt, denies.added, () => problemOfDenies(this.#directory, caller, denies, until));
    if (problem) throw refused(attempt, describeDeny(attempt, problem));
  }
}

const PREDEFINED: ReadonlyMap<string, CompiledPolicy> = new Map(
  PREDEFINED_POLICIES.map(({ metadata, spec }) => [metadata.name, compilePolicy(metadata.name, spec)]),
);

/** Of the policies that exist and are valid. */
function readable(policies: readonly string[], contents: PolicyContents): readonly CompiledStatement[] {
  return policies.flatMap((name) => contents.get(name)?.statements ?? []);
}

/** Identifies what a statement grants or denies. */
function grantText(statement: Statement | undefined): string {
  return JSON.stringify([statement?.effect, statement?.actions, statement?.resources, statement?.conditions]);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}
