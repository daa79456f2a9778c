import type { Slices } from '../../platform/long-work.ts';
import type { Policy, Role } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { Directory } from '../directory.ts';
import { isPredefined } from '../policy/predefined.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Principal } from '../principal.ts';
import { expiryOf } from '../subjects.ts';
import { policyResource, roleResource } from '../policy/srn.ts';
import type { IfMatch } from './content-versions.ts';
import { exactly, label, requireName, type ResourceEditor } from './editor.ts';
import { type ListPart, type ListRange, nameOf, NOTHING, readablePart } from './list-part.ts';
import { confirmTarget, removeUnreferenced } from './references.ts';
import { ManagerError } from '../errors.ts';
import { assignmentsRight, readableText } from '../readable-text.ts';
import type { EscalationGuard } from './escalation.ts';
import type { Guards } from './guards.ts';
import { isManagedByRest, roleView, versionOf, type RoleView } from './views.ts';

export interface NewRole {
  /** An RFC 1123 subdomain. */
  readonly name: string;
  readonly description?: string;
}

/** Maximum policies of a role; the same limit as in the schema. */
const MAX_POLICIES = 256;

/** Roles and their attached policies. The caller must check the permission for the action first. */
export class RoleManager {
  readonly #editor: ResourceEditor;
  readonly #directory: Directory;
  readonly #escalation: EscalationGuard;

  constructor(editor: ResourceEditor, directory: Directory, { escalation }: Guards) {
    this.#editor = editor;
    this.#directory = directory;
    this.#escalation = escalation;
  }

  /** @throws {StoreError} invalid, already-exists */
  async create(caller: Principal, { name, description }: NewRole): Promise<RoleView> {
    requireName(name);
    requireNotReserved('Role', name);
    if (this.#editor.store.get('Role', name))
      throw new ManagerError('already-exists', `role \`${name}\` exists already`);
    const role: Role = {
      apiVersion: API_VERSION,
      kind: 'Role',
      metadata: this.#editor.newMetadata(name, caller),
      spec: { ...(description === undefined ? {} : { description }), policies: [] },
    };
    await this.#requireNoLeftovers(name);
    return roleView(await this.#editor.store.create('Role', role));
  }

  /**
   * An assignment that was created through REST names an existing role. One without its role is a leftover, and a new role of this name must not
   * have its subjects. Other clients of the Kubernetes API may create an assignment before its role.
   */
  async #requireNoLeftovers(role: string): Promise<void> {
    const leftover = this.#editor.store
      .list('RoleAssignment')
      .find(({ spec, metadata }) => spec.role === role && isManagedByRest(metadata));
    if (leftover === undefined) return;
    const assignment = {
      rights: [assignmentsRight(role)],
      text: `role assignment \`${leftover.metadata.name}\``,
      otherwise: 'a role assignment, which you may not read,',
    };
    throw new ManagerError(
      'conflict',
      readableText`${assignment} of an earlier role \`${role}\` still exists, and its subjects would get the new role: delete it first by \`delete-assignment\``,
    );
  }

  /** In the local view; undefined if there is no such role. */
  version(name: string): string | undefined {
    const role = this.#editor.store.get('Role', name);
    return role && versionOf(role.metadata);
  }

  get(name: string): RoleView {
    return roleView(this.#editor.mustGet('Role', name));
  }

  /** Roles that the caller may read, by name. */
  *list(caller: Principal, range: ListRange = {}): Slices<ListPart<Role>> {
    if (!this.#directory.grantsOf(caller).mayAllow('GetRole', 'role')) return NOTHING;
    const mayRead = ({ metadata }: Role): boolean =>
      this.#directory.isAllowed(caller, 'GetRole', roleResource(metadata.name));
    return yield* readablePart(this.#editor.store.list('Role'), { keyOf: nameOf, mayRead }, range);
  }

  /** @throws {StoreError} not-found, conflict, forbidden */
  async update(
    caller: Principal,
    name: string,
    changes: { description?: string; name?: string },
    ifMatch?: IfMatch,
  ): Promise<RoleView> {
    const base = await this.#editor.find('Role', name);
    requireSameName('Role', name, changes.name);
    requireNotPredefined('Role', name);
    const { description } = changes;
    const change = (spec: Role['spec']): Role['spec'] =>
      description === undefined || description === spec.description ? spec : { ...spec, description };
    return roleView(await this.#editor.edit('Role', name, caller, change, { replaces: base, ifMatch }));
  }

  /**
   * Assignments that have expired are deleted, too.
   * @throws {StoreError} not-found; conflict while a subject has the role; forbidden
   */
  async remove(name: string, ifMatch?: IfMatch): Promise<void> {
    this.#editor.mustGet('Role', name);
    requireNotPredefined('Role', name);
    const holder = async (): Promise<ManagerError | undefined> => {
      const { store } = this.#editor;
      const assignments = (await store.readAll('RoleAssignment')).filter(({ spec }) => spec.role === name);
      const subject = assignments
        .flatMap(({ spec }) => spec.subjects)
        .find((one) => expiryOf(one) > this.#editor.now());
      if (subject !== undefined) return stillAssigned(name, subject);
      for (const expired of assignments) await store.delete('RoleAssignment', expired.metadata.name, exactly(expired));
      return undefined;
    };
    await removeUnreferenced(this.#editor, 'Role', name, { holder, ifMatch });
  }

  /** Attaching an attached policy is not an error. @throws {StoreError} not-found (role), invalid (policy), forbidden */
  async attach(caller: Principal, name: string, policy: string, ifMatch?: IfMatch): Promise<RoleView> {
    const { spec } = this.#editor.mustGet('Role', name);
    const found = this.#editor.store.get('Policy', policy);
    requireNotPredefined('Role', name);
    const contents = await this.#escalation.read([policy, ...this.#escalation.withDenies(spec.policies ?? [])]);
    const requireMayAttach = (others: readonly string[] = []): void =>
      this.#escalation.requireMayAttach(caller, name, others, policy, contents);
    // Before the condition, which the edit checks first, so that a caller without the right cannot find out the version. A caller that may not read
    // the policy gets the same response whether it exists, is attached, or neither.
    const isAttached = spec.policies?.includes(policy) === true;
    const others = (spec.policies ?? []).filter((other) => other !== policy);
    if (!isAttached || !this.#escalation.knows(caller, policy)) requireMayAttach(others);
    if (found === undefined) throw missingPolicy(policy);
    let attached = false;
    const change = (current: Role['spec']): Role['spec'] => {
      const changed = withPolicy(name, current, policy);
      attached = changed !== current;
      if (attached) requireMayAttach(current.policies);
      return changed;
    };
    const role = await this.#editor.edit('Role', name, caller, change, { replaces: 'nothing', ifMatch, fresh: true });
    if (await confirmTarget(this.#editor, 'Policy', policy, found.metadata.uid)) return roleView(role);
    const undo = (current: Role['spec']): Role['spec'] => withoutPolicy(current, policy);
    if (attached) await this.#editor.edit('Role', name, caller, undo, { replaces: 'nothing' });
    throw missingPolicy(policy);
  }

  /** Detaching a policy that is not attached is not an error. @throws {StoreError} not-found, forbidden */
  async detach(caller: Principal, name: string, policy: string, ifMatch?: IfMatch): Promise<RoleView> {
    const { spec } = this.#editor.mustGet('Role', name);
    // A deleted policy can still be detached from a role that references it.
    const isAttached = spec.policies?.includes(policy) === true;
    const knows = this.#escalation.knows(caller, policy);
    if (knows && !isAttached && this.#editor.store.get('Policy', policy) === undefined) throw missingPolicy(policy);
    requireNotPredefined('Role', name);
    // A caller that may not read the policy gets the same response whether the role has it, with denies that exceed the caller, or not.
    if (!knows && !isAttached) this.#escalation.refuseDetach(name, policy);
    const others = (spec.policies ?? []).filter((other) => other !== policy);
    const names = [policy, ...this.#escalation.withDenies(others)];
    const contents = await this.#escalation.read(names);
    // Before the condition, which the edit checks first.
    if (isAttached) this.#escalation.requireMayDetach(caller, name, others, policy, contents);
    let detached = false;
    const change = (current: Role['spec']): Role['spec'] => {
      const changed = withoutPolicy(current, policy);
      detached = changed !== current;
      if (detached) this.#escalation.requireMayDetach(caller, name, changed.policies ?? [], policy, contents);
      return changed;
    };
    const role = await this.#editor.edit('Role', name, caller, change, { replaces: 'nothing', ifMatch });
    if (detached) await this.#confirmDetached(caller, role, policy, names);
    return roleView(role);
  }

  /** Another writer may rely on a deny that was added to the policy during the edit: the role then keeps the policy. */
  async #confirmDetached(caller: Principal, { metadata, spec }: Role, policy: string, names: string[]): Promise<void> {
    try {
      const contents = await this.#escalation.read(names);
      this.#escalation.requireMayDetach(caller, metadata.name, spec.policies ?? [], policy, contents);
    } catch (error) {
      const undo = (current: Role['spec']): Role['spec'] => withPolicy(metadata.name, current, policy);
      await this.#editor.edit('Role', metadata.name, caller, undo, { replaces: 'nothing' });
      throw error;
    }
  }

  /** Existing policies of a role that the caller may read, by name. @throws {StoreError} not-found */
  *policies(caller: Principal, name: string, range: ListRange = {}): Slices<ListPart<Policy>> {
    const names = (this.#editor.mustGet('Role', name).spec.policies ?? []).toSorted();
    const policies = names.map((policy) => this.#editor.store.get('Policy', policy));
    const mayRead = ({ metadata }: Policy): boolean =>
      this.#directory.isAllowed(caller, 'GetPolicy', policyResource(metadata.name));
    const existing = policies.filter((policy) => policy !== undefined);
    return yield* readablePart(existing, { keyOf: nameOf, mayRead }, range);
  }
}

/** @param subject one of those with the role */
function stillAssigned(role: string, { type, name }: Subject): ManagerError {
  const whom = {
    rights: [assignmentsRight(role)],
    text: `${type} \`${name}\``,
    otherwise: 'a subject, which you may not read',
  };
  return new ManagerError(
    'conflict',
    readableText`role \`${role}\` is assigned to ${whom}: delete the assignment first`,
  );
}

function missingPolicy(policy: string): ManagerError {
  return new ManagerError('invalid', `\`policySrn\`: there is no policy \`${policy}\``);
}

function withPolicy(role: string, spec: Role['spec'], policy: string): Role['spec'] {
  const policies = spec.policies ?? [];
  if (policies.includes(policy)) return spec;
  if (policies.length >= MAX_POLICIES) {
    throw new ManagerError('invalid', `role \`${role}\` has ${MAX_POLICIES} policies, which is the maximum`);
  }
  return { ...spec, policies: [...policies, policy] };
}

function withoutPolicy(spec: Role['spec'], policy: string): Role['spec'] {
  const policies = spec.policies ?? [];
  return policies.includes(policy) ? { ...spec, policies: policies.filter((name) => name !== policy) } : spec;
}

type ReferencedKind = 'Role' | 'Policy';

/** @throws {ManagerError} forbidden */
export function requireNotPredefined(kind: ReferencedKind, name: string): void {
  if (!isPredefined(name)) return;
  throw new ManagerError(
    'forbidden',
    `${label(kind)} \`${name}\` is predefined and read-only: the operator would restore it; create another ${label(kind)} instead`,
  );
}

/** @throws {ManagerError} already-exists */
export function requireNotReserved(kind: ReferencedKind, name: string): void {
  if (!isPredefined(name)) return;
  throw new ManagerError(
    'already-exists',
    `the name \`${name}\` is reserved for a predefined ${label(kind)}: choose another`,
  );
}

/** @throws {ManagerError} invalid */
export function requireSameName(kind: ReferencedKind, name: string, sent: string | undefined): void {
  if (sent === undefined || sent === name) return;
  throw new ManagerError(
    'invalid',
    `\`name\`: the name of ${label(kind)} \`${name}\` cannot be changed: create another ${label(kind)} and delete this one`,
  );
}
