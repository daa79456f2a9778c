import type { Subject, SubjectType } from '../resources/role-assignment.ts';
import type { Principal } from './principal.ts';

/**
 * Lower case of ASCII letters only. Unicode has other characters whose lower case is an ASCII letter, such as the Kelvin sign: with them,
 * another mailbox would equal the assigned one.
 */
export function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
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

/** Roles by subject, with the number of assignments for each. */
export class SubjectIndex {
  readonly #roles = new Map<string, Map<string, number>>();
  readonly #subjectCount = new Map<string, number>();

  add(role: string, subject: Subject): void {
    const key = subjectKey(subject.type, subject.name);
    let roles = this.#roles.get(key);
    if (!roles) this.#roles.set(key, (roles = new Map()));
    roles.set(role, (roles.get(role) ?? 0) + 1);
    this.#subjectCount.set(role, (this.#subjectCount.get(role) ?? 0) + 1);
  }

  remove(role: string, subject: Subject): void {
    const key = subjectKey(subject.type, subject.name);
    const roles = this.#roles.get(key);
    if (!roles) return;
    decrement(roles, role);
    if (roles.size === 0) this.#roles.delete(key);
    decrement(this.#subjectCount, role);
  }

  rolesOf(type: SubjectType, name: string): Iterable<string> {
    return this.#roles.get(subjectKey(type, name))?.keys() ?? [];
  }

  has(type: SubjectType, name: string): boolean {
    return this.#roles.has(subjectKey(type, name));
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
