import { validatePolicySpec } from '../../access/policy/policy-document.ts';
import { namedTables, policyWarnings, storedNames } from '../../access/policy/policy-warnings.ts';
import { fitText, schemaFit, type SchemaFit } from '../../access/policy/conditions/schema-fit.ts';
import { visibleText } from '../../platform/visible.ts';
import { unmatchable } from '../../access/policy/unmatchable.ts';
import type { Deployment } from '../../access/policy/srn.ts';
import type { Policy } from '../../resources/kinds.ts';
import { MAX_REFERRERS } from '../../resources/meta.ts';
import { describeErrors } from '../../resources/validate.ts';
import { COLUMNS_NOT_CHECKED } from '../controller/plan.ts';
import { Backreferences } from './backreferences.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import { markOf, planMark } from './deletion-mark.ts';
import { isOtherSpec, type Reconciler, type ReconciledObject } from '../controller/reconciler.ts';

export interface PolicyOptions {
  readonly deployment: Deployment;
  /** Names of the existing tables; undefined while they are not known. */
  readonly tableNames: () => readonly string[] | undefined;
  /** The other clusters of the environment. */
  readonly otherClusters?: readonly (Pick<PolicyOptions, 'tableNames'> & { readonly cluster: string })[];
  /** Absent: conditions are not compared with the columns of tables. */
  readonly schemas?: SchemaSource;
}

/** The tables and their columns. Its functions reject if they cannot be read. */
export interface SchemaSource {
  readonly tableNames: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Names of the columns of a table; undefined for one without a schema. */
  readonly columnsOf: (table: string, signal: AbortSignal) => Promise<ReadonlySet<string> | undefined>;
}

/** Reason of a policy whose conditions name columns that no table of their statement has. */
export const COLUMN_NOT_FOUND = 'ColumnNotFound';

export interface PolicyObserved extends ReconciledObject<'Policy'> {
  readonly warnings: readonly string[];
  /** Whether one of the warnings is about a part of the policy that never matches. */
  readonly neverMatches: boolean;
  /** Names of some of the roles that have the policy. */
  readonly referencedBy: string[];
  /** Whether the policy names tables while the existing ones are not known. */
  readonly tablesUnknown: boolean;
  /** How its conditions fit the columns of the existing tables. */
  readonly fit: SchemaFit;
}

/** Also after which a policy is compared again with columns that it does not fit, or that could not be read. */
const TABLES_RETRY_MS = 60_000;
/** Of the schemas of one policy. */
const SCHEMAS_TIMEOUT_MS = 10_000;

const NO_PINOT = 'the columns could not be checked, because the operator has no connection to Pinot';
const FITS: SchemaFit = { errors: [], warnings: [], unchecked: [] };

/**
 * Validates policies. An invalid policy denies everything to the roles that have it. Names that do not exist are looked up again at each
 * resync, because tables are not watched.
 * @param options absent: names are not looked up
 */
export function policyReconciler(options?: PolicyOptions): Reconciler<'Policy', PolicyObserved> {
  const rolesByPolicy = new Backreferences();
  return {
    kind: 'Policy',
    watches: [
      {
        kind: 'Role',
        keysOf(event) {
          if (!isOtherSpec(event)) return [];
          const { type, object, previous } = event;
          const policies = type === 'deleted' ? [] : (object.spec.policies ?? []);
          rolesByPolicy.set(object.metadata.name, policies);
          const former = (type === 'deleted' ? object : previous)?.spec.policies ?? [];
          // One of many roles more is not listed.
          return [...former, ...policies.filter((policy) => rolesByPolicy.ownersOf(policy).size <= MAX_REFERRERS)];
        },
      },
    ],
    async observe(store, name, signal) {
      const object = store.get('Policy', name);
      const referencedBy = rolesByPolicy.someOwnersOf(name, object?.status?.referencedBy);
      if (!object || !options || policyOutcome(object).class !== 'ready') {
        return { object, warnings: [], neverMatches: false, referencedBy, tablesUnknown: false, fit: FITS };
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
        referencedBy,
        tablesUnknown: unknown.some(({ cluster }) => namedTables(object.spec, { ...deployment, cluster }).length > 0),
        fit: await fitOf(object.spec, options, signal),
      };
    },
    temporaryState: ({ object }) => markOf(object),
    reconcile({ object, warnings, neverMatches, referencedBy, tablesUnknown, fit }, { stateAgeMs }) {
      if (!object) return { actions: [] };
      const { unmarked, recheckMs } = planMark(object, stateAgeMs);
      // The event of the update starts the reconciler again.
      if (unmarked !== undefined) return { actions: [{ do: 'update', kind: 'Policy', object: unmarked }] };
      const isUnsettled = tablesUnknown || fit.errors.length + fit.unchecked.length > 0;
      const requeueAfterMs = recheckMs ?? (isUnsettled ? TABLES_RETRY_MS : undefined);
      return {
        actions: [],
        status: {
          outcome: fit.errors.length > 0 ? misfit(fit) : (earlierMisfit(object, fit) ?? policyOutcome(object)),
          fields: { statementCount: object.spec.statements?.length ?? 0, referencedBy },
          warnings: [...warnings, ...[...fit.warnings, ...fit.unchecked].map(fitText).map(visibleText)],
          warningReason: neverMatches ? 'NeverMatches' : warningReason(warnings, fit),
        },
        ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
      };
    },
  };
}

/** Fits if there is nothing to compare. */
async function fitOf(
  { statements }: Policy['spec'],
  { deployment, schemas, otherClusters: others = [] }: PolicyOptions,
  stopping: AbortSignal,
): Promise<SchemaFit> {
  const index = statements.findIndex(({ conditions }) => conditions !== undefined);
  if (index < 0) return FITS;
  if (schemas === undefined)
    return { ...FITS, unchecked: [{ path: `statements[${index}].conditions`, message: NO_PINOT }] };
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(SCHEMAS_TIMEOUT_MS)]);
  const tables = await schemas.tableNames(signal).catch(() => undefined);
  const otherClusters = others.map(({ cluster }) => cluster);
  const columnsOf = (table: string) => schemas.columnsOf(table, signal);
  return schemaFit(statements, { deployment, tables, otherClusters, columnsOf });
}

/** The outcome that a policy had already, where it cannot be compared now: not to know is not to fit. */
function earlierMisfit({ status, metadata }: Policy, { unchecked }: SchemaFit): Outcome | undefined {
  if (unchecked.length === 0 || status?.observedGeneration !== metadata.generation) return undefined;
  const stalled = status?.conditions?.find(({ type, reason }) => type === 'Stalled' && reason === COLUMN_NOT_FOUND);
  return stalled && { class: 'stalled', reason: stalled.reason, message: stalled.message };
}

function misfit({ errors }: SchemaFit): Outcome {
  const message = `the conditions do not fit the tables, and allow nothing: ${errors.map(fitText).map(visibleText).join('; ')}`;
  return { class: 'stalled', reason: COLUMN_NOT_FOUND, message };
}

function warningReason(
  names: readonly string[],
  { warnings, unchecked }: SchemaFit,
): typeof COLUMNS_NOT_CHECKED | undefined {
  return names.length === 0 && warnings.length === 0 && unchecked.length > 0 ? COLUMNS_NOT_CHECKED : undefined;
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
