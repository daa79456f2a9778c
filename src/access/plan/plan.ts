import type { Subject } from '../../resources/role-assignment.ts';
import { ANY_CALLER, callerValues } from '../policy/conditions/caller-values.ts';
import { asPrincipal } from '../policy/simulate.ts';
import { changesBetween, type Change, type Origin, type Side } from './changes.ts';
import { TooMuchToCompare } from './effort.ts';
import type { Held, PolicySet } from './policy-set.ts';

/** A subject of an assignment, or a role that no subject has in both sets. */
export type Who = Pick<Subject, 'name'> & { readonly type: Subject['type'] | 'role' };

/** The place in an object by which a change takes effect. */
export interface Cause {
  readonly side: Side;
  readonly kind: 'Policy' | 'Role' | 'RoleAssignment';
  readonly name: string;
  /** In the object, such as `spec`, `statements`, 0. */
  readonly path: readonly (string | number)[];
  /** Whether the policy is invalid on its side, and denies everything there. */
  readonly isInvalid: boolean;
}

export interface CausedChange extends Change {
  readonly causes: readonly Cause[];
  /** Patterns of actions in the statements that make the difference. */
  readonly patterns: readonly string[];
}

/** A role that a subject has until another time than before, or that it did not have and has until a time. */
export interface ExpiryChange {
  readonly role: string;
  /** Milliseconds since the epoch; Infinity for no end; undefined without the role. */
  readonly before: number | undefined;
  readonly after: number;
  readonly causes: readonly Cause[];
}

/** What one of them gains and loses. */
export interface ChangesOf {
  readonly who: Who;
  readonly changes: readonly CausedChange[];
  readonly expiries: readonly ExpiryChange[];
}

export interface AccessPlan {
  /** Those with a change, ordered by type and name. */
  readonly changed: readonly ChangesOf[];
  /** Those whose grants cannot be compared within the limit. */
  readonly tooMuch: readonly Who[];
  /** Number of subjects and unassigned roles that were compared. */
  readonly compared: number;
}

/** Compares two sets of access, subject by subject: each with all roles that are assigned to it, now. */
export function planOf(before: PolicySet, after: PolicySet): AccessPlan {
  const comparer = new Comparer(before, after);
  const subjects = [...new Map([...before.subjects(), ...after.subjects()])].sort(([a], [b]) => (a < b ? -1 : 1));
  const assigned = before.assignedRoles().union(after.assignedRoles());
  const roles = new Set([...before.roles, ...after.roles].map(({ metadata }) => metadata.name));
  const whos: Who[] = [
    ...subjects.map(([, subject]) => subject),
    ...[...roles.difference(assigned)].sort().map((name) => ({ type: 'role', name }) as const),
  ];
  const changed: ChangesOf[] = [];
  const tooMuch: Who[] = [];
  for (const who of whos) {
    try {
      const found = comparer.changesOf(who);
      if (found.changes.length > 0 || found.expiries.length > 0) changed.push(found);
    } catch (error) {
      if (!(error instanceof TooMuchToCompare)) throw error;
      tooMuch.push(who);
    }
  }
  return { changed, tooMuch, compared: whos.length };
}

class Comparer {
  readonly #sides: Readonly<Record<Side, PolicySet>>;
  /** Many subjects have the same roles. */
  readonly #known = new Map<string, readonly Change[]>();

  constructor(before: PolicySet, after: PolicySet) {
    this.#sides = { before, after };
  }

  changesOf(who: Who): ChangesOf {
    const [before, after] = [this.#held(who, 'before'), this.#held(who, 'after')];
    const caused = (change: Change): CausedChange => ({
      ...change,
      causes: distinct(change.origins.flatMap((origin) => this.#causes(who, origin, { before, after }))),
      patterns: change.origins.flatMap((origin) => this.#patterns(origin)),
    });
    const changes = this.#changes(who, before, after).map(caused);
    return { who, changes, expiries: isSubject(who) ? [...this.#expiries(who, before, after)] : [] };
  }

  #held(who: Who, side: Side): Held {
    return isSubject(who) ? this.#sides[side].heldBy(who) : this.#sides[side].heldByRole(who.name);
  }

  #changes(who: Who, before: Held, after: Held): readonly Change[] {
    // Others of a group or a domain have the values that conditions use; a service token has no more than its name.
    const own = who.type === 'service-token' && isSubject(who) ? who : undefined;
    const key = [own?.name ?? '', before.roles.join(' '), after.roles.join(' ')].join('\n');
    let changes = this.#known.get(key);
    if (!changes) {
      const values = own ? callerValues(asPrincipal(this.#sides.after.directory, own)) : ANY_CALLER;
      this.#known.set(key, (changes = changesBetween(before, after, values)));
    }
    return changes;
  }

  /** Where a statement begins or ceases to apply: in its policy, in the policies of a role, or in the subjects of an assignment. */
  #causes(who: Who, { side, policy, place }: Origin, held: Readonly<Record<Side, Held>>): Cause[] {
    const other = this.#sides[side === 'before' ? 'after' : 'before'];
    if (place === undefined) return [{ side, kind: 'Policy', name: policy, path: ['spec'], isInvalid: true }];
    const path = ['spec', 'statements', place.statement.index];
    const isNew = !other.hasStatement(policy, place.key);
    const statement: Cause[] = isNew ? [{ side, kind: 'Policy', name: policy, path, isInvalid: false }] : [];
    return [...this.#entrance(who, policy, side, held), ...statement];
  }

  /** The assignment or the role by which the policy is held on one side only. */
  #entrance(who: Who, policy: string, side: Side, held: Readonly<Record<Side, Held>>): Cause[] {
    const otherSide = side === 'before' ? 'after' : 'before';
    const roles = held[side].rolesWith.get(policy) ?? [];
    const kept = roles.filter((role) => held[otherSide].roles.includes(role));
    if (isSubject(who) && kept.length === 0) return roles.flatMap((role) => this.#assignments(who, role, side));
    const lists = (role: string): boolean =>
      this.#sides[otherSide].role(role)?.spec.policies?.includes(policy) === true;
    const role = kept.some(lists) ? undefined : (kept[0] ?? roles[0]);
    if (role === undefined) return [];
    const path = ['spec', 'policies', this.#sides[side].role(role)?.spec.policies?.indexOf(policy) ?? 0];
    return [{ side, kind: 'Role', name: role, path, isInvalid: false }];
  }

  #assignments(subject: Subject, role: string, side: Side): Cause[] {
    return this.#sides[side].assignmentsOf(subject, role).map(({ assignment, index }) => {
      return { side, kind: 'RoleAssignment', name: assignment, path: ['spec', 'subjects', index], isInvalid: false };
    });
  }

  #patterns({ side, policy, place }: Origin): readonly string[] {
    const statements = this.#sides[side].policy(policy)?.spec.statements ?? [];
    return place === undefined ? [] : (statements[place.statement.index]?.actions ?? []);
  }

  *#expiries(subject: Subject, before: Held, after: Held): Generator<ExpiryChange, void, void> {
    const until = (side: Side, role: string): number => {
      const { directory } = this.#sides[side];
      const principal = asPrincipal(directory, subject);
      return Math.min(directory.roleExpiry(principal, role), directory.tokenExpiry(principal));
    };
    for (const role of after.roles) {
      const isNew = !before.roles.includes(role);
      const [was, is] = [isNew ? Infinity : until('before', role), until('after', role)];
      if (was !== is)
        yield { role, before: isNew ? undefined : was, after: is, causes: this.#assignments(subject, role, 'after') };
    }
  }
}

function isSubject(who: Who): who is Subject {
  return who.type !== 'role';
}

function distinct(causes: readonly Cause[]): Cause[] {
  return [...new Map(causes.map((cause) => [JSON.stringify(cause), cause])).values()];
}
