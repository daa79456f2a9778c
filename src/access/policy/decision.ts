import { systemClock, type WallClock } from '../../platform/clock.ts';
import type { Decision, Decisions } from '../authorizer.ts';
import type { Reading } from '../conditions.ts';
import type { CallerValues } from '../sql/row-filter.ts';
import { ANY_CALLER, callerValues } from './conditions/caller-values.ts';
import {
  conditionalDecision,
  partOf,
  shownConditions,
  type PartialDecision,
  type PartlyAllowed,
} from './conditions/partly-allowed.ts';
import { compilePolicy, type CompiledPolicy, type CompiledStatement } from './compiled-policy.ts';
import type { DecisionObserver, RoleLookup } from './decision-ports.ts';
import { GrantSet, type HeldPolicy } from './grants/grant-set.ts';
import type { Principal } from '../principal.ts';
import type { Deployment, Srn } from './srn.ts';
import { questionOf, type Question } from './question.ts';

export interface DecisionEngineOptions {
  readonly clock?: WallClock;
  readonly observer?: DecisionObserver | undefined;
}

interface PrincipalGrants {
  /** Of the assignments. */
  readonly generation: number;
  readonly grants: GrantSet;
  /** Whether `validFrom` or `validUntil` is a time. */
  readonly expires: boolean;
  readonly validFrom: number;
  readonly validUntil: number;
  /** The policies that were reported to the observer on `observedDay`. */
  readonly observed: Set<string | undefined>;
  observedDay: number;
  /** What the caller may read of tables that it may read in part, by table: a query asks for it more than once. */
  readonly parts: Map<string, PartlyAllowed | undefined>;
  /** Once they are needed. */
  values?: CallerValues;
}

/** Of one caller. */
const MAX_KNOWN_PARTS = 16;

const NOTHING: Reading = { allowed: false };
const ALL: Reading = { allowed: true, conditions: undefined };

/** Limits the memory of all grant sets to some tens of megabytes; the oldest is evicted first. */
const MAX_WEIGHT = 1_000_000;

/**
 * Decides from policies and roles in memory.
 *
 * Policies are compiled lazily. The grants of a caller's roles are merged into one GrantSet, shared by all callers with the same
 * roles and cached until one of these roles or policies changes. A change only invalidates the sets that contain it.
 */
export class DecisionEngine implements Decisions {
  readonly #deployment: Deployment;
  readonly #lookup: RoleLookup;
  readonly #clock: WallClock;
  readonly #observer: DecisionObserver | undefined;
  readonly #policies = new Map<string, { readonly spec: unknown; compiled?: CompiledPolicy }>();
  readonly #roles = new Map<string, readonly string[]>();
  /** Roles that reference a policy, whether it exists or not. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #grantSets = new Map<string, GrantSet>();
  readonly #setsByRole = new Map<string, Set<GrantSet>>();
  #weight = 0;
  #generation = 0;
  /** By identity: principal objects are immutable, and most callers reuse the same one. */
  readonly #byPrincipal = new WeakMap<Principal, PrincipalGrants>();

  constructor(deployment: Deployment, lookup: RoleLookup, options: DecisionEngineOptions = {}) {
    this.#deployment = deployment;
    this.#lookup = lookup;
    this.#clock = options.clock ?? systemClock;
    this.#observer = options.observer;
  }

  isAllowed(principal: Principal, action: string, resource: Srn): boolean {
    const held = this.#heldBy(principal);
    const { allowed, by } = held.grants.judge(this.#question(action, resource));
    this.#observe(principal, held, by);
    return allowed;
  }

  wouldAllow(principal: Principal, action: string, resource: Srn): boolean {
    return this.#heldBy(principal).grants.isAllowed(this.#question(action, resource));
  }

  reading(principal: Principal, table: Srn): Reading {
    const held = this.#heldBy(principal);
    const question = this.#question('Query', table);
    const judgement = held.grants.judge(question);
    this.#observe(principal, held, judgement.by);
    if (judgement.allowed) return ALL;
    if (!held.grants.isConditional || judgement.reason !== 'implicitDeny') return NOTHING;
    const part = this.#knownPart(principal, held, question);
    for (const statement of part?.statements ?? []) this.#observe(principal, held, statement);
    return part?.reading ?? NOTHING;
  }

  hasConditions(principal: Principal): boolean {
    return this.#heldBy(principal).grants.isConditional;
  }

  decide(principal: Principal, action: string, resource: Srn): Decision {
    const held = this.#heldBy(principal);
    const question = this.#question(action, resource);
    const judgement = held.grants.judge(question);
    this.#observe(principal, held, judgement.by);
    const part = partOf(held.grants, question, judgement, () => callerValues(principal));
    return part ? conditionalDecision(held.grants, part) : held.grants.decide(question, judgement);
  }

  /**
   * Grants of the roles together with an unsaved policy, for `decideWith`.
   * @param unsaved spec of that policy; undefined for none
   */
  simulatedGrants(roles: readonly string[], unsaved: unknown): GrantSet {
    const stored = this.#grantsForRoles(roles);
    if (unsaved === undefined) return stored;
    const extra = { policy: compilePolicy(undefined, unsaved), roles: [] };
    return new GrantSet(stored.key, stored.roles, [...stored.policies, extra]);
  }

  /**
   * @param values of the caller; by default as if it had each of them
   * @returns the decision, and what may be read where it is `conditional`
   */
  decideWith(grants: GrantSet, action: string, resource: Srn, values: CallerValues = ANY_CALLER): PartialDecision {
    const question = this.#question(action, resource);
    const judgement = grants.judge(question);
    const part = partOf(grants, question, judgement, () => values);
    if (part === undefined) return grants.decide(question, judgement);
    return { ...conditionalDecision(grants, part), conditions: shownConditions(part, values) };
  }

  /** What a caller with these grants and values may read of a table, as `reading`. */
  readingWith(grants: GrantSet, table: Srn, values: CallerValues): Reading {
    const question = this.#question('Query', table);
    const judgement = grants.judge(question);
    if (judgement.allowed) return ALL;
    return partOf(grants, question, judgement, () => values)?.reading ?? NOTHING;
  }

  /** Current grants of the principal's roles. */
  grantsOf(principal: Principal): GrantSet {
    return this.#heldBy(principal).grants;
  }

  #heldBy(principal: Principal): PrincipalGrants {
    const cached = this.#byPrincipal.get(principal);
    if (cached && cached.generation === this.#generation && !cached.grants.stale && this.#isValid(cached)) {
      return cached;
    }
    const { roles, validFrom, validUntil } = this.#lookup.heldRoles(principal);
    const grants = this.#grantsForRoles(roles);
    const observed = new Set<string | undefined>();
    const expires = validFrom !== -Infinity || validUntil !== Infinity;
    const times = { expires, validFrom, validUntil };
    const held = { generation: this.#generation, grants, ...times, observed, observedDay: 0, parts: new Map() };
    this.#byPrincipal.set(principal, held);
    return held;
  }

  /** From the cache of the caller. */
  #knownPart(principal: Principal, held: PrincipalGrants, question: Question): PartlyAllowed | undefined {
    const key = question.levels.map(({ kind, id }) => `${kind}#${id}`).join(':');
    if (held.parts.has(key)) return held.parts.get(key);
    const valuesOf = (): CallerValues => (held.values ??= callerValues(principal));
    const part = partOf(held.grants, question, held.grants.judge(question), valuesOf);
    if (held.parts.size >= MAX_KNOWN_PARTS) held.parts.clear();
    held.parts.set(key, part);
    return part;
  }

  #observe(principal: Principal, held: PrincipalGrants, deciding: CompiledStatement | undefined): void {
    const observer = this.#observer;
    if (!observer) return;
    const { day } = observer;
    if (held.observedDay !== day) {
      held.observedDay = day;
      held.observed.clear();
      observer.principalDecided(principal);
    }
    if (deciding?.policy === undefined) return;
    if (held.grants.isFirstUse(deciding, day)) observer.statementDecided(deciding);
    if (held.observed.has(deciding.policy)) return;
    held.observed.add(deciding.policy);
    observer.policyDecided(principal, held.grants, deciding.policy);
  }

  /** Reads the clock only for callers with an assignment that expires. A clock that was set back makes expired assignments valid again. */
  #isValid(held: PrincipalGrants): boolean {
    if (!held.expires) return true;
    const now = this.#clock.now();
    return held.validFrom <= now && now < held.validUntil;
  }

  /** @param spec as stored; an invalid one denies everything to the roles with the policy */
  setPolicy(name: string, spec: unknown): void {
    this.#policies.set(name, { spec });
    this.#policyChanged(name);
  }

  removePolicy(name: string): void {
    this.#policies.delete(name);
    this.#policyChanged(name);
  }

  setRole(name: string, policies: readonly string[]): void {
    this.#unlinkRole(name);
    const distinct = [...new Set(policies)];
    this.#roles.set(name, distinct);
    for (const policy of distinct) {
      const holders = this.#holders.get(policy);
      if (holders) holders.add(name);
      else this.#holders.set(policy, new Set([name]));
    }
    this.#roleChanged(name);
  }

  removeRole(name: string): void {
    this.#unlinkRole(name);
    this.#roles.delete(name);
    this.#roleChanged(name);
  }

  /** Call this when the results of `heldRoles` may have changed for another reason than time. */
  rolesReassigned(): void {
    this.#generation++;
  }

  /** Names of the roles with a policy. */
  rolesHolding(policy: string): Iterable<string> {
    return this.#holders.get(policy) ?? [];
  }

  /** The stored policy; undefined if there is none. */
  compiledPolicy(name: string): CompiledPolicy | undefined {
    return this.#compiled(name);
  }

  #question(action: string, resource: Srn): Question {
    return questionOf(this.#deployment, action, resource);
  }

  #unlinkRole(name: string): void {
    for (const policy of this.#roles.get(name) ?? []) {
      const holders = this.#holders.get(policy);
      holders?.delete(name);
      if (holders?.size === 0) this.#holders.delete(policy);
    }
  }

  #policyChanged(name: string): void {
    for (const role of this.#holders.get(name) ?? []) this.#roleChanged(role);
  }

  #roleChanged(name: string): void {
    for (const grants of this.#setsByRole.get(name) ?? []) this.#forget(grants);
  }

  #grantsForRoles(roles: readonly string[]): GrantSet {
    const sorted = roles.toSorted();
    const key = sorted.join(' ');
    const known = this.#grantSets.get(key);
    if (known) return known;
    const grants = new GrantSet(key, sorted, this.#held(sorted));
    this.#remember(grants);
    return grants;
  }

  #held(roles: readonly string[]): HeldPolicy[] {
    const rolesByPolicy = new Map<string, string[]>();
    for (const role of roles) {
      for (const policy of this.#roles.get(role) ?? []) {
        const holding = rolesByPolicy.get(policy);
        if (holding) holding.push(role);
        else rolesByPolicy.set(policy, [role]);
      }
    }
    const held: HeldPolicy[] = [];
    for (const [name, holding] of rolesByPolicy) {
      const policy = this.#compiled(name);
      // A missing policy grants nothing; the role's status reports it.
      if (policy) held.push({ policy, roles: holding });
    }
    return held;
  }

  #compiled(name: string): CompiledPolicy | undefined {
    const entry = this.#policies.get(name);
    if (!entry) return undefined;
    return (entry.compiled ??= compilePolicy(name, entry.spec));
  }

  #remember(grants: GrantSet): void {
    this.#grantSets.set(grants.key, grants);
    this.#weight += grants.weight;
    for (const role of grants.roles) {
      const sets = this.#setsByRole.get(role);
      if (sets) sets.add(grants);
      else this.#setsByRole.set(role, new Set([grants]));
    }
    for (const oldest of this.#grantSets.values()) {
      if (this.#weight <= MAX_WEIGHT || oldest === grants) break;
      this.#forget(oldest);
    }
  }

  #forget(grants: GrantSet): void {
    grants.stale = true;
    this.#grantSets.delete(grants.key);
    this.#weight -= grants.weight;
    for (const role of grants.roles) {
      const sets = this.#setsByRole.get(role);
      sets?.delete(grants);
      if (sets?.size === 0) this.#setsByRole.delete(role);
    }
  }
}
