import type { Finding, Severity } from '../resources/health-finding.ts';
import type { ClusterSnapshot } from './snapshot.ts';

/** What a check is about; the dashboard and the report group by it. */
export type CheckCategory =
  | 'segments'
  | 'tables'
  | 'servers'
  | 'skew'
  | 'upsert'
  | 'placement'
  | 'queries'
  | 'ingestion'
  | 'tasks';

/**
 * A part of the snapshot. A run reads only the parts that one of its checks needs, and evaluates a check as soon as all parts that it
 * needs are complete. A check must therefore list every part that it reads.
 */
export type Need =
  /** The tables, their configurations, and those that other sources list without one. */
  | 'tables'
  /** The names of tables that each source lists, compared with the parts that were read. */
  | 'sources'
  /** Names of the disabled tables. */
  | 'enabled'
  | 'instances'
  | 'instanceHealth'
  | 'disks'
  | 'minionTasks'
  | 'nodeSizes'
  | 'schemas'
  | 'assignment'
  | 'externalView'
  | 'segmentMetadata'
  | 'size'
  | 'files'
  | 'reload'
  | 'primaryKeys'
  | 'consumingRows'
  | 'consumption'
  | 'rebalance'
  | 'instancePartitions'
  | 'brokerResource'
  | 'leaders'
  | 'queries'
  | 'clusterConfig'
  /** The policies with conditions of this program, which are not read from the cluster. */
  | 'policies';

/** Thresholds of one check by name. */
export type Thresholds = Readonly<Record<string, number>>;

export interface CheckInput<T extends Thresholds = Thresholds> {
  readonly snapshot: ClusterSnapshot;
  /** The check's defaults, overridden by the cluster's own thresholds and by the settings. */
  readonly thresholds: T;
  /** Names of the thresholds that the settings set. */
  readonly overridden: ReadonlySet<string>;
  /** Start of the run, milliseconds since the epoch. */
  readonly now: number;
  /** The cluster property that declares that prebuilt snapshots exist for preloading. */
  readonly prebuiltSnapshotProperty: string;
}

/** For how long a fault that can become critical is a warning. `replicas`: other replicas are online. `start`: a server is still loading. */
export type Grace = 'replicas' | 'start';

/** A finding as a check returns it. */
export interface CheckFinding extends Finding {
  /** Id of the instance behind the finding, if that is not its entity. */
  readonly instance?: string;
  /** Why the finding is a warning at first; it becomes critical when the time for that has passed since it was found. */
  readonly grace?: Grace;
}

export interface CheckOutcome {
  readonly status: 'PASS' | 'FAIL';
  /** One sentence. */
  readonly message: string;
  /** The exact count, even if `findings` was cut. */
  readonly findingCount: number;
  /** At most MAX_FINDINGS: faults first, the worst ones first, then in the order in which they were found. */
  readonly findings: readonly CheckFinding[];
  /** The findings after those, so that both are at most MAX_INDEXED_FINDINGS. */
  readonly moreFindings?: readonly CheckFinding[];
  /** How many of them are muted; only in a result to which mutes were applied. */
  readonly mutedCount?: number;
  /** True if the check fails only because data that it needs could not be read. */
  readonly couldNotEvaluate: boolean;
}

/** How the fault of a check was made, and what the check found, for docs/checks/README.md. */
export interface MadeFault {
  readonly fault: string;
  readonly found: string;
  /** `live`: on a running Pinot. `lowered`: there, with lowered thresholds. `recorded`: with recorded or built responses. */
  readonly where: 'live' | 'lowered' | 'recorded';
}

/** A check: its texts, its thresholds, and a pure function of the snapshot and the thresholds. */
export interface CheckDefinition<T extends Thresholds = Thresholds> {
  readonly name: string;
  /** Position in the specification, from 1; absent for an extension. Extensions can be switched off together. */
  readonly specified?: number;
  /** A few words, for headings. */
  readonly title: string;
  /** The condition under which the check fails, one sentence. */
  readonly description: string;
  readonly category: CheckCategory;
  /** The severity of a FAIL; a finding can have another one. */
  readonly severity: Severity;
  /** Another severity that a finding can have: one of the two is `critical`. Each has an alert, and the worst finding selects it. */
  readonly otherSeverity?: Severity;
  readonly defaultThresholds: T;
  /** How to fix a FAIL, one or two sentences. */
  readonly remediation: string;
  readonly madeFault: MadeFault;
  readonly needs: readonly Need[];
  /** Thresholds from the cluster's own configuration; they override the defaults, and the settings override them. */
  clusterThresholds?(snapshot: ClusterSnapshot): Thresholds;
  evaluate(input: CheckInput<T>): CheckOutcome;
}

/** Gives `evaluate` the type of the check's own thresholds. */
export function defineCheck<T extends Thresholds>(definition: CheckDefinition<T>): CheckDefinition<T> {
  return definition;
}

/** Default name of the property: the open-source engine has no such feature and no name for it. */
export const PREBUILT_SNAPSHOT_PROPERTY = 'pinot.upsert.prebuilt.snapshot.enabled';

/** The highest value of `spec.maxFindings`. */
export const MAX_FINDINGS = 200;

/** Findings of a check that a run keeps, for the index by table and instance: 10,000 take about 5 MB. */
export const MAX_INDEXED_FINDINGS = 10_000;
