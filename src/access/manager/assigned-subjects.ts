import type { RoleAssignment } from '../../resources/kinds.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Directory } from '../directory.ts';
import { expiryOf, foldCase, sameSubject } from '../subjects.ts';

export type SubjectsSpec = RoleAssignment['spec'];

/** Finds and changes a subject in the specs of assignments. The `subject` of every method is canonical. */
export class AssignedSubjects {
  readonly #directory: Pick<Directory, 'tokenNameOf'>;

  constructor(directory: Pick<Directory, 'tokenNameOf'>) {
    this.#directory = directory;
  }

  /** Normalizes a subject: a token is named by its object, even if the request used its access key. */
  canonical(subject: Subject): Subject {
    const { type, name } = subject;
    if (type === 'service-token') return { ...subject, name: this.#directory.tokenNameOf(name) ?? name };
    return type === 'group' ? subject : { ...subject, name: foldCase(name) };
  }

  has(spec: SubjectsSpec, subject: Subject): boolean {
    return spec.subjects.some((other) => this.#equal(other, subject));
  }

  /** Whether the subject has the role for longer than its own `expiresAt`. */
  hasForLonger(spec: SubjectsSpec, subject: Subject): boolean {
    return spec.subjects.some((other) => this.#equal(other, subject) && expiryOf(other) > expiryOf(subject));
  }

  /** When the subject loses the role: milliseconds since the epoch; Infinity for never, -Infinity if it does not have it. */
  expiryIn(spec: SubjectsSpec, subject: Subject): number {
    return Math.max(...spec.subjects.filter((other) => this.#equal(other, subject)).map(expiryOf), -Infinity);
  }

  /** All subjects but this one. */
  others(spec: SubjectsSpec, subject: Subject): Subject[] {
    return spec.subjects.filter((other) => !this.#equal(other, subject));
  }

  /** The spec with the subject's new expiry; the same object if it has that expiry already. */
  renewed(spec: SubjectsSpec, subject: Subject): SubjectsSpec {
    const isStale = (other: Subject): boolean => this.#equal(other, subject) && other.expiresAt !== subject.expiresAt;
    if (!spec.subjects.some(isStale)) return spec;
    const { expiresAt } = subject;
    const renewed = spec.subjects.map((other) =>
      isStale(other)
        ? { type: other.type, name: other.name, ...(expiresAt === undefined ? {} : { expiresAt }) }
        : other,
    );
    return { ...spec, subjects: renewed };
  }

  #equal(other: Subject, subject: Subject): boolean {
    return sameSubject(this.canonical(other), subject);
  }
}
