import { randomUUID } from 'node:crypto';
import { errorMessage } from '../../platform/plain-error.ts';
import type { RoleAssignment } from '../../resources/kinds.ts';
import { ANNOTATIONS, isBeingDeleted } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { StoreError, type ResourceStore, type WriteOptions } from '../../store/resource-store.ts';
import { isStoreError, ManagerError } from '../errors.ts';
import { SYSTEM_ADMIN } from '../policy/predefined.ts';
import type { Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import { sameSubject } from '../subjects.ts';
import { AssignedSubjects } from './assigned-subjects.ts';
import { exactly, keepsChanging, notFound, type ResourceEditor } from './editor.ts';
import { holdsAfter, LASTING_MS } from './lasting.ts';

type AssignmentSpec = RoleAssignment['spec'];

/**
 * Changes assignments of the role `system-admin`. Rejects a change after which no other subject holds the role for at least 24 hours.
 *
 * Two callers at two gateways must not remove the role from each other's subject at the same time. A change has three steps:
 * 1. Read the assignment that is to be changed, with its version.
 * 2. Mark the assignment of another administrator, which gives that assignment a new version.
 * 3. Change the first assignment, only if it still has the version of step 1.
 *
 * Suppose two changes remove A and B, each because the other one remains. The change of A marks B, and the change of B marks A, each after it has
 * read its own assignment. The later mark is set after both reads. If the marked assignment still exists, its change fails in step 3, because
 * its version differs. If that change was faster, there is no assignment left to mark. In both cases one of the changes starts again and finds the other one's result.
 *
 * A deny does not make the role ineffective for this purpose, see isAccessManagement().
 */
export class Administrators {
  readonly #editor: ResourceEditor;
  readonly #canonical: (subject: Subject) => Subject;

  constructor(editor: ResourceEditor, directory: Directory) {
    this.#editor = editor;
    const subjects = new AssignedSubjects(directory);
    this.#canonical = (subject) => subjects.canonical(subject);
  }

  /**
   * Removes the role from `subject`, at once or by an earlier expiry.
   * @param change the new spec, without subjects to delete the assignment; the same object if nothing changes
   * @returns the assignment; undefined if it has been deleted
   * @throws {ManagerError} conflict if no lasting administrator would be left
   */
  takeAway(
    author: Principal,
    name: string,
    subject: Subject,
    change: (spec: AssignmentSpec) => AssignmentSpec,
  ): Promise<RoleAssignment | undefined> {
    const { store } = this.#editor;
    return this.#editor.inTurn('RoleAssignment', name, () =>
      this.#editor.retryConflicts(keepsChanging('RoleAssignment', name), async () => {
        const current = await store.read('RoleAssignment', name);
        if (current === undefined) throw notFound('RoleAssignment', name);
        const spec = change(current.spec);
        if (spec === current.spec) return current;
        if (await this.#holdsNow(current.spec, subject)) await this.#relyOnAnother(name, spec, subject);
        if (spec.subjects.length > 0) {
          return store.update('RoleAssignment', this.#editor.stamped({ ...current, spec }, author));
        }
        await store.delete('RoleAssignment', name, exactly(current));
        return undefined;
      }),
    );
  }

  /** Whether the subject has the role now; an expired subject does not. */
  async #holdsNow({ subjects }: AssignmentSpec, subject: Subject): Promise<boolean> {
    const now = this.#editor.now();
    for (const own of subjects.map(this.#canonical)) {
      if (sameSubject(own, subject) && (await this.#holdsAfter(own, now))) return true;
    }
    return false;
  }

  async #relyOnAnother(name: string, spec: AssignmentSpec, subject: Subject): Promise<void> {
    if (await this.#findLasting(spec.subjects, subject)) return;
    for (const other of await this.#editor.store.readAll('RoleAssignment')) {
      if (other.spec.role !== SYSTEM_ADMIN || other.metadata.name === name || isBeingDeleted(other)) continue;
      if (!(await this.#findLasting(other.spec.subjects, subject))) continue;
      await markAssignment(this.#editor.store, other);
      return;
    }
    throw new ManagerError(
      'conflict',
      `role \`${SYSTEM_ADMIN}\` would have no subject left that holds it for another 24 hours: assign it to another subject first`,
    );
  }

  async #findLasting(subjects: readonly Subject[], except: Subject): Promise<boolean> {
    const until = this.#editor.now() + LASTING_MS;
    for (const subject of subjects.map(this.#canonical)) {
      if (!sameSubject(subject, except) && (await this.#holdsAfter(subject, until))) return true;
    }
    return false;
  }

  /** @param time milliseconds since the epoch */
  #holdsAfter(subject: Subject, time: number): Promise<boolean> {
    return holdsAfter(subject, time, (name) => this.#editor.store.read('ServiceToken', name));
  }
}

/**
 * Gives the assignment on which another change relies a new version, so that its concurrent removal fails.
 * @throws {StoreError} conflict if it was changed or deleted
 */
export async function markAssignment(
  store: ResourceStore,
  assignment: RoleAssignment,
  options: WriteOptions = {},
): Promise<void> {
  const annotations = { ...assignment.metadata.annotations, [ANNOTATIONS.reliedOn]: randomUUID() };
  try {
    await store.update('RoleAssignment', { ...assignment, metadata: { ...assignment.metadata, annotations } }, options);
  } catch (error) {
    if (!isStoreError(error, 'not-found')) throw error;
    throw new StoreError('conflict', errorMessage(error));
  }
}
