import type { Role } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { Directory } from '../directory.ts';
import { isPredefined } from '../policy/predefined.ts';
import type { Principal } from '../principal.ts';
import { policyResource, roleResource } from '../policy/srn.ts';
import { label, requireName, type ResourceEditor } from './editor.ts';
import { ManagerError } from '../errors.ts';
import type { EscalationGuard } from './escalation.ts';
import { policySummary, roleView, type PolicySummary, type RoleView } from './views.ts';

export interface NewRole {
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

  constructor(editor: ResourceEditor, directory: Directory, escalation: EscalationGuard) {
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
    return roleView(await this.#editor.store.create('Role', role));
  }

  get(name: string): RoleView {
    return roleView(this.#editor.mustGet('Role', name));
  }

  /** Roles that the caller may read, by name. */
  list(caller: Principal): RoleView[] {
    return this.#editor.store
      .list('Role')
      .filter(({ metadata }) => this.#directory.isAllowed(caller, 'GetRole', roleResource(metadata.name)))
      .map(roleView);
  }

  /** @throws {StoreError} not-found, conflict, forbidden */
  async update(caller: Principal, name: string, changes: { description?: string; name?: string }): Promise<RoleView> {
    const base = this.#editor.mustGet('Role', name);
    requireSameName('Role', name, changes.name);
    requireNotPredefined('Role', name);
    const { description } = changes;
    const change = (spec: Role['spec']): Role['spec'] =>
      description === undefined || description === spec.description ? spec : { ...spec, description };
    return roleView(await this.#editor.edit('Role', name, caller, change, { replaces: base }));
  }

  /** @throws {StoreError} not-found; conflict while a subject is assigned; forbidden */
  async remove(name: string): Promise<void> {
    this.#editor.mustGet('Role', name);
    requireNotPredefined('Role', name);
    await this.#editor.remove('Role', name, () => {
      if (this.#directory.subjectCount(name) === 0) return;
      const holder = this.#editor.store.list('RoleAssignment').find(({ spec }) => spec.role === name);
      const by = holder ? ` by role assignment \`${holder.metadata.name}\`` : '';
      throw new ManagerError('conflict', `role \`${name}\` is assigned${by}: delete the assignment first`);
    });
  }

  /** Attaching an attached policy is not an error. @throws {StoreError} not-found (role), invalid (policy), forbidden */
  async attach(caller: Principal, name: string, policy: string): Promise<RoleView> {
    this.#editor.mustGet('Role', name);
    this.#requirePolicy(policy);
    requireNotPredefined('Role', name);
    const add = (current: Role['spec']): Role['spec'] => {
      const changed = withPolicy(name, current, policy);
      // Checked with the policies that the role has in this write.
      if (changed !== current) this.#escalation.requireMayAttach(caller, name, current.policies ?? [], policy);
      return changed;
    };
    const role = await this.#editor.edit('Role', name, caller, add, { replaces: 'nothing' });
    if (!this.#editor.store.get('Policy', policy)) {
      // The policy was deleted during the edit: undo, so that no role references a missing policy.
      await this.#editor.edit('Role', name, caller, (spec) => withoutPolicy(spec, policy), { replaces: 'nothing' });
      this.#requirePolicy(policy);
    }
    return roleView(role);
  }

  /** Detaching a policy that is not attached is not an error. @throws {StoreError} not-found, forbidden */
  async detach(caller: Principal, name: string, policy: string): Promise<RoleView> {
    const { spec } = this.#editor.mustGet('Role', name);
    // A deleted policy can still be detached from a role that references it.
    if (!spec.policies?.includes(policy)) this.#requirePolicy(policy);
    requireNotPredefined('Role', name);
    const change = (current: Role['spec']): Role['spec'] => {
      const changed = withoutPolicy(current, policy);
      if (changed !== current) this.#escalation.requireMayDetach(caller, name, changed.policies ?? [], policy);
      return changed;
    };
    return roleView(await this.#editor.edit('Role', name, caller, change, { replaces: 'nothing' }));
  }

  /** Existing policies of a role that the caller may read, by name. @throws {StoreError} not-found */
  policies(caller: Principal, name: string): PolicySummary[] {
    const { spec } = this.#editor.mustGet('Role', name);
    const summaries: PolicySummary[] = [];
    for (const policyName of (spec.policies ?? []).toSorted()) {
      const policy = this.#editor.store.get('Policy', policyName);
      if (policy && this.#directory.isAllowed(caller, 'GetPolicy', policyResource(policyName))) {
        summaries.push(policySummary(policy));
      }
    }
    return summaries;
  }

  #requirePolicy(policy: string): void {
    if (this.#editor.store.get('Policy', policy)) return;
    throw new ManagerError('invalid', `\`policySrn\`: there is no policy \`${policy}\``);
  }
}

function withPolicy(role: string, spec: Role['spec'], policy: string): Role['spec'] {
  const policies = spec.policies ?? [];
  if (policies.includes(policy)) return spec;
  if (policies.length >= MAX_POLICIES) {
    throw new ManagerError('invalid', `role \`${role}\` holds ${MAX_POLICIES} policies already, and that is the most`);
  }
  return { ...spec, policies: [...policies, policy] };
}

function withoutPolicy(spec: Role['spec'], policy: string): Role['spec'] {
  const policies = spec.policies ?? [];
  return policies.includes(policy) ? { ...spec, policies: policies.filter((name) => name !== policy) } : spec;
}

type Named = 'Role' | 'Policy';

/** @throws {ManagerError} forbidden */
export function requireNotPredefined(kind: Named, name: string): void {
  if (!isPredefined(name)) return;
  throw new ManagerError(
    'forbidden',
    `${label(kind)} \`${name}\` is predefined and read-only: the platform would restore it; make a ${label(kind)} of your own instead`,
  );
}

/** @throws {ManagerError} already-exists */
export function requireNotReserved(kind: Named, name: string): void {
  if (!isPredefined(name)) return;
  throw new ManagerError(
    'already-exists',
    `the name \`${name}\` belongs to a predefined ${label(kind)}: choose another`,
  );
}

/** @throws {ManagerError} invalid */
export function requireSameName(kind: Named, name: string, sent: string | undefined): void {
  if (sent === undefined || sent === name) return;
  throw new ManagerError(
    'invalid',
    `\`name\`: the name of ${label(kind)} \`${name}\` cannot be changed: make another ${label(kind)} and delete this one`,
  );
}
