import { Backreferences } from '../backreferences.ts';
import { READY } from '../outcome.ts';
import type { Reconciler, Subject } from '../reconciler.ts';

export interface RoleAssignmentObserved extends Subject<'RoleAssignment'> {
  readonly roleExists: boolean;
}

/** Reports whether the role of each RoleAssignment exists. */
export function roleAssignmentReconciler(): Reconciler<'RoleAssignment', RoleAssignmentObserved> {
  const assignmentsByRole = new Backreferences();
  return {
    kind: 'RoleAssignment',
    onOwnEvent({ type, object }) {
      assignmentsByRole.set(object.metadata.name, type === 'deleted' ? [] : [object.spec.role]);
    },
    watches: [{ kind: 'Role', keysOf: ({ object }) => assignmentsByRole.ownersOf(object.metadata.name) }],
    observe(store, name) {
      const object = store.get('RoleAssignment', name);
      return { object, roleExists: object !== undefined && store.get('Role', object.spec.role) !== undefined };
    },
    reconcile({ object, roleExists }) {
      if (!object) return { actions: [] };
      const outcome = roleExists
        ? READY
        : ({
            class: 'waiting',
            reason: 'RoleNotFound',
            message: `role \`${object.spec.role}\` not found: create it, or delete this assignment (its role cannot be changed)`,
          } as const);
      return { actions: [], status: { outcome, fields: { subjectCount: object.spec.subjects.length } } };
    },
  };
}
