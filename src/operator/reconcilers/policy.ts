import { validatePolicySpec } from '../../access/policy-document.ts';
import type { Policy } from '../../resources/kinds.ts';
import { describeErrors } from '../../resources/validate.ts';
import { READY, type Outcome } from '../outcome.ts';
import type { Reconciler, Subject } from '../reconciler.ts';

/** Says of each Policy whether it can be enforced. A policy that cannot denies everything to the roles that hold it. */
export function policyReconciler(): Reconciler<'Policy', Subject<'Policy'>> {
  return {
    kind: 'Policy',
    watches: [],
    observe: (store, name) => ({ object: store.get('Policy', name) }),
    reconcile({ object }) {
      if (!object) return { actions: [] };
      return {
        actions: [],
        status: { outcome: policyOutcome(object), fields: { statementCount: object.spec.statements?.length ?? 0 } },
      };
    },
  };
}

/** Objects are never changed in place: what was found out about one stays true. */
const outcomes = new WeakMap<Policy['spec'], Outcome>();

/** Whether the policy can be enforced, and why not. */
export function policyOutcome(policy: Policy): Outcome {
  let outcome = outcomes.get(policy.spec);
  if (!outcome) {
    const check = validatePolicySpec(policy.spec);
    outcome = check.ok
      ? READY
      : {
          class: 'stalled',
          reason: 'InvalidPolicy',
          message: `the policy cannot be enforced and denies everything: ${describeErrors(check.errors)}`,
        };
    outcomes.set(policy.spec, outcome);
  }
  return outcome;
}
