import { randomUUID } from 'node:crypto';
import type { Role } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Directory } from '../directory.ts';
import { longWork } from '../../platform/long-work.ts';
import { ManagerError, PreconditionFailed } from '../errors.ts';
import type { Principal } from '../principal.ts';
import { assignmentsRight } from '../readable-text.ts';
import { expiryOf, subjectKey } from '../subjects.ts';
import type { AssignmentList, SubjectsOfRole } from './assignment-list.ts';
import type { AssignmentManager } from './assignments.ts';
import { AssignedSubjects } from './assigned-subjects.ts';
import type { IfMatch } from './content-versions.ts';
import { keepsChanging, notFound, type ResourceEditor } from './editor.ts';
import type { AssignmentView } from './views.ts';

/** Each change takes some requests to the store. */
const MAX_CHANGES = 100;

interface SubjectDifference {
  readonly assigned: readonly Subject[];
  readonly removed: readonly Subject[];
}

interface Current extends SubjectsOfRole {
  readonly stored: Role;
}

/**
 * The assignments of a role as one resource with a version.
 *
 * The assignments are several objects, so the resource version of one of them cannot serve as the version of all. A conditional change therefore
 * first writes a new version of the assignments to the role, by an update of exactly the role that was read before the assignments. Of two
 * conditional changes that have read the same version, one makes this update; the other fails, reads again and finds another version.
 * The caller's right is checked before, so that a caller without it cannot invalidate the version that others have read.
 * An unconditional change at the same time is kept: only the difference from what was read is written.
 */
export class AssignmentSet {
  readonly #editor: ResourceEditor;
  readonly #subjects: AssignedSubjects;
  readonly #assignments: AssignmentManager;
  readonly #list: AssignmentList;

  constructor(editor: ResourceEditor, directory: Directory, assignments: AssignmentManager, list: AssignmentList) {
    this.#editor = editor;
    this.#subjects = new AssignedSubjects(directory);
    this.#assignments = assignments;
    this.#list = list;
  }

  /** @throws {StoreError} as AssignmentManager.create(). @throws {PreconditionFailed} */
  async create(caller: Principal, role: string, subject: Subject, ifMatch?: IfMatch): Promise<AssignmentView> {
    if (ifMatch !== undefined) {
      await this.#assignments.requireMayChange(caller, role, { assigned: [subject] });
      await this.#claim(role, ifMatch);
    }
    return this.#assignments.create(caller, role, subject);
  }

  /** @throws {StoreError} as AssignmentManager.delete(). @throws {PreconditionFailed} */
  async delete(caller: Principal, role: string, subject: Subject, ifMatch?: IfMatch): Promise<AssignmentView> {
    if (ifMatch !== undefined) {
      await this.#assignments.requireMayChange(caller, role, { removed: [subject] });
      await this.#claim(role, ifMatch);
    }
    return this.#assignments.delete(caller, role, subject);
  }

  /**
   * Assigns the role to exactly these subjects. Subjects that keep their expiry are not written. The others are assigned first, then absent ones are
   * removed. A change that the caller may not make is rejected before the first write. If a later write is rejected because of a concurrent change,
   * the earlier ones stay.
   * @throws {StoreError} invalid (a subject twice, too many changes); as create() and delete(). @throws {PreconditionFailed}
   */
  async replace(caller: Principal, role: string, sent: readonly Subject[], ifMatch?: IfMatch): Promise<void> {
    const wanted = sent.map((subject) => this.#subjects.canonical(subject));
    const byKey = new Map(wanted.map((subject) => [keyOf(subject), subject]));
    const twice = sent[wanted.findIndex((subject) => byKey.get(keyOf(subject)) !== subject)];
    if (twice !== undefined) throw new ManagerError('invalid', `the body has ${twice.type} \`${twice.name}\` twice`);
    const planned = this.#difference(role, wanted, await this.#read(role));
    await this.#assignments.requireMayChange(caller, role, planned);
    const found = await this.#claim(role, ifMatch);
    const { assigned, removed } = this.#difference(role, wanted, found);
    for (const subject of assigned) await this.#assignments.create(caller, role, subject);
    for (const subject of removed) await this.#assignments.delete(caller, role, subject);
  }

  /** @throws {ManagerError} invalid, if there are too many changes */
  #difference(role: string, wanted: readonly Subject[], { subjects }: SubjectsOfRole): SubjectDifference {
    // By key, because comparing each with each takes seconds for a thousand subjects.
    const found = new Map(subjects.map((subject) => [keyOf(subject), subject]));
    const kept = new Set(wanted.map(keyOf));
    const assigned = wanted.filter((subject) => {
      const old = found.get(keyOf(subject));
      return old === undefined || expiryOf(old) !== expiryOf(subject);
    });
    const removed = subjects.filter((subject) => !kept.has(keyOf(subject)));
    const changes = assigned.length + removed.length;
    if (changes <= MAX_CHANGES) return { assigned, removed };
    const limit = `at most ${MAX_CHANGES} are allowed in one request`;
    throw new ManagerError('invalid', `the body changes ${changes} assignments of role \`${role}\`: ${limit}`);
  }

  /** Reads the stored version. @throws {StoreError} not-found */
  async #read(role: string): Promise<Current> {
    const { store } = this.#editor;
    const stored = await store.read('Role', role);
    if (stored === undefined) throw notFound('Role', role);
    const assignments = await store.readAll('RoleAssignment');
    return { stored, ...(await longWork.run(role, this.#list.subjectsOf(stored, assignments))) };
  }

  /** What the store has, if it has one of these versions; no other caller claims the same version. */
  #claim(role: string, ifMatch: IfMatch | undefined): Promise<SubjectsOfRole> {
    return this.#editor.inTurn('Role', role, () =>
      this.#editor.retryConflicts(keepsChanging('Role', role), async () => {
        const { stored, ...found } = await this.#read(role);
        if (ifMatch === undefined || ifMatch === '*') return found;
        if (!ifMatch.includes(found.version)) {
          throw new PreconditionFailed(
            `the set of assignments of role \`${role}\``,
            found.version,
            assignmentsRight(role),
          );
        }
        const annotations = { ...stored.metadata.annotations, [ANNOTATIONS.assignmentsVersion]: randomUUID() };
        await this.#editor.store.update('Role', { ...stored, metadata: { ...stored.metadata, annotations } });
        return found;
      }),
    );
  }
}

function keyOf({ type, name }: Subject): string {
  return subjectKey(type, name);
}
