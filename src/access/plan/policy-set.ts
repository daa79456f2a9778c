import type { WallClock } from '../../platform/clock.ts';
import { Views } from '../../store/views.ts';
import type { Policy, Role, RoleAssignment, ServiceToken } from '../../resources/kinds.ts';
import type { Statement } from '../../resources/policy.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { Directory } from '../directory.ts';
import { isInvalid, type CompiledStatement } from '../policy/compiled-policy.ts';
import { storedNames, type RbacKind } from '../policy/policy-warnings.ts';
import { isPredefined, PREDEFINED_POLICIES, PREDEFINED_ROLES, SYSTEM_ADMIN } from '../policy/predefined.ts';
import { asPrincipal } from '../policy/simulate.ts';
import type { Deployment } from '../policy/srn.ts';
import { subjectKey } from '../subjects.ts';

/** The objects that determine access. */
export interface AccessObjects {
  readonly policies: readonly Policy[];
  readonly roles: readonly Role[];
  readonly assignments: readonly RoleAssignment[];
  readonly tokens: readonly ServiceToken[];
}

/** A statement of a policy that a caller has. */
export interface HeldStatement {
  readonly statement: CompiledStatement;
  readonly policy: string;
  /** Equal for statements with the same content. */
  readonly key: string;
}

/** What the roles of a subject give. Shared by subjects with the same roles. */
export interface Held {
  readonly roles: readonly string[];
  /** Empty while a policy is invalid, because such a policy denies everything. */
  readonly statements: readonly HeldStatement[];
  readonly invalid: readonly string[];
  /** Whether the role `system-admin` is one of the roles, with its policy. */
  readonly administers: boolean;
  /** The roles with a policy, by policy. */
  readonly rolesWith: ReadonlyMap<string, readonly string[]>;
}

/** An assignment of a role to a subject. */
export interface FoundAssignment {
  readonly assignment: string;
  /** Position in `spec.subjects`. */
  readonly index: number;
}

/** One set of roles, policies, assignments and service tokens, decided on by the code that enforces. */
export class PolicySet {
  readonly directory: Directory;
  readonly #views: Views;
  readonly #held = new Map<string, Held>();
  readonly #statements = new Map<string, readonly HeldStatement[]>();
  readonly #keys = new Map<string, ReadonlySet<string>>();
  #assignments: ReadonlyMap<string, readonly FoundAssignment[]> | undefined;

  /** The predefined roles and policies are those of this version, because the operator restores them. */
  constructor(objects: AccessObjects, deployment: Deployment, clock: WallClock) {
    this.#views = new Views((error) => {
      throw error;
    });
    const own = ({ metadata }: Policy | Role) => !isPredefined(metadata.name);
    for (const policy of [...PREDEFINED_POLICIES, ...objects.policies.filter(own)])
      this.#views.of('Policy').set(policy);
    for (const role of [...PREDEFINED_ROLES, ...objects.roles.filter(own)]) this.#views.of('Role').set(role);
    for (const assignment of objects.assignments) this.#views.of('RoleAssignment').set(assignment);
    for (const token of objects.tokens) this.#views.of('ServiceToken').set(token);
    this.directory = new Directory(this.#views, deployment, { clock });
  }

  /** The policies, without the predefined ones. */
  get policies(): readonly Policy[] {
    return this.#views.list('Policy').filter(({ metadata }) => !isPredefined(metadata.name));
  }

  /** Names of all roles, policies or service tokens. */
  readonly namesOf = (kind: RbacKind): readonly string[] => storedNames(this.#views)(kind);

  policy(name: string): Policy | undefined {
    return this.#views.get('Policy', name);
  }

  role(name: string): Role | undefined {
    return this.#views.get('Role', name);
  }

  /** The subjects of all assignments, by `subjectKey`. */
  subjects(): Map<string, Subject> {
    const subjects = new Map<string, Subject>();
    for (const { spec } of this.#views.list('RoleAssignment')) {
      for (const { type, name: given } of spec.subjects) {
        // A token can be assigned a role by its access key, too.
        const name = type === 'service-token' ? (this.directory.tokenNameOf(given) ?? given) : given;
        const key = subjectKey(type, name);
        if (!subjects.has(key)) subjects.set(key, { type, name });
      }
    }
    return subjects;
  }

  /** What a subject has now; nothing after a service token has expired. */
  heldBy(subject: Subject): Held {
    const principal = asPrincipal(this.directory, subject);
    const hasEnded = !(this.directory.tokenExpiry(principal) > this.directory.now());
    return this.#heldWith(hasEnded ? [] : this.directory.existingRolesOf(principal));
  }

  /** What a role gives by itself. */
  heldByRole(role: string): Held {
    return this.#heldWith(this.role(role) === undefined ? [] : [role]);
  }

  /** Names of the roles that have subjects. */
  assignedRoles(): ReadonlySet<string> {
    return new Set(this.#views.list('RoleAssignment').map(({ spec }) => spec.role));
  }

  get roles(): readonly Role[] {
    return this.#views.list('Role');
  }

  /** The statements of a policy; none of an invalid one, and of one that does not exist. */
  statementsOf(policy: string): readonly HeldStatement[] {
    let statements = this.#statements.get(policy);
    if (!statements) {
      const contents = this.policy(policy)?.spec.statements ?? [];
      const compiled = this.directory.engine.compiledPolicy(policy)?.statements ?? [];
      statements = compiled.map((statement) => ({ statement, policy, key: contentOf(contents[statement.index]) }));
      this.#statements.set(policy, statements);
    }
    return statements;
  }

  /** Whether a policy has a statement with this content. */
  hasStatement(policy: string, key: string): boolean {
    let keys = this.#keys.get(policy);
    if (!keys) this.#keys.set(policy, (keys = new Set(this.statementsOf(policy).map((held) => held.key))));
    return keys.has(key);
  }

  /** Where a subject is assigned a role by one of its names. */
  assignmentsOf(subject: Subject, role: string): readonly FoundAssignment[] {
    this.#assignments ??= this.#findAssignments();
    const subjects = this.directory.subjectsOf(asPrincipal(this.directory, subject));
    return subjects.flatMap(({ type, name }) => this.#assignments?.get(`${role} ${subjectKey(type, name)}`) ?? []);
  }

  #findAssignments(): ReadonlyMap<string, readonly FoundAssignment[]> {
    const found = new Map<string, FoundAssignment[]>();
    for (const { metadata, spec } of this.#views.list('RoleAssignment')) {
      for (const [index, { type, name }] of spec.subjects.entries()) {
        const key = `${spec.role} ${subjectKey(type, name)}`;
        const place = { assignment: metadata.name, index };
        const known = found.get(key);
        if (known) known.push(place);
        else found.set(key, [place]);
      }
    }
    return found;
  }

  #heldWith(roles: readonly string[]): Held {
    const key = roles.join(' ');
    let held = this.#held.get(key);
    if (!held) this.#held.set(key, (held = this.#merge(roles)));
    return held;
  }

  #merge(roles: readonly string[]): Held {
    const rolesWith = new Map<string, string[]>();
    for (const role of roles) {
      for (const policy of new Set(this.role(role)?.spec.policies)) {
        const holders = rolesWith.get(policy);
        if (holders) holders.push(role);
        else if (this.policy(policy) !== undefined) rolesWith.set(policy, [role]);
      }
    }
    const invalid = [...rolesWith.keys()].filter((name) => {
      const compiled = this.directory.engine.compiledPolicy(name);
      return compiled !== undefined && isInvalid(compiled);
    });
    return {
      roles,
      invalid,
      statements: invalid.length > 0 ? [] : [...rolesWith.keys()].flatMap((name) => this.statementsOf(name)),
      administers: rolesWith.get(SYSTEM_ADMIN)?.includes(SYSTEM_ADMIN) ?? false,
      rolesWith,
    };
  }
}

/** What a statement grants or denies: the order of its lists and its description do not matter. */
function contentOf(statement: Statement | undefined): string {
  const { effect, actions, resources, conditions } = statement ?? {};
  return JSON.stringify([effect, actions && [...actions].sort(), resources && [...resources].sort(), conditions]);
}
