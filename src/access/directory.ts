import type { RoleAssignment } from '../resources/kinds.ts';
import { isBeingDeleted } from '../resources/meta.ts';
import type { Subject } from '../resources/role-assignment.ts';
import { systemClock, type WallClock } from '../platform/clock.ts';
import type { ResourceStore, StoreEvent } from '../store/resource-store.ts';
import type { Authorizer, Decision } from './authorizer.ts';
import type { Reading } from './conditions.ts';
import { DecisionEngine } from './policy/decision.ts';
import type { HeldRoles } from './policy/decision-ports.ts';
import type { GrantSet } from './policy/grants/grant-set.ts';
import type { Slices } from '../platform/long-work.ts';
import { sorted } from '../platform/sorted.ts';
import type { Principal } from './principal.ts';
import { srnText, type Deployment, type Srn } from './policy/srn.ts';
import { expiryOf, SubjectIndex, userSubjects } from './subjects.ts';
import { DecisionRecorder } from './usage/decision-recorder.ts';
import type { UsageTracker } from './usage/usage-tracker.ts';
import { TokenIndex, type KnownToken } from './authenticators/token-index.ts';

export interface DirectoryOptions {
  /** Decides which assignments have expired. */
  readonly clock?: WallClock;
  /** Records the statements, roles and tokens that determine decisions. */
  readonly usage?: UsageTracker | undefined;
}

/** What a Directory reads: the view of a store. */
export type DirectorySource = Pick<ResourceStore, 'get' | 'list' | 'subscribe'>;

/** One assignment by which a principal has a role. */
export interface HeldAssignment {
  readonly role: string;
  readonly subject: Subject;
  /** Milliseconds since the epoch; Infinity for no end. */
  readonly expiry: number;
}

/**
 * In-memory roles, policies, assignments and service tokens, synchronized with a store: the Authorizer for enforcement, and the data for
 * the authenticator of service tokens. Updates are incremental.
 */
export class Directory implements Authorizer {
  readonly #store: DirectorySource;
  readonly #engine: DecisionEngine;
  readonly #subjects = new SubjectIndex();
  readonly #tokens = new TokenIndex();
  readonly #clock: WallClock;
  readonly deployment: Deployment;
  readonly #unsubscribe: (() => void)[];

  /** Subscribes to the store; the existing objects are loaded when the constructor returns. */
  constructor(store: DirectorySource, deployment: Deployment, options: DirectoryOptions = {}) {
    const { clock = systemClock, usage } = options;
    this.#store = store;
    this.#clock = clock;
    this.deployment = deployment;
    this.#engine = new DecisionEngine(deployment, this, { clock, observer: usage && this.#recorder(usage) });
    this.#unsubscribe = [
      store.subscribe('Policy', (event) => {
        if (specUnchanged(event)) return;
        const { metadata, spec } = event.object;
        if (isGone(event)) this.#engine.removePolicy(metadata.name);
        else this.#engine.setPolicy(metadata.name, spec);
      }),
      store.subscribe('Role', (event) => {
        if (specUnchanged(event)) return;
        const { metadata, spec } = event.object;
        if (isGone(event)) this.#engine.removeRole(metadata.name);
        else this.#engine.setRole(metadata.name, spec.policies ?? []);
      }),
      store.subscribe('RoleAssignment', (event) => this.#onAssignment(event)),
      store.subscribe('ServiceToken', (event) => {
        if (isGone(event)) this.#tokens.removeToken(event.object.metadata.name);
        else this.#tokens.setToken(event.object);
        this.#engine.rolesReassigned();
      }),
    ];
  }

  /** Unsubscribes from the store. The last state stays readable. */
  close(): void {
    for (const end of this.#unsubscribe.splice(0)) end();
  }

  isAllowed(principal: Principal, action: string, resource: Srn): boolean {
    return this.#engine.isAllowed(principal, action, resource);
  }

  wouldAllow(principal: Principal, action: string, resource: Srn): boolean {
    return this.#engine.wouldAllow(principal, action, resource);
  }

  reading(principal: Principal, table: Srn): Reading {
    return this.#engine.reading(principal, table);
  }

  hasConditions(principal: Principal): boolean {
    return this.#engine.hasConditions(principal);
  }

  decide(principal: Principal, action: string, resource: Srn): Decision {
    return this.#engine.decide(principal, action, resource);
  }

  isActive({ kind, id, uid }: Principal): boolean {
    if (kind !== 'service-token') return true;
    const token = this.#tokens.byName(id)?.token;
    return token !== undefined && token.metadata.uid === uid && expiryOf(token.spec) > this.#clock.now();
  }

  /** How a caller is named for humans: a service token by its description, others by their id. */
  nameOf({ kind, id }: Principal): string {
    const description = kind === 'service-token' ? this.#tokens.byName(id)?.token.spec.description : undefined;
    return description === undefined || description === '' ? id : description;
  }

  /** All grants of the principal's roles, for display and for the escalation check. */
  grantsOf(principal: Principal): GrantSet {
    return this.#engine.grantsOf(principal);
  }

  /** The engine used for enforcement, for simulation. */
  get engine(): DecisionEngine {
    return this.#engine;
  }

  /** Names of the roles of all of the principal's subjects, sorted; includes roles that do not exist, but no expired assignments. */
  rolesOf(principal: Principal): readonly string[] {
    return this.heldRoles(principal).roles;
  }

  /** The roles that the principal has now, and until when they stay the same if no assignment changes. */
  heldRoles(principal: Principal): HeldRoles {
    const now = this.#clock.now();
    const roles = new Set<string>();
    let validFrom = -Infinity;
    let validUntil = Infinity;
    const visit = (role: string, expiry: number): void => {
      if (expiry > now) {
        roles.add(role);
        validUntil = Math.min(validUntil, expiry);
      } else {
        validFrom = Math.max(validFrom, expiry);
      }
    };
    for (const { type, name } of this.subjectsOf(principal)) this.#subjects.forEachRole(type, name, visit);
    return { roles: [...roles].sort(), validFrom, validUntil };
  }

  /** Milliseconds since the epoch until which the principal has the role: Infinity if the assignment does not expire, -Infinity if it does not have the role. */
  roleExpiry(principal: Principal, role: string): number {
    let last = -Infinity;
    for (const { type, name } of this.subjectsOf(principal))
      last = Math.max(last, this.#subjects.expiry(type, name, role));
    return last;
  }

  /**
   * The grants of the roles that the principal keeps until then; undefined if it keeps all of its present roles.
   * @param until milliseconds since the epoch, or Infinity
   */
  grantsLasting(principal: Principal, until: number): GrantSet | undefined {
    const { roles, validUntil } = this.heldRoles(principal);
    const ends = this.tokenExpiry(principal);
    if (Math.min(validUntil, ends) >= until) return undefined;
    const lasting = ends < until ? [] : roles.filter((role) => this.roleExpiry(principal, role) >= until);
    return this.#engine.simulatedGrants(lasting, undefined);
  }

  /** When a service token expires: milliseconds since the epoch; Infinity if it does not, and for other principals. */
  tokenExpiry({ kind, id }: Principal): number {
    const spec = kind === 'service-token' ? this.#store.get('ServiceToken', id)?.spec : undefined;
    return spec === undefined ? Infinity : expiryOf(spec);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  /** The subjects by which the principal has its roles. */
  subjectsOf(principal: Principal): readonly Subject[] {
    if (principal.kind !== 'service-token') return userSubjects(principal);
    return this.#tokenSubjects(principal.id).map((name) => ({ type: 'service-token', name }));
  }

  /** Like `rolesOf`, without roles that do not exist. */
  existingRolesOf(principal: Principal): readonly string[] {
    return this.rolesOf(principal).filter((name) => this.#store.get('Role', name) !== undefined);
  }

  /** By access key; undefined if there is none. */
  tokenByAccessKey(accessKey: string): KnownToken | undefined {
    return this.#tokens.byAccessKey(accessKey);
  }

  /** By the object name of a ServiceToken. */
  tokenByName(name: string): KnownToken | undefined {
    return this.#tokens.byName(name);
  }

  /** The object name for a subject's name; an object name takes precedence over an access key. */
  tokenNameOf(nameOrAccessKey: string): string | undefined {
    if (this.#tokens.exists(nameOrAccessKey)) return nameOrAccessKey;
    return this.#tokens.byAccessKey(nameOrAccessKey)?.name;
  }

  /** Whether a service token has an existing role. */
  hasRole(tokenName: string): boolean {
    const now = this.#clock.now();
    let found = false;
    for (const subject of this.#tokenSubjects(tokenName)) {
      this.#subjects.forEachRole('service-token', subject, (role, expiry) => {
        found ||= expiry > now && this.#store.get('Role', role) !== undefined;
      });
    }
    return found;
  }

  /** By which of its subjects the principal has which existing role, and until when; by role. Expired assignments are left out. */
  assignmentsOf(principal: Principal): HeldAssignment[] {
    const now = this.#clock.now();
    const held: HeldAssignment[] = [];
    for (const subject of this.subjectsOf(principal)) {
      this.#subjects.forEachRole(subject.type, subject.name, (role, expiry) => {
        if (expiry > now && this.#store.get('Role', role) !== undefined) held.push({ role, subject, expiry });
      });
    }
    return held.sort((a, b) => (a.role < b.role ? -1 : a.role > b.role ? 1 : 0));
  }

  /** Names of the existing roles that a service token has. */
  rolesOfToken(name: string): readonly string[] {
    return this.existingRolesOf(tokenPrincipal(name));
  }

  /** All subjects with an assigned role, without duplicates, ordered by type and name. */
  *assignedSubjects(): Slices<Subject[]> {
    const subjects = new Map<string, Subject>();
    for (const { spec } of this.#store.list('RoleAssignment')) {
      for (const { type, name } of spec.subjects) subjects.set(`${type} ${name}`, { type, name });
      yield;
    }
    return yield* sorted(subjects.values(), ({ type, name }) => `${type} ${name}`);
  }

  /** Number of subjects in the assignments of a role. */
  subjectCount(role: string): number {
    return this.#subjects.subjectsOf(role);
  }

  #recorder(tracker: UsageTracker): DecisionRecorder {
    return new DecisionRecorder({
      tracker,
      policy: (name) => this.#store.get('Policy', name),
      subjectsOf: (principal) => this.subjectsOf(principal),
      holds: ({ type, name }, role) => this.#subjects.expiry(type, name, role) > this.#clock.now(),
    });
  }

  #tokenSubjects(name: string): string[] {
    const accessKey = this.#tokens.byName(name)?.accessKey;
    const shadowed = accessKey === undefined || accessKey === name || this.#tokens.exists(accessKey);
    return shadowed ? [name] : [name, accessKey];
  }

  #onAssignment(event: StoreEvent<'RoleAssignment'>): void {
    const { type, object, previous } = event;
    if (specUnchanged(event)) return;
    // The index has the previous state; the object in a `deleted` event may be newer.
    const before = previous ?? (type === 'deleted' ? object : undefined);
    if (before && !isBeingDeleted(before))
      forEachSubject(before, (role, subject) => this.#subjects.remove(role, subject));
    if (!isGone(event)) forEachSubject(object, (role, subject) => this.#subjects.add(role, subject));
    this.#engine.rolesReassigned();
  }
}

/**
 * Whether the object is deleted, or stays only because of a finalizer. Otherwise a finalizer, which every user who may change the metadata can add,
 * would keep access that has been revoked.
 */
function isGone({ type, object }: StoreEvent): boolean {
  return type === 'deleted' || isBeingDeleted(object);
}

/** The operator updates the status of every object, which is irrelevant here. The generation shows it, if the store counts generations. */
function specUnchanged({ type, object, previous }: StoreEvent): boolean {
  if (type !== 'modified' || !previous) return false;
  if (isBeingDeleted(object) !== isBeingDeleted(previous)) return false;
  const { generation, uid } = object.metadata;
  return generation !== undefined && generation === previous.metadata.generation && uid === previous.metadata.uid;
}

/** The principal of a service token. @param name name of its object @param uid of its object, where it authenticates a caller */
export function tokenPrincipal(name: string, uid?: string): Principal {
  return {
    kind: 'service-token',
    srn: srnText('service-token', name),
    id: name,
    ...(uid !== undefined && { uid }),
    groups: [],
    domain: undefined,
    authenticator: 'service-token',
  };
}

function forEachSubject(
  { spec }: RoleAssignment,
  visit: (role: string, subject: RoleAssignment['spec']['subjects'][number]) => void,
): void {
  for (const subject of spec.subjects) visit(spec.role, subject);
}
