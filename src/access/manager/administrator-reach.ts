import type { Policy, Role, RoleAssignment } from '../../resources/kinds.ts';
import { isBeingDeleted } from '../../resources/meta.ts';
import type { Statement } from '../../resources/policy.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { askAction, includesAction } from '../policy/action-set.ts';
import { RBAC_ACTIONS } from '../policy/actions.ts';
import {
  isDenying,
  isInvalid,
  compilePolicy,
  type CompiledPolicy,
  type CompiledStatement,
} from '../policy/compiled-policy.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES, SYSTEM_ADMIN } from '../policy/predefined.ts';
import { regionsOf } from '../policy/region.ts';
import { expiryOf, foldCase, sameSubject, subjectKey } from '../subjects.ts';

/** Roles, policies and assignments as a store has them, or as a change would leave them; without those that are being deleted. */
export interface AccessState {
  readonly policies: readonly Policy[];
  readonly roles: readonly Role[];
  readonly assignments: readonly RoleAssignment[];
}

/** The current state. @throws {StoreError} unavailable */
export async function readState(store: Pick<ResourceStore, 'readAll'>): Promise<AccessState> {
  const assignments = inEffect(await store.readAll('RoleAssignment'));
  return {
    assignments,
    roles: inEffect(await store.readAll('Role')),
    policies: inEffect(await store.readAll('Policy')),
  };
}

/** The state in the local view, which may be behind. */
export function viewedState(store: Pick<ResourceStore, 'list'>): AccessState {
  const [assignments, roles] = [inEffect(store.list('RoleAssignment')), inEffect(store.list('Role'))];
  return { assignments, roles, policies: inEffect(store.list('Policy')) };
}

function inEffect<T extends Policy | Role | RoleAssignment>(objects: readonly T[]): readonly T[] {
  return objects.filter((object) => !isBeingDeleted(object));
}

/** Somebody with the role `system-admin`. */
export interface Holder {
  readonly subject: Subject;
  readonly assignment: RoleAssignment;
  /** Milliseconds since the epoch; Infinity if the assignment does not expire. */
  readonly expiry: number;
}

export interface ReachOptions {
  /** Gives equal subjects one name. */
  readonly canonical: (subject: Subject) => Subject;
  /** Milliseconds since the epoch: what has expired does not count. */
  readonly now: number;
  /** Whether policies allow an action on role `system-admin`. */
  readonly allows: (policies: readonly CompiledPolicy[], action: string) => boolean;
}

/** A holder who may do this can make another administrator, and so repair everything. */
const NEEDED = ['CreateAssignment', 'AssignRole'];

const CERTAIN = 'certain';

/** What the denies of a state do to those who hold `system-admin`. */
export class AdministratorReach {
  readonly holders: readonly Holder[];
  readonly #options: ReachOptions;
  readonly #policies: ReadonlyMap<string, Policy>;
  readonly #roles: ReadonlyMap<string, Role>;
  readonly #compiled = new Map<string, CompiledPolicy | undefined>();
  /** Subjects of the roles that deny something. */
  readonly #denied: readonly Denied[];

  constructor(state: AccessState, options: ReachOptions) {
    this.#options = options;
    // Predefined ones are what they are restored to.
    this.#policies = byName([...state.policies, ...PREDEFINED_POLICIES]);
    this.#roles = byName([...state.roles, ...PREDEFINED_ROLES]);
    const active = activeSubjects(state, options);
    this.holders = active.filter(({ assignment }) => assignment.spec.role === SYSTEM_ADMIN);
    const denyingByRole = new Map<string, readonly CompiledPolicy[]>();
    for (const name of new Set(active.map(({ assignment }) => assignment.spec.role))) {
      const denying = this.#policiesOf(name).filter(isDenying);
      if (denying.length > 0) denyingByRole.set(name, denying);
    }
    this.#denied = active.flatMap(({ subject, assignment, expiry }) => {
      const denying = denyingByRole.get(assignment.spec.role);
      return denying ? [{ subject, denying, expiry }] : [];
    });
  }

  /**
   * A deny that reaches a holder here, and in `before` not at all or not for as long; undefined if there is none. Members of groups are not
   * known: a deny that may reach a holder by a group counts if it denies something of the RBAC manager.
   */
  newDeny(before: AdministratorReach): ReachingDeny | undefined {
    for (const { subject } of this.holders) {
      const denies = this.#denies(subject);
      if (denies.length === 0) continue;
      const known = new Map<string, number>();
      for (const { by, text, expiry } of before.#denies(subject)) {
        const key = `${by} ${text}`;
        known.set(key, Math.max(expiry, known.get(key) ?? -Infinity));
      }
      const lasts = (key: string): number => known.get(key) ?? -Infinity;
      const added = denies.find(
        ({ by, text, expiry }) => lasts(`${by} ${text}`) < expiry && lasts(`${CERTAIN} ${text}`) < expiry,
      );
      if (added) return added;
    }
    return undefined;
  }

  /** Whether a holder can make another administrator, as far as the denies of its own subject and of its domain are concerned. */
  isEffective(holder: Subject): boolean {
    const denying = this.#denied.filter(({ subject }) => relationOf(subject, holder) === 'certain');
    const policies = new Set([...this.#policiesOf(SYSTEM_ADMIN), ...denying.flatMap((denied) => denied.denying)]);
    return NEEDED.every((action) => this.#options.allows([...policies], action));
  }

  #denies(holder: Subject): ReachingDeny[] {
    return this.#denied.flatMap(({ subject, denying, expiry }) => {
      const relation = relationOf(subject, holder);
      if (relation === 'none') return [];
      const certain = relation === 'certain';
      // What may reach the holder by one group says nothing about another group.
      const by = certain ? CERTAIN : subjectKey(subject.type, subject.name);
      const counts = certain ? () => true : deniesAdministration;
      return denying.flatMap((policy) => this.#deniesOf(policy, { by, expiry, counts }));
    });
  }

  #deniesOf(
    policy: CompiledPolicy,
    { by, expiry, counts }: Pick<ReachingDeny, 'by' | 'expiry'> & { counts: (deny: CompiledStatement) => boolean },
  ): ReachingDeny[] {
    const { name = '', statements } = policy;
    if (isInvalid(policy)) return [{ by, expiry, text: `invalid ${name}`, policy: name, index: undefined }];
    const stored = this.#policies.get(name)?.spec.statements;
    return statements
      .filter((statement) => statement.effect === 'deny' && counts(statement))
      .map(({ index }) => ({ by, expiry, text: grantText(stored?.[index]), policy: name, index }));
  }

  #policiesOf(role: string): CompiledPolicy[] {
    return (this.#roles.get(role)?.spec.policies ?? []).flatMap((name) => this.#policy(name) ?? []);
  }

  #policy(name: string): CompiledPolicy | undefined {
    if (this.#compiled.has(name)) return this.#compiled.get(name);
    const found = this.#policies.get(name);
    const compiled = found && compilePolicy(name, found.spec);
    this.#compiled.set(name, compiled);
    return compiled;
  }
}

/** A subject with denying policies. */
interface Denied {
  readonly subject: Subject;
  readonly denying: readonly CompiledPolicy[];
  /** As in Holder. */
  readonly expiry: number;
}

/** A deny of a stored policy; without an index where the policy is invalid, so that it denies everything. */
export interface ReachingDeny {
  /** CERTAIN, or the subject by which it may reach the holder. */
  readonly by: string;
  /** Of the assignment by which it reaches the holder: milliseconds since the epoch, or Infinity. */
  readonly expiry: number;
  /** Equal for statements that deny the same. */
  readonly text: string;
  readonly policy: string;
  readonly index: number | undefined;
}

function byName<T extends Policy | Role>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]));
}

/** All subjects of all assignments that have not expired. */
function activeSubjects({ assignments }: AccessState, { canonical, now }: ReachOptions): Holder[] {
  return assignments.flatMap((assignment) =>
    assignment.spec.subjects
      .map((subject) => ({ subject: canonical(subject), assignment, expiry: expiryOf(subject) }))
      .filter(({ expiry }) => expiry > now),
  );
}

/** Identifies what a statement grants or denies. */
export function grantText(statement: Statement | undefined): string {
  return JSON.stringify([statement?.effect, statement?.actions, statement?.resources]);
}

/** Whether somebody can be both subjects. */
function relationOf(other: Subject, holder: Subject): 'certain' | 'possible' | 'none' {
  if (sameSubject(other, holder)) return 'certain';
  if (other.type === 'service-token' || holder.type === 'service-token') return 'none';
  const domains = [domainOf(other), domainOf(holder)];
  const types = new Set([other.type, holder.type]);
  if (!types.has('group') && types.size === 1) return 'none';
  return !types.has('group') && domains[0] === domains[1] ? 'certain' : 'possible';
}

/** Undefined for a group and for a user name that is not an e-mail address. */
function domainOf({ type, name }: Subject): string | undefined {
  if (type === 'domain') return foldCase(name);
  const at = name.lastIndexOf('@');
  return type === 'user-email' && at >= 0 ? foldCase(name.slice(at + 1)) : undefined;
}

const MANAGED = new Set(['role', 'policy', 'service-token']);
const ADMINISTRATION = RBAC_ACTIONS.map(askAction);

function deniesAdministration({ actions, resources }: CompiledStatement): boolean {
  return (
    ADMINISTRATION.some((action) => includesAction(actions, action)) &&
    resources.some((pattern) => regionsOf(pattern).some(({ kind }) => MANAGED.has(kind)))
  );
}
