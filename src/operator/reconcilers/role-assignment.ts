import { Backreferences } from './backreferences.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import type { Reconciler, ReconciledObject } from '../controller/reconciler.ts';
import { subjectProblem } from '../../resources/subject-name.ts';
import type { RoleAssignment } from '../../resources/kinds.ts';
import {
  DEFAULT_PRUNE_AFTER_MS,
  keptExpired,
  pruneExpired,
  reportExpiry,
  unreadableExpiry,
} from './assignment-expiry.ts';

export interface RoleAssignmentObserved extends ReconciledObject<'RoleAssignment'> {
  readonly roleExists: boolean;
}

export interface RoleAssignmentOptions {
  /** How long an expired subject stays in the object, in milliseconds; 0: they are never removed. */
  readonly pruneAfterMs?: number;
}

/** Reports whether the role of each RoleAssignment exists and which subjects expire, and removes expired subjects. */
export function roleAssignmentReconciler({
  pruneAfterMs = DEFAULT_PRUNE_AFTER_MS,
}: RoleAssignmentOptions = {}): Reconciler<'RoleAssignment', RoleAssignmentObserved> {
  const assignmentsByRole = new Backreferences();
  return {
    kind: 'RoleAssignment',
    onOwnEvent({ type, object }) {
      assignmentsByRole.set(object.metadata.name, type === 'deleted' ? [] : [object.spec.role]);
    },
    // Only whether the role exists matters: its status changes with its assignments, which may be many.
    watches: [
      {
        kind: 'Role',
        keysOf: ({ type, object }) => (type === 'modified' ? [] : assignmentsByRole.ownersOf(object.metadata.name)),
      },
    ],
    observe(store, name) {
      const object = store.get('RoleAssignment', name);
      return { object, roleExists: object !== undefined && store.get('Role', object.spec.role) !== undefined };
    },
    reconcile({ object, roleExists }, context) {
      if (!object) return { actions: [] };
      const now = context.now;
      const pruning = pruneExpired(object, now, pruneAfterMs);
      // The write causes another reconciliation, which reports the status.
      if (pruning) return { actions: pruning };
      const { fields, events, changesInMs } = reportExpiry(object, now, pruneAfterMs);
      const ready = keptExpired(object, now, pruneAfterMs) ?? READY;
      const outcome = unreadableExpiry(object) ?? (roleExists ? ready : roleNotFound(object.spec.role));
      return {
        actions: [],
        status: { outcome, fields, events, warnings: subjectWarnings(object), warningReason: 'NeverMatches' },
        ...(changesInMs === undefined ? {} : { requeueAfterMs: changesInMs }),
      };
    },
  };
}

/** More are not useful. */
const MAX_WARNINGS = 20;

/** Subjects that no caller can be. New ones are refused; those that an earlier version has stored have no effect. */
function subjectWarnings({ spec }: RoleAssignment): string[] {
  return spec.subjects
    .flatMap((subject, index) => {
      const problem = subjectProblem(subject);
      return problem === undefined ? [] : [`\`subjects[${index}]\`: ${problem}`];
    })
    .slice(0, MAX_WARNINGS);
}

function roleNotFound(role: string): Outcome {
  return {
    class: 'waiting',
    reason: 'RoleNotFound',
    message: `role \`${role}\` not found: create it, or delete this assignment (its role cannot be changed)`,
  };
}
