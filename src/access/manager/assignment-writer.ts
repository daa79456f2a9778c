import type { RoleAssignment } from '../../resources/kinds.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { StoreError } from '../../store/resource-store.ts';
import { isStoreError, ManagerError } from '../errors.ts';
import { assignmentsRight, readableText } from '../readable-text.ts';
import { SYSTEM_ADMIN } from '../policy/predefined.ts';
import type { Principal } from '../principal.ts';
import type { Administrators } from './administrators.ts';
import type { AssignedSubjects, SubjectsSpec } from './assigned-subjects.ts';
import type { AssignmentList } from './assignment-list.ts';
import { keepsChanging, type ResourceEditor } from './editor.ts';
import type { AssignmentView } from './views.ts';

/** What an AssignmentWriter uses beside the editor. */
export interface WriterDependencies {
  readonly subjects: AssignedSubjects;
  readonly list: AssignmentList;
  readonly administrators: Administrators;
}

/** Writes the objects of assignments. Its callers have checked what the caller may do. Every `subject` is canonical. */
export class AssignmentWriter {
  readonly #editor: ResourceEditor;
  readonly #subjects: AssignedSubjects;
  readonly #list: AssignmentList;
  readonly #administrators: Administrators;

  constructor(editor: ResourceEditor, { subjects, list, administrators }: WriterDependencies) {
    this.#editor = editor;
    this.#subjects = subjects;
    this.#list = list;
    this.#administrators = administrators;
  }

  /**
   * Creates the object, or adds the subject to the one that another gateway, or kubectl, created under its name.
   * @throws {ManagerError} conflict
   */
  async createOrJoin(caller: Principal, object: RoleAssignment, subject: Subject): Promise<RoleAssignment> {
    try {
      return await this.#editor.store.create('RoleAssignment', object);
    } catch (error) {
      if (!isStoreError(error, 'already-exists')) throw error;
    }
    // Created concurrently by another gateway, or by kubectl under this name with other subjects.
    const { name } = object.metadata;
    const join = (spec: SubjectsSpec): SubjectsSpec => {
      if (spec.role !== object.spec.role) {
        const other = {
          rights: [assignmentsRight(spec.role)],
          text: `role \`${spec.role}\``,
          otherwise: 'a role whose assignments you may not read',
        };
        throw new ManagerError('conflict', readableText`role assignment \`${name}\` exists already, for ${other}`);
      }
      // The right to remove the assignment was not checked, because the view did not show the later expiry.
      if (this.#subjects.hasForLonger(spec, subject)) throw keepsChanging('RoleAssignment', name);
      return this.#subjects.has(spec, subject)
        ? this.#subjects.renewed(spec, subject)
        : { ...spec, subjects: [...spec.subjects, subject] };
    };
    try {
      return await this.#editor.edit('RoleAssignment', name, caller, join, { replaces: 'nothing' });
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
    return this.#editor.store.create('RoleAssignment', object);
  }

  /** Sets the expiry of the subject in all assignments that name it, because the last of these times counts. */
  async renew(caller: Principal, existing: readonly RoleAssignment[], subject: Subject): Promise<AssignmentView> {
    const written: RoleAssignment[] = [];
    for (const { metadata, spec } of existing) {
      const endsEarlier = this.#subjects.hasForLonger(spec, subject);
      const renew = (old: SubjectsSpec): SubjectsSpec => {
        // The right to remove the assignment was not checked, because the view did not show the later expiry.
        if (!endsEarlier && this.#subjects.hasForLonger(old, subject))
          throw keepsChanging('RoleAssignment', metadata.name);
        return this.#subjects.renewed(old, subject);
      };
      try {
        const made =
          spec.role === SYSTEM_ADMIN && endsEarlier
            ? await this.#administrators.takeAway(caller, metadata.name, subject, renew)
            : await this.#editor.edit('RoleAssignment', metadata.name, caller, renew, { replaces: 'nothing' });
        if (made) written.push(made);
      } catch (error) {
        // Deleted meanwhile: the result is that of this request followed by the deletion.
        if (!isStoreError(error, 'not-found')) throw error;
      }
    }
    return this.#list.view(subject, written[0] ?? existing[0]!);
  }

  /** Removes the subject, and the object with its last subject. */
  async remove(caller: Principal, name: string, subject: Subject): Promise<void> {
    const others = (spec: SubjectsSpec): Subject[] => this.#subjects.others(spec, subject);
    const { store } = this.#editor;
    const remove = async (): Promise<void> => {
      const current = store.get('RoleAssignment', name) ?? (await store.read('RoleAssignment', name));
      if (!current || !this.#subjects.has(current.spec, subject)) return;
      if (current.spec.role === SYSTEM_ADMIN) {
        await this.#administrators.takeAway(caller, name, subject, (spec) => {
          return this.#subjects.has(spec, subject) ? { ...spec, subjects: others(spec) } : spec;
        });
      } else if (others(current.spec).length > 0) {
        const change = (spec: SubjectsSpec): SubjectsSpec => withSubjects(spec, others(spec));
        await this.#editor.edit('RoleAssignment', name, caller, change, { replaces: 'nothing' });
      } else {
        await this.#editor.remove('RoleAssignment', name, ({ spec }) => {
          if (others(spec).length > 0) throw new SubjectsChanged();
        });
      }
    };
    try {
      await this.#editor.retryConflicts(keepsChanging('RoleAssignment', name), () => remove().catch(retryable));
    } catch (error) {
      if (!isStoreError(error, 'not-found')) throw error;
    }
  }
}

/** A subject was added while the last one was being removed, or the other subjects were removed. Ends the edit; the removal starts again. */
class SubjectsChanged extends ManagerError {
  constructor() {
    super('conflict', 'the subjects of the role assignment have changed');
  }
}

/** A ManagerError is final for the editor, see retryConflicts(). */
function retryable(error: unknown): never {
  throw error instanceof SubjectsChanged ? new StoreError('conflict', error.message) : error;
}

function withSubjects(spec: SubjectsSpec, subjects: Subject[]): SubjectsSpec {
  if (subjects.length === spec.subjects.length) return spec;
  if (subjects.length === 0) throw new SubjectsChanged();
  return { ...spec, subjects };
}
