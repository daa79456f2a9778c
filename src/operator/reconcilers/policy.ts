import { validatePolicySpec } from '../../access/policy/policy-document.ts';
import { namedTables, policyWarnings, storedNames } from '../../access/policy/policy-warnings.ts';
import { unmatchable } from '../../access/policy/unmatchable.ts';
import type { Deployment } from '../../access/policy/srn.ts';
import type { Policy } from '../../resources/kinds.ts';
import { describeErrors } from '../../resources/validate.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import { markOf, planMark } from './deletion-mark.ts';
import type { Reconciler, ReconciledObject } from '../controller/reconciler.ts';

export interface PolicyOptions {
  readonly deployment: Deployment;
  /** Names of the existing tables; undefined while they are not known. */
  readonly tableNames: () => readonly string[] | undefined;
  /** The other clusters of the environment. */
  readonly otherClusters?: readonly (Pick<PolicyOptions, 'tableNames'> & { readonly cluster: string })[];
}

export interface PolicyObserved extends ReconciledObject<'Policy'> {
  readonly warnings: readonly string[];
  /** Whether one of the warnings is about a part of the policy that never matches. */
  readonly neverMatches: boolean;
  /** Whether the policy names tables while the existing ones are not known. */
  readonly tablesUnknown: boolean;
}

const TABLES_RETRY_MS = 60_000;

/**
 * Validates policies. An invalid policy denies everything to the roles that have it. Names that do not exist are looked up again at each
 * resync, because tables are not watched.
 * @param options absent: names are not looked up
 */
export function policyReconciler(options?: PolicyOptions): Reconciler<'Policy', PolicyObserved> {
  return {
    kind: 'Policy',
    watches: [],
    observe(store, name) {
      const object = store.get('Policy', name);
      if (!object || !options || policyOutcome(object).class !== 'ready') {
        return { object, warnings: [], neverMatches: false, tablesUnknown: false };
      }
      const { deployment } = options;
      const tables = options.tableNames();
      const otherClusters = (options.otherClusters ?? []).map(({ cluster, tableNames }) => ({
        cluster,
        tables: tableNames(),
      }));
      const warnings = policyWarnings(object.spec, { deployment, tables, otherClusters, namesOf: storedNames(store) });
      const unknown = [{ cluster: deployment.cluster, tables }, ...otherClusters].filter(
        (known) => known.tables === undefined,
      );
      return {
        object,
        warnings,
        neverMatches: unmatchable(object.spec.statements).errors.length > 0,
        tablesUnknown: unknown.some(({ cluster }) => namedTables(object.spec, { ...deployment, cluster }).length > 0),
      };
    },
    temporaryState: ({ object }) => markOf(object),
    reconcile({ object, warnings, neverMatches, tablesUnknown }, { stateAgeMs }) {
      if (!object) return { actions: [] };
      const { unmarked, recheckMs } = planMark(object, stateAgeMs);
      // The event of the update starts the reconciler again.
      if (unmarked !== undefined) return { actions: [{ do: 'update', kind: 'Policy', object: unmarked }] };
      const requeueAfterMs = recheckMs ?? (tablesUnknown ? TABLES_RETRY_MS : undefined);
      return {
        actions: [],
        status: {
          outcome: policyOutcome(object),
          fields: { statementCount: object.spec.statements?.length ?? 0 },
          warnings,
          warningReason: neverMatches ? 'NeverMatches' : undefined,
        },
        ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
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
