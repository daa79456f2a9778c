import { validatePolicySpec } from '../../access/policy/policy-document.ts';
import type { Policy } from '../../resources/kinds.ts';
import { describeErrors } from '../../resources/validate.ts';
import { READY, type Outcome } from '../outcome.ts';
import type { Reconciler, Subject } from '../reconciler.ts';

/** Validates policies. An invalid policy denies everything to the roles that have it. */
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

/** A cache: objects of the store are immutable. */
const outcomes = new WeakMap<Policy['spec'], Outcome>();

/** `ready` if the policy is valid, else `stalled` with its errors. */
export function policyOutcome(policy: Policy): Outcome {
  let outcome = outcomes.get(policy.spec);
  if (!outcome) {
    const check = validatePolicySpec(policy.spec);
    outcome = check.ok
      ? READY
      : {
          class: 'stalled',
          reason: 'InvalidPolicy',
          message: `the policy is invalid and denies everything: ${describeErrors(check.errors)}`,
        };
    outcomes.set(policy.spec, outcome);
  }
  return outcome;
}
