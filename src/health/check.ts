import type { Finding } from '../resources/cluster-health-report.ts';
import type { ClusterSnapshot } from './snapshot.ts';

/** What a check is about; the dashboard and the report group by it. */
export type CheckCategory = 'segments' | 'tables' | 'servers' | 'skew' | 'upsert' | 'placement' | 'queries';

/**
 * A part of the snapshot. A run reads only the parts that one of its checks needs, and a check is evaluated as soon as all parts that it needs
 * are complete: it must name every part that it looks at.
 */
export type Need =
  /** The tables and their configurations. */
  | 'tables'
  /** Which of the tables are disabled. */
  | 'enabled'
  | 'instances'
  | 'instanceHealth'
  | 'schemas'
  | 'assignment'
  | 'externalView'
  | 'segmentMetadata'
  | 'size'
  | 'reload'
  | 'primaryKeys'
  | 'consumingRows'
  | 'rebalance'
  | 'instancePartitions'
  | 'brokerResource'
  | 'leaders'
  | 'queries'
  | 'clusterConfig';

/** Thresholds of one check by name. */
export type Thresholds = Readonly<Record<string, number>>;

export interface CheckInput {
  readonly snapshot: ClusterSnapshot;
  /** Defaults of the check with the overrides of the settings; every name of `defaultThresholds` is there. */
  readonly thresholds: Thresholds;
  /** The cluster property by which an operator says that prebuilt snapshots are made for preloading. */
  readonly prebuiltSnapshotProperty: string;
}

export interface CheckOutcome {
  readonly status: 'PASS' | 'FAIL';
  /** One sentence. */
  readonly message: string;
  /** Exact, also where `findings` was cut. */
  readonly findingCount: number;
  /** At most MAX_FINDINGS, in the order in which they were found. */
  readonly findings: readonly Finding[];
  /** True where the check is a FAIL only because something that it needs could not be read. */
  readonly couldNotEvaluate: boolean;
}

/** A check: a pure function of the snapshot and its thresholds. */
export type CheckFunction = (input: CheckInput) => CheckOutcome;

export interface CheckDefinition {
  readonly name: string;
  /** A few words for headings. */
  readonly title: string;
  /** The condition under which the check fails, one sentence. */
  readonly description: string;
  readonly category: CheckCategory;
  readonly defaultThresholds: Thresholds;
  /** What to do about a FAIL, one or two sentences. */
  readonly remediation: string;
  readonly needs: readonly Need[];
  /** Thresholds that the cluster itself configures; they rank above the defaults and below the settings. */
  readonly clusterThresholds?: (snapshot: ClusterSnapshot) => Thresholds;
  readonly evaluate: CheckFunction;
}

/** Open-source releases of the engine have no such feature, so that a name had to be chosen; another one is a setting. */
export const PREBUILT_SNAPSHOT_PROPERTY = 'pinot.upsert.prebuilt.snapshot.enabled';

/** As many findings as a report can be asked to keep (`spec.maxFindings`). */
export const MAX_FINDINGS = 200;
