import type { RoleAssignment, ServiceToken } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { subjectProblem } from '../../resources/subject-name.ts';
import type { Directory } from '../directory.ts';
import { roleResource } from '../policy/srn.ts';
import type { Principal } from '../principal.ts';
import { expiryOf } from '../subjects.ts';
import { AssignedSubjects } from './assigned-subjects.ts';
import type { AssignmentList } from './assignment-list.ts';
import { assignmentName } from './assignment-name.ts';
import { AssignmentWriter } from './assignment-writer.ts';
import { notFound, type ResourceEditor } from './editor.ts';
import { ManagerError } from '../errors.ts';
import { SYSTEM_ADMIN } from '../policy/predefined.ts';
import type { EscalationGuard } from './escalation.ts';
import type { Guards } from './guards.ts';
import { requireFuture } from './expiry.ts';
import { deleting } from './refusals.ts';
import { confirmTarget } from './references.ts';
import type { AssignmentView } from './views.ts';

/**
 * Assigns roles to subjects. REST creates one object per assignment, with a name derived from role and subject, so that concurrent creation
 * on several gateways results in one object. Subjects of assignments created by kubectl are listed and removed too.
 */
export class AssignmentManager {
  readonly #editor: ResourceEditor;
  readonly #directory: Directory;
  readonly #subjects: AssignedSubjects;
  readonly #list: AssignmentList;
  readonly #writer: AssignmentWriter;
  readonly #escalation: EscalationGuard;

  constructor(editor: ResourceEditor, directory: Directory, list: AssignmentList, guards: Guards) {
    const { escalation, administrators } = guards;
    this.#editor = editor;
    this.#directory = directory;
    this.#list = list;
    this.#escalation = escalation;
    this.#subjects = new AssignedSubjects(directory);
    this.#writer = new AssignmentWriter(editor, { subjects: this.#subjects, list, administrators });
  }

  /**
   * Assigning an assigned role is not an error. The expiry of the request replaces the current expiry, also if the request has none.
   * @throws {StoreError} not-found (role), invalid (subject, or an expiry that has passed), forbidden
   */
  async create(caller: Principal, role: string, sent: Subject): Promise<AssignmentView> {
    const { metadata } = this.#editor.mustGet('Role', role);
    const subject = this.#subjects.canonical(sent);
    const existing = this.#find(role, subject);
    await this.#requireMayAssign(caller, role, [{ subject, existing }]);
    return this.#assign(caller, { role, uid: metadata.uid, subject, existing });
  }

  /**
   * Whether create() would be allowed for these subjects and delete() for others, by the local view. Writes nothing.
   * @throws {StoreError} not-found (role), invalid (subject, or an expiry that has passed), forbidden
   */
  async requireMayChange(
    caller: Principal,
    role: string,
    { assigned = [], removed = [] }: { readonly assigned?: readonly Subject[]; readonly removed?: readonly Subject[] },
  ): Promise<void> {
    this.#editor.mustGet('Role', role);
    const changes = assigned.map((sent) => {
      const subject = this.#subjects.canonical(sent);
      return { subject, existing: this.#find(role, subject) };
    });
    if (changes.length > 0) await this.#requireMayAssign(caller, role, changes);
    const named = removed.some((sent) => this.#find(role, this.#subjects.canonical(sent)).length > 0);
    if (named || (removed.length > 0 && !this.#mayRead(caller, role)))
      await this.#escalation.requireMayUnassign(caller, role);
  }

  async #requireMayAssign(
    caller: Principal,
    role: string,
    changes: readonly { readonly subject: Subject; readonly existing: readonly RoleAssignment[] }[],
  ): Promise<void> {
    const { policies = [] } = this.#editor.mustGet('Role', role).spec;
    for (const { subject } of changes) requireFuture(subject.expiresAt, this.#editor.now());
    // A grant that the caller holds until the last expiry is also held until the earlier ones.
    const until = Math.max(...changes.map(({ subject }) => expiryOf(subject)));
    const subjects = changes.map(({ subject }) => subject);
    await this.#escalation.requireMayAssign(caller, { role, policies, subjects, until });
    // With an earlier expiry the subject loses the role at that time. A caller that may not read whether it has the role finds out nothing by it.
    const mayRead = this.#mayRead(caller, role);
    const shortens = changes.some(({ subject, existing }) =>
      mayRead ? this.#endsEarlier(existing, subject) : subject.expiresAt !== undefined,
    );
    if (shortens) await this.#escalation.requireMayUnassign(caller, role);
    // After the rights, so that a refused caller does not find out which tokens exist.
    for (const { subject } of changes) this.#requireSubject(subject);
  }

  async #assign(
    caller: Principal,
    options: { role: string; uid: string | undefined; subject: Subject; existing: readonly RoleAssignment[] },
  ): Promise<AssignmentView> {
    const { role, uid, subject, existing } = options;
    if (existing.length > 0) {
      const renewed = await this.#writer.renew(caller, existing, subject);
      if (await confirmTarget(this.#editor, 'Role', role, uid)) return renewed;
      throw notFound('Role', role);
    }
    const name = assignmentName(role, subject);
    const object: RoleAssignment = {
      apiVersion: API_VERSION,
      kind: 'RoleAssignment',
      metadata: this.#editor.newMetadata(name, caller),
      spec: { role, subjects: [subject] },
    };
    const made = await this.#writer.createOrJoin(caller, object, subject);
    const problem = await this.#missingReference(role, uid, subject);
    if (problem === undefined) return this.#list.view(subject, made);
    await this.#writer.remove(caller, name, subject);
    throw problem;
  }

  /** Whether the role or the service token of an assignment that was just written has been deleted meanwhile. */
  async #missingReference(role: string, uid: string | undefined, subject: Subject): Promise<ManagerError | undefined> {
    if (!(await confirmTarget(this.#editor, 'Role', role, uid))) return notFound('Role', role);
    if (subject.type !== 'service-token') return undefined;
    // Deleting a token removes it from all assignments, so this check needs no mark.
    const token = await this.#editor.store.read('ServiceToken', subject.name);
    return token === undefined ? noSuchToken(subject.name) : undefined;
  }

  #mayRead(caller: Principal, role: string): boolean {
    return this.#directory.isAllowed(caller, 'GetAssignment', roleResource(role));
  }

  /**
   * Removing a missing assignment is not an error. A caller that may not read the assignments gets the same response whether there was one.
   * @throws {StoreError} conflict, unavailable
   */
  async delete(caller: Principal, role: string, sent: Subject): Promise<AssignmentView> {
    const subject = this.#subjects.canonical(sent);
    const assignments = this.#find(role, subject);
    const mayRead = this.#mayRead(caller, role);
    if (assignments.length === 0) this.#editor.mustGet('Role', role);
    if (assignments.length > 0 || !mayRead) await this.#escalation.requireMayUnassign(caller, role);
    for (const assignment of assignments) await this.#writer.remove(caller, assignment.metadata.name, subject);
    const [assignment] = assignments;
    if (assignment === undefined || !mayRead) {
      // As it was sent: which name belongs to an access key is read with the token.
      const { type, name } = subject.type === 'service-token' ? sent : subject;
      return { subject: name, subjectType: type };
    }
    return this.#list.view(subject, assignment);
  }

  /**
   * Takes the role `system-admin` from a service token that is to be deleted, if it has it.
   * @throws {ManagerError} forbidden; conflict if no lasting administrator would be left
   */
  async takeAdministration(caller: Principal, sent: Subject): Promise<void> {
    const subject = this.#subjects.canonical(sent);
    const assignments = await this.#editor.store.readAll('RoleAssignment');
    const administrators = assignments.filter(
      ({ spec }) => spec.role === SYSTEM_ADMIN && this.#subjects.has(spec, subject),
    );
    if (administrators.length > 0)
      await this.#escalation.requireMayUnassign(caller, SYSTEM_ADMIN, deleting(subject.name, SYSTEM_ADMIN));
    await this.deleteAll(caller, subject, administrators);
  }

  /**
   * Removes a subject from all assignments, for example when it is deleted. Roles with denies come last: another gateway may see the first of
   * these writes before it sees that the subject itself has been disabled.
   * @param assignments those of the local view by default
   */
  async deleteAll(
    caller: Principal,
    sent: Subject,
    assignments: readonly RoleAssignment[] = this.#editor.store.list('RoleAssignment'),
  ): Promise<void> {
    const subject = this.#subjects.canonical(sent);
    const named = assignments.filter(({ spec }) => this.#subjects.has(spec, subject));
    const denying = named.filter(({ spec }) => this.#mayDeny(spec.role));
    const allowing = named.filter((assignment) => !denying.includes(assignment));
    for (const { metadata } of [...allowing, ...denying]) await this.#writer.remove(caller, metadata.name, subject);
  }

  /**
   * Whether the caller may have what a service token has, until the token ends.
   * @throws {ManagerError} forbidden; conflict if a role changes meanwhile
   */
  async requireMayTakeOver(caller: Principal, { metadata: { name }, spec }: ServiceToken): Promise<void> {
    const subject = this.#subjects.canonical({ type: 'service-token', name });
    const untilByRole = new Map<string, number>();
    // From the store: at another gateway a role may have been assigned that this one has not seen yet.
    for (const { spec: assigned } of await this.#editor.store.readAll('RoleAssignment')) {
      const until = this.#subjects.expiryIn(assigned, subject);
      untilByRole.set(assigned.role, Math.max(until, untilByRole.get(assigned.role) ?? -Infinity));
    }
    const now = this.#editor.now();
    for (const [role, until] of untilByRole) {
      if (until > now) await this.#escalation.requireMayTakeOver(caller, name, role, Math.min(until, expiryOf(spec)));
    }
  }

  #mayDeny(role: string): boolean {
    const policies = this.#editor.store.get('Role', role)?.spec.policies ?? [];
    return this.#escalation.withDenies(policies).length > 0;
  }

  /** Whether one of the assignments gives the subject its role for longer than the subject's expiry. */
  #endsEarlier(existing: readonly RoleAssignment[], subject: Subject): boolean {
    return existing.some(({ spec }) => this.#subjects.hasForLonger(spec, subject));
  }

  #assignmentsOf(role: string): RoleAssignment[] {
    return this.#editor.store.list('RoleAssignment').filter(({ spec }) => spec.role === role);
  }

  #find(role: string, subject: Subject): RoleAssignment[] {
    return this.#assignmentsOf(role).filter(({ spec }) => this.#subjects.has(spec, subject));
  }

  #requireSubject({ type, name }: Subject): void {
    const problem = subjectProblem({ type, name });
    if (problem !== undefined) throw new ManagerError('invalid', `\`subject\`: ${problem}`);
    if (type !== 'service-token' || this.#directory.tokenNameOf(name) !== undefined) return;
    throw noSuchToken(name);
  }
}

function noSuchToken(name: string): ManagerError {
  return new ManagerError('invalid', `\`subject\`: there is no service token with the access key \`${name}\``);
}
