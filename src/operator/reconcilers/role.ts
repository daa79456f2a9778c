import type { Role } from '../../resources/kinds.ts';
import { expiryOf } from '../../access/subjects.ts';
import { Backreferences } from './backreferences.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import { markOf, planMark } from './deletion-mark.ts';
import { isOtherSpec, type Reconciler, type ReconciledObject } from '../controller/reconciler.ts';
import { listNames } from './list-names.ts';
import { policyOutcome } from './policy.ts';

export interface RoleObserved extends ReconciledObject<'Role'> {
  /** Names of the role's policies that do not exist, in the role's order. */
  readonly missing: readonly string[];
  /** Names of the role's policies that are invalid. */
  readonly invalid: readonly string[];
  /** Expiry times of all subjects in all assignments of the role, milliseconds since the epoch; Infinity for none. */
  readonly expiries: readonly number[];
  /** Names of some of its assignments. */
  readonly referencedBy: string[];
}

/** Reports whether all policies of each Role exist and are valid. */
export function roleReconciler(): Reconciler<'Role', RoleObserved> {
  const rolesByPolicy = new Backreferences();
  const assignmentsByRole = new Backreferences();
  return {
    kind: 'Role',
    onOwnEvent({ type, object }) {
      rolesByPolicy.set(object.metadata.name, type === 'deleted' ? [] : policiesOf(object));
    },
    watches: [
      {
        kind: 'Policy',
        // Not for each status of a policy: it changes with the roles that have it, and they may be many.
        keysOf: (event) => (isOtherSpec(event) ? rolesByPolicy.ownersOf(event.object.metadata.name) : []),
      },
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
      const expiries = Array.from(assignmentsByRole.ownersOf(name)).flatMap((assignment) => {
        return store.get('RoleAssignment', assignment)?.spec.subjects.map(expiryOf) ?? [];
      });
      const referencedBy = assignmentsByRole.someOwnersOf(name, object?.status?.referencedBy);
      return { object, missing, invalid, expiries, referencedBy };
    },
    temporaryState: ({ object }) => markOf(object),
    reconcile(observed, context) {
      const { object, expiries, referencedBy } = observed;
      if (!object) return { actions: [] };
      const now = context.now;
      const active = expiries.filter((expiry) => expiry > now);
      const fields = { policyCount: policiesOf(object).length, subjectCount: active.length, referencedBy };
      const { unmarked, recheckMs = Infinity } = planMark(object, context.stateAgeMs);
      // The event of the update starts the reconciler again.
      if (unmarked !== undefined) return { actions: [{ do: 'update', kind: 'Role', object: unmarked }] };
      const next = active.reduce((least, expiry) => Math.min(least, expiry - now), recheckMs);
      return {
        actions: [],
        status: { outcome: roleOutcome(observed), fields },
        ...(next === Infinity ? {} : { requeueAfterMs: next }),
      };
    },
  };
}

function roleOutcome({ missing, invalid }: RoleObserved): Outcome {
  if (missing.length > 0) {
    return {
      class: 'waiting',
      reason: 'PolicyNotFound',
      message: `${listNames('policy', 'policies', missing)} not found: create ${missing.length === 1 ? 'it' : 'them'}, or remove ${missing.length === 1 ? 'it' : 'them'} from spec.policies`,
    };
  }
  if (invalid.length > 0) {
    return {
      class: 'waiting',
      reason: 'InvalidPolicy',
      message: `${listNames('policy', 'policies', invalid)} ${invalid.length === 1 ? 'is' : 'are'} invalid, so the role denies everything: see the status of ${invalid.length === 1 ? 'that policy' : 'those policies'}`,
    };
  }
  return READY;
}

function policiesOf(role: Role): readonly string[] {
  return role.spec.policies ?? [];
}
