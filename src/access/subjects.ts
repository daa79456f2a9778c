import type { Subject, SubjectType } from '../resources/role-assignment.ts';
import { endOf } from '../resources/time.ts';
import type { Principal } from './principal.ts';

/** The first administrator of standalone, whose token is in the token file. */
export const LOCAL_ADMINISTRATOR_NAME = 'admin@localhost';

/**
 * Lower case of ASCII letters only. Unicode has other characters whose lower case is an ASCII letter, such as the Kelvin sign: with them,
 * another mailbox would equal the assigned one.
 */
export function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The domain of an e-mail address, lower case; undefined for other texts. */
export function emailDomain(text: string): string | undefined {
  const domain = /^[^@\s]+@([^@\s]+\.[^@\s.]+|localhost)$/.exec(text)?.[1];
  return domain === undefined ? undefined : foldCase(domain);
}

/** Map key of a subject: equal subjects have the same key. */
export function subjectKey(type: SubjectType, name: string): string {
  // E-mail addresses and domains are case-insensitive, groups and tokens are not.
  const normal = type === 'user-email' || type === 'domain' ? foldCase(name) : name;
  return `${type}:${normal}`;
}

export function sameSubject(a: Subject, b: Subject): boolean {
  return subjectKey(a.type, a.name) === subjectKey(b.type, b.name);
}

/** All subjects of a user. Those of a service token depend on the existing tokens. */
export function userSubjects(principal: Principal): Subject[] {
  const subjects: Subject[] = [{ type: 'user-email', name: principal.id }];
  for (const group of principal.groups) subjects.push({ type: 'group', name: group });
  if (principal.domain !== undefined) subjects.push({ type: 'domain', name: principal.domain });
  return subjects;
}

/** Milliseconds since the epoch from which a subject no longer has its role: Infinity for never. A time that cannot be read has passed. */
export function expiryOf({ expiresAt }: Pick<Subject, 'expiresAt'>): number {
  return endOf(expiresAt);
}

/** Roles by subject, each with the expiry times of its assignments. */
export class SubjectIndex {
  /** The expiry times of one subject and role in descending order; a single one, the usual case, without an array. */
  readonly #roles = new Map<string, Map<string, number | readonly number[]>>();
  readonly #subjectCount = new Map<string, number>();

  add(role: string, subject: Subject): void {
    const key = subjectKey(subject.type, subject.name);
    let roles = this.#roles.get(key);
    if (!roles) this.#roles.set(key, (roles = new Map()));
    const known = roles.get(role);
    const expiry = expiryOf(subject);
    roles.set(role, known === undefined ? expiry : [known, expiry].flat().sort((a, b) => b - a));
    this.#subjectCount.set(role, (this.#subjectCount.get(role) ?? 0) + 1);
  }

  remove(role: string, subject: Subject): void {
    const key = subjectKey(subject.type, subject.name);
    const roles = this.#roles.get(key);
    const known = roles?.get(role);
    if (!roles || known === undefined) return;
    const expiries = [known].flat();
    const at = expiries.indexOf(expiryOf(subject));
    if (at >= 0) expiries.splice(at, 1);
    const [first, second] = expiries;
    if (first === undefined) roles.delete(role);
    else roles.set(role, second === undefined ? first : expiries);
    if (roles.size === 0) this.#roles.delete(key);
    decrement(this.#subjectCount, role);
  }

  /** Calls `visit` for each role of a subject with the time of its last expiry. Expired roles are included. */
  forEachRole(type: SubjectType, name: string, visit: (role: string, expiry: number) => void): void {
    const roles = this.#roles.get(subjectKey(type, name));
    if (!roles) return;
    for (const [role, expiries] of roles) visit(role, typeof expiries === 'number' ? expiries : expiries[0]!);
  }

  /** Last expiry of a subject in a role, milliseconds since the epoch; -Infinity if it is not assigned. */
  expiry(type: SubjectType, name: string, role: string): number {
    const expiries = this.#roles.get(subjectKey(type, name))?.get(role) ?? -Infinity;
    return typeof expiries === 'number' ? expiries : expiries[0]!;
  }

  /** Number of subjects of a role, counted per assignment. */
  subjectsOf(role: string): number {
    return this.#subjectCount.get(role) ?? 0;
  }
}

function decrement(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 0) - 1;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}
