import type { Role } from '../../resources/kinds.ts';
import { Backreferences } from '../backreferences.ts';
import { READY, type Outcome } from '../outcome.ts';
import type { Reconciler, Subject } from '../reconciler.ts';
import { listNames } from '../words.ts';
import { policyOutcome } from './policy.ts';

export interface RoleObserved extends Subject<'Role'> {
  /** Names of policies that the role holds and that do not exist, in the role's order. */
  readonly missing: readonly string[];
  /** Names of those that exist and cannot be enforced. */
  readonly invalid: readonly string[];
  /** Sum over all assignments of the role. */
  readonly subjectCount: number;
}

/** Says of each Role whether all its policies are there and can be enforced. */
export function roleReconciler(): Reconciler<'Role', RoleObserved> {
  const rolesByPolicy = new Backreferences();
  const assignmentsByRole = new Backreferences();
  return {
    kind: 'Role',
    onOwnEvent({ type, object }) {
      rolesByPolicy.set(object.metadata.name, type === 'deleted' ? [] : policiesOf(object));
    },
    watches: [
      { kind: 'Policy', keysOf: ({ object }) => rolesByPolicy.ownersOf(object.metadata.name) },
      {
        kind: 'RoleAssignment',
        keysOf({ type, object, previous }) {
          assignmentsByRole.set(object.metadata.name, type === 'deleted' ? [] : [object.spec.role]);
          return previous ? [object.spec.role, previous.spec.role] : [object.spec.role];
        },
      },
    ],
    observe(store, name) {
      const object = store.get('Role', name);
      const policies = object ? policiesOf(object) : [];
      const missing = policies.filter((policy) => !store.get('Policy', policy));
      const invalid = policies.filter((policy) => {
        const found = store.get('Policy', policy);
        return found && policyOutcome(found).class !== 'ready';
      });
      const subjectCount = Array.from(assignmentsByRole.ownersOf(name), (assignment) => {
        return store.get('RoleAssignment', assignment)?.spec.subjects.length ?? 0;
      }).reduce((sum, count) => sum + count, 0);
      return { object, missing, invalid, subjectCount };
    },
    reconcile(observed) {
      const { object, subjectCount } = observed;
      if (!object) return { actions: [] };
      const fields = { policyCount: policiesOf(object).length, subjectCount };
      return { actions: [], status: { outcome: roleOutcome(observed), fields } };
    },
  };
}

function roleOutcome({ missing, invalid }: RoleObserved): Outcome {
  if (missing.length > 0) {
    return {
      class: 'waiting',
      reason: 'PolicyNotFound',
      message: `${listNames('policy', 'policies', missing)} not found: create ${missing.length === 1 ? 'it' : 'them'}, or take ${missing.length === 1 ? 'it' : 'them'} out of spec.policies`,
    };
  }
  if (invalid.length > 0) {
    return {
      class: 'waiting',
      reason: 'InvalidPolicy',
      message: `${listNames('policy', 'policies', invalid)} cannot be enforced, so whoever has the role is denied everything: see the status there`,
    };
  }
  return READY;
}

function policiesOf(role: Role): readonly string[] {
  return role.spec.policies ?? [];
}
