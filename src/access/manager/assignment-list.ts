import { createHash } from 'node:crypto';
import { WorkSlices } from '../../platform/work-slices.ts';
import type { Role, RoleAssignment } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Directory } from '../directory.ts';
import { expiryOf, subjectKey } from '../subjects.ts';
import type { AssignedSubjects } from './assigned-subjects.ts';
import type { ResourceEditor } from './editor.ts';
import { createdAt, createdBy, managedBy, type AssignmentView, type RoleAssignmentView } from './views.ts';

interface SubjectOfRole {
  readonly role: string;
  readonly subject: Subject;
  readonly view: AssignmentView;
}

/** The subjects of a role, with the version that all of them have together. */
export interface SubjectsOfRole {
  readonly subjects: readonly Subject[];
  /** Changes with the subjects and their expiry, and with each conditional change. */
  readonly version: string;
}

/** Subjects that are listed before other requests get their turn. */
const SUBJECTS_PER_SLICE = 1000;
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

  /** Each subject once, in a stable order. @throws {StoreError} not-found */
  ofRole(role: string): AssignmentView[] {
    this.#editor.mustGet('Role', role);
    return this.#views((other) => other === role)
      .map(({ view }) => view)
      .sort(compareBy(sortKey));
  }

  /** The version of what ofRole() returns. @throws {StoreError} not-found */
  version(role: string): string {
    return this.subjectsOf(this.#editor.mustGet('Role', role), this.#editor.store.list('RoleAssignment')).version;
  }

  /** @param assignments all of the store */
  subjectsOf(role: Role, assignments: readonly RoleAssignment[]): SubjectsOfRole {
    const { name, uid, annotations } = role.metadata;
    const subjects = this.#views((other) => other === name, assignments).map(({ subject }) => subject);
    const content = subjects
      .map((subject) => `${subjectKey(subject.type, subject.name)} ${subject.expiresAt ?? ''}`)
      .sort();
    const text = JSON.stringify([uid, annotations?.[ANNOTATIONS.assignmentsVersion], content]);
    return { subjects, version: createHash('sha256').update(text).digest('base64url').slice(0, VERSION_LENGTH) };
  }

  /** Each subject of each role once, by role; only roles for which `readable` returns true. Other requests are served in between. */
  async ofRoles(readable: (role: string) => boolean): Promise<RoleAssignmentView[]> {
    const byRole = Map.groupBy(this.#editor.store.list('RoleAssignment'), ({ spec }) => spec.role);
    const slices = new WorkSlices(SUBJECTS_PER_SLICE);
    const all: RoleAssignmentView[] = [];
    // Names have no character before the space of the keys, so this is the order of `roleSortKey`.
    for (const role of [...byRole.keys()].sort()) {
      const assignments = byRole.get(role) ?? [];
      await slices.spend(assignments.reduce((sum, { spec }) => sum + spec.subjects.length, 1));
      if (!readable(role)) continue;
      const views = this.#views(() => true, assignments).map(({ view }): RoleAssignmentView =>
        Object.assign({ role }, view),
      );
      for (const view of views.sort(compareBy(sortKey))) all.push(view);
    }
    return all;
  }

  /** Each subject of each wanted role once. */
  #views(
    wanted: (role: string) => boolean,
    assignments: readonly RoleAssignment[] = this.#editor.store.list('RoleAssignment'),
  ): SubjectOfRole[] {
    const views = new Map<string, SubjectOfRole>();
    for (const assignment of assignments) {
      const { role, subjects } = assignment.spec;
      if (!wanted(role)) continue;
      for (const subject of subjects) {
        const canonical = this.#subjects.canonical(subject);
        const key = `${role} ${subjectKey(canonical.type, canonical.name)}`;
        const known = views.get(key);
        // A subject in several objects has the role until the last of its expiry times.
        if (known && expiryOf(known.subject) >= expiryOf(canonical)) continue;
        views.set(key, { role, subject: canonical, view: this.view(canonical, assignment) });
      }
    }
    return [...views.values()];
  }

  /** @param assignment undefined if there is none, as after a deletion of a missing assignment */
  view(canonical: Subject, assignment: RoleAssignment | undefined): AssignmentView {
    const { type, name, expiresAt } = canonical;
    const subject = type === 'service-token' ? (this.#directory.tokenByName(name)?.accessKey ?? name) : name;
    if (!assignment) return { subject, subjectType: type };
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

function compareBy<T>(keyOf: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (keyOf(a) < keyOf(b) ? -1 : 1);
}

/** Sort key of the list of all assignments. */
export function roleSortKey(view: RoleAssignmentView): string {
  return `${view.role} ${sortKey(view)}`;
}
