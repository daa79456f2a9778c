import { createHash } from 'node:crypto';
import type { RoleAssignment } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import { sameSubject, subjectKey } from '../subjects.ts';
import type { ResourceEditor } from './editor.ts';
import { isStoreError, ManagerError } from '../errors.ts';
import type { EscalationGuard } from './escalation.ts';
import { createdAt, createdBy, managedBy, type AssignmentView, type RoleAssignmentView } from './views.ts';

/** Maximum length of the role name within an assignment name; the hash keeps names unique. */
const ROLE_PART_LENGTH = 200;
const HASH_LENGTH = 20;

/**
 * Assigns roles to subjects. REST creates one object per assignment, with a name derived from role and subject, so that concurrent creation
 * on several gateways results in one object. Subjects of assignments created by kubectl are listed and removed too.
 */
export class AssignmentManager {
  readonly #editor: ResourceEditor;
  readonly #directory: Directory;
  readonly #escalation: EscalationGuard;

  constructor(editor: ResourceEditor, directory: Directory, escalation: EscalationGuard) {
    this.#editor = editor;
    this.#directory = directory;
    this.#escalation = escalation;
  }

  /** Each subject once, in a stable order. @throws {StoreError} not-found */
  list(role: string): AssignmentView[] {
    this.#editor.mustGet('Role', role);
    return this.#views((other) => other === role)
      .map(({ view }) => view)
      .sort(compareBy(sortKey));
  }

  /** Each subject of each role once, by role; only roles for which `readable` returns true. */
  listAll(readable: (role: string) => boolean): RoleAssignmentView[] {
    const known = new Map<string, boolean>();
    const views = this.#views((role) => {
      const answer = known.get(role) ?? readable(role);
      known.set(role, answer);
      return answer;
    });
    return views
      .map(({ role, view }): RoleAssignmentView => Object.assign({ role }, view))
      .sort(compareBy(roleSortKey));
  }

  /** Each subject of each wanted role once. */
  #views(wanted: (role: string) => boolean): { role: string; view: AssignmentView }[] {
    const views = new Map<string, { role: string; view: AssignmentView }>();
    for (const assignment of this.#editor.store.list('RoleAssignment')) {
      const { role, subjects } = assignment.spec;
      if (!wanted(role)) continue;
      for (const subject of subjects) {
        const canonical = this.#canonical(subject);
        const key = `${role} ${subjectKey(canonical.type, canonical.name)}`;
        if (!views.has(key)) views.set(key, { role, view: this.#view(canonical, assignment) });
      }
    }
    return [...views.values()];
  }

  /** Assigning an assigned role is not an error. @throws {StoreError} not-found (role), invalid (subject), forbidden */
  async create(caller: Principal, role: string, sent: Subject): Promise<AssignmentView> {
    const { spec } = this.#editor.mustGet('Role', role);
    const subject = this.#canonical(sent);
    this.#requireSubject(subject);
    this.#escalation.requireMayAssign(caller, role, spec.policies ?? []);
    const existing = this.#find(role, subject)[0];
    if (existing) return this.#view(subject, existing);
    const name = assignmentName(role, subject);
    const object: RoleAssignment = {
      apiVersion: API_VERSION,
      kind: 'RoleAssignment',
      metadata: this.#editor.newMetadata(name, caller),
      spec: { role, subjects: [subject] },
    };
    const made = await this.#createOrJoin(caller, object, subject);
    if (!this.#editor.store.get('Role', role)) {
      // The role was deleted meanwhile: a new role with this name must not inherit subjects.
      await this.delete(caller, role, subject);
      this.#editor.mustGet('Role', role);
    }
    return this.#view(subject, made);
  }

  /** Removing a missing assignment is not an error. @throws {StoreError} conflict, unavailable */
  async delete(caller: Principal, role: string, sent: Subject): Promise<AssignmentView> {
    const subject = this.#canonical(sent);
    const assignments = this.#find(role, subject);
    if (assignments.length === 0) this.#editor.mustGet('Role', role);
    else this.#escalation.requireMayUnassign(caller, role, this.#editor.store.get('Role', role)?.spec.policies ?? []);
    for (const assignment of assignments) await this.#removeSubject(caller, assignment.metadata.name, subject);
    return this.#view(subject, assignments[0]);
  }

  /** Removes a subject from all assignments, for example when it is deleted. */
  async deleteAll(caller: Principal, sent: Subject): Promise<void> {
    const subject = this.#canonical(sent);
    for (const assignment of this.#editor.store.list('RoleAssignment')) {
      if (this.#names(assignment, subject)) await this.#removeSubject(caller, assignment.metadata.name, subject);
    }
  }

  async #createOrJoin(caller: Principal, object: RoleAssignment, subject: Subject): Promise<RoleAssignment> {
    try {
      return await this.#editor.store.create('RoleAssignment', object);
    } catch (error) {
      if (!isStoreError(error, 'already-exists')) throw error;
    }
    // Created concurrently by another gateway, or by kubectl under this name with other subjects.
    const { name } = object.metadata;
    for (let attempt = 0; !this.#editor.store.get('RoleAssignment', name) && attempt < VIEW_ATTEMPTS; attempt++) {
      await this.#editor.pause(attempt);
    }
    const join = (spec: RoleAssignment['spec']): RoleAssignment['spec'] => {
      if (spec.role !== object.spec.role) {
        throw new ManagerError('conflict', `role assignment \`${name}\` exists already, for role \`${spec.role}\``);
      }
      const present = spec.subjects.some((other) => sameSubject(this.#canonical(other), subject));
      return present ? spec : { ...spec, subjects: [...spec.subjects, subject] };
    };
    try {
      return await this.#editor.edit('RoleAssignment', name, caller, join, { replaces: 'nothing' });
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
    return this.#editor.store.create('RoleAssignment', object);
  }

  /** Removes the subject, and the object with its last subject. */
  async #removeSubject(caller: Principal, name: string, subject: Subject): Promise<void> {
    const others = (spec: RoleAssignment['spec']): Subject[] =>
      spec.subjects.filter((other) => !sameSubject(this.#canonical(other), subject));
    for (let attempt = 0; attempt < LAST_SUBJECT_ATTEMPTS; attempt++) {
      const current = this.#editor.store.get('RoleAssignment', name);
      if (!current || !this.#names(current, subject)) return;
      try {
        if (others(current.spec).length > 0) {
          await this.#editor.edit('RoleAssignment', name, caller, (spec) => withSubjects(spec, others(spec)), {
            replaces: 'nothing',
          });
        } else {
          await this.#editor.remove('RoleAssignment', name, ({ spec }) => {
            if (others(spec).length > 0) throw new SubjectsChanged();
          });
        }
        return;
      } catch (error) {
        if (isStoreError(error, 'not-found')) return;
        if (!(error instanceof SubjectsChanged)) throw error;
      }
    }
    throw new ManagerError('conflict', `role assignment \`${name}\` keeps changing: try again`);
  }

  #assignmentsOf(role: string): RoleAssignment[] {
    return this.#editor.store.list('RoleAssignment').filter(({ spec }) => spec.role === role);
  }

  #find(role: string, subject: Subject): RoleAssignment[] {
    return this.#assignmentsOf(role).filter((assignment) => this.#names(assignment, subject));
  }

  #names(assignment: RoleAssignment, subject: Subject): boolean {
    return assignment.spec.subjects.some((other) => sameSubject(this.#canonical(other), subject));
  }

  /** Normalizes a subject: a token is named by its object, even if the request used its access key. */
  #canonical(subject: Subject): Subject {
    const { type, name } = subject;
    if (type === 'service-token') return { type, name: this.#directory.tokenNameOf(name) ?? name };
    return type === 'group' ? subject : { type, name: name.toLowerCase() };
  }

  #requireSubject({ type, name }: Subject): void {
    if (type !== 'service-token' || this.#directory.tokenNameOf(name) !== undefined) return;
    throw new ManagerError('invalid', `\`subject\`: there is no service token with the access key \`${name}\``);
  }

  #view({ type, name }: Subject, assignment: RoleAssignment | undefined): AssignmentView {
    const subject = type === 'service-token' ? (this.#directory.tokenByName(name)?.accessKey ?? name) : name;
    if (!assignment) return { subject, subjectType: type };
    const { metadata } = assignment;
    return {
      subject,
      subjectType: type,
      createdAt: createdAt(metadata),
      createdBy: createdBy(metadata),
      ...managedBy(metadata),
    };
  }
}

const LAST_SUBJECT_ATTEMPTS = 5;
/** Maximum reads of the local view for an object that exists in the store. */
const VIEW_ATTEMPTS = 8;

/** Another subject was added while the last one was being removed. */
class SubjectsChanged extends Error {}

function withSubjects(spec: RoleAssignment['spec'], subjects: Subject[]): RoleAssignment['spec'] {
  if (subjects.length === spec.subjects.length) return spec;
  if (subjects.length === 0) throw new SubjectsChanged();
  return { ...spec, subjects };
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

/** Name of the assignment object for a role and a subject; the same on every gateway. */
export function assignmentName(role: string, subject: Subject): string {
  const hash = createHash('sha256')
    .update(`${role}\n${subjectKey(subject.type, subject.name)}`)
    .digest('hex')
    .slice(0, HASH_LENGTH);
  return `${role.slice(0, ROLE_PART_LENGTH).replace(/[-.]+$/, '')}-${hash}`;
}
