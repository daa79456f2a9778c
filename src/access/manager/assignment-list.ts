import { createHash } from 'node:crypto';
import type { Slices } from '../../platform/long-work.ts';
import { sorted } from '../../platform/sorted.ts';
import type { Role, RoleAssignment } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Directory } from '../directory.ts';
import { expiryOf, subjectKey } from '../subjects.ts';
import type { AssignedSubjects } from './assigned-subjects.ts';
import type { ResourceEditor } from './editor.ts';
import { type ListPart, type ListRange, NOTHING, PartBuilder, readablePart } from './list-part.ts';
import { createdAt, createdBy, managedBy, type AssignmentView, type RoleAssignmentView } from './views.ts';

interface SubjectOfRole {
  /** In canonical form. */
  readonly subject: Subject;
  readonly assignment: RoleAssignment;
}

/** The subjects of a role, with the version that all of them have together. */
export interface SubjectsOfRole {
  readonly subjects: readonly Subject[];
  /** Changes with the subjects and their expiry, and with each conditional change. */
  readonly version: string;
}

/** 128 bits in base64url. */
const VERSION_LENGTH = 22;

/** Lists role assignments by subject. A subject in several objects is listed once. */
export class AssignmentList {
  readonly #editor: ResourceEditor;
  readonly #directory: Directory;
  readonly #subjects: AssignedSubjects;

  constructor(editor: ResourceEditor, directory: Directory, subjects: AssignedSubjects) {
    this.#editor = editor;
    this.#directory = directory;
    this.#subjects = subjects;
  }

  /** Each subject once, in the order of `sortKey`, with the version of all of them. @throws {StoreError} not-found */
  *ofRole(name: string, range: ListRange = {}): Slices<ListPart<AssignmentView> & { readonly version: string }> {
    const role = this.#editor.mustGet('Role', name);
    const found = yield* this.#found(this.#editor.store.list('RoleAssignment'), name);
    const version = yield* versionOf(role, found);
    const entries = yield* this.#inOrder(found);
    const part = yield* readablePart(entries, { keyOf: ({ key }) => key, mayRead: () => true }, range);
    return { items: part.items.map((entry) => this.#view(entry)), hasMore: part.hasMore, version };
  }

  /** @param assignments all of the store */
  *subjectsOf(role: Role, assignments: readonly RoleAssignment[]): Slices<SubjectsOfRole> {
    const found = yield* this.#found(assignments, role.metadata.name);
    return { subjects: [...found.values()].map(({ subject }) => subject), version: yield* versionOf(role, found) };
  }

  /**
   * Each subject of each role once, in the order of `roleSortKey`; only roles for which `readable` returns true.
   * @param readable undefined: none
   * @param only the assignments of this subject; all if undefined
   */
  *ofRoles(
    readable: ((role: string) => boolean) | undefined,
    range: ListRange,
    only?: Subject,
  ): Slices<ListPart<RoleAssignmentView>> {
    if (readable === undefined) return NOTHING;
    const { after = '' } = range;
    const wanted = only && this.#subjects.canonical(only);
    const wantedKey = wanted && subjectKey(wanted.type, wanted.name);
    // Names have no character before the space of the keys, so the order of the roles is the order of the keys.
    const firstRole = after.split(' ', 1)[0] ?? '';
    const byRole = yield* this.#byRole(firstRole);
    const part = new PartBuilder<RoleAssignmentView>(range);
    for (const role of yield* sorted(byRole.keys(), (name) => name)) {
      yield;
      if (!readable(role)) continue;
      const found = yield* this.#found(byRole.get(role) ?? [], role, wantedKey);
      for (const entry of yield* this.#inOrder(found)) {
        if (`${role} ${entry.key}` > after && !part.add(Object.assign({ role }, this.#view(entry)))) return part;
        yield;
      }
    }
    return part;
  }

  /** The assignments of the roles from `firstRole` on. */
  *#byRole(firstRole: string): Slices<Map<string, RoleAssignment[]>> {
    const byRole = new Map<string, RoleAssignment[]>();
    for (const assignment of this.#editor.store.list('RoleAssignment')) {
      yield;
      const { role } = assignment.spec;
      if (role < firstRole) continue;
      const ofRole = byRole.get(role);
      if (ofRole === undefined) byRole.set(role, [assignment]);
      else ofRole.push(assignment);
    }
    return byRole;
  }

  /**
   * Each subject of a role once. A subject in several objects has the role until the last of its expiry times.
   * @param only key of the only subject; all if undefined
   */
  *#found(assignments: readonly RoleAssignment[], role: string, only?: string): Slices<Map<string, SubjectOfRole>> {
    const found = new Map<string, SubjectOfRole>();
    for (const assignment of assignments) {
      if (assignment.spec.role !== role) continue;
      yield;
      for (const sent of assignment.spec.subjects) {
        const subject = this.#subjects.canonical(sent);
        const key = subjectKey(subject.type, subject.name);
        if (only !== undefined && key !== only) continue;
        const known = found.get(key);
        if (known === undefined || expiryOf(known.subject) < expiryOf(subject)) found.set(key, { subject, assignment });
      }
    }
    return found;
  }

  #inOrder(found: ReadonlyMap<string, SubjectOfRole>): Slices<(SubjectOfRole & { readonly key: string })[]> {
    const entries = found.values().map(({ subject, assignment }) => {
      const key = sortKey({ subject: this.#shownName(subject), subjectType: subject.type });
      return { subject, assignment, key };
    });
    return sorted(entries, ({ key }) => key);
  }

  #view({ subject, assignment }: SubjectOfRole): AssignmentView {
    return this.view(subject, assignment);
  }

  /** A service token is shown by its access key. */
  #shownName({ type, name }: Subject): string {
    return type === 'service-token' ? (this.#directory.tokenByName(name)?.accessKey ?? name) : name;
  }

  view(canonical: Subject, assignment: RoleAssignment): AssignmentView {
    const { type, expiresAt } = canonical;
    const subject = this.#shownName(canonical);
    const { metadata } = assignment;
    return {
      subject,
      subjectType: type,
      createdAt: createdAt(metadata),
      createdBy: createdBy(metadata),
      expiresAt: expiresAt ?? null,
      status: expiryOf(canonical) > this.#editor.now() ? 'ACTIVE' : 'EXPIRED',
      ...managedBy(metadata),
    };
  }
}

/** Sort key of assignment lists. */
export function sortKey({ subject, subjectType }: AssignmentView): string {
  return `${subjectType} ${subject}`;
}

function* versionOf(
  { metadata: { uid, annotations } }: Role,
  found: ReadonlyMap<string, SubjectOfRole>,
): Slices<string> {
  const content = yield* sorted(
    found.entries().map(([key, { subject }]) => `${key} ${subject.expiresAt ?? ''}`),
    (text) => text,
  );
  const text = JSON.stringify([uid, annotations?.[ANNOTATIONS.assignmentsVersion], content]);
  return createHash('sha256').update(text).digest('base64url').slice(0, VERSION_LENGTH);
}

/** Sort key of the list of all assignments. */
export function roleSortKey(view: RoleAssignmentView): string {
  return `${view.role} ${sortKey(view)}`;
}
