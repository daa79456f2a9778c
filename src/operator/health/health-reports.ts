import { MAX_REPORTS, REPORT_NAME } from '../../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';

/** A cluster of the environment. */
export interface ReportedCluster {
  /** As in resource names. */
  readonly name: string;
  /** Name of the report that its gateways show, and that the operator creates. */
  readonly report: string;
}

/** The clusters of an environment. Reports that name none belong to the first. */
export type ReportedClusters = readonly [ReportedCluster, ...ReportedCluster[]];

export const ONE_CLUSTER: ReportedClusters = [{ name: 'pinot', report: REPORT_NAME }];

/** The cluster that the checks of a report read; undefined if the environment has none of that name. */
export function clusterOf(
  { metadata, spec }: Pick<ClusterHealthReport, 'metadata' | 'spec'>,
  clusters: ReportedClusters,
): ReportedCluster | undefined {
  const own = clusters.find(({ report }) => report === metadata.name);
  if (own !== undefined || spec.cluster === undefined) return own ?? clusters[0];
  return clusters.find(({ name }) => name === spec.cluster);
}

/** The reports whose checks run: those that the operator creates, and the oldest others of known clusters, at most `MAX_REPORTS`. */
export function activeReports(
  reports: readonly ClusterHealthReport[],
  clusters: ReportedClusters = ONE_CLUSTER,
): readonly ClusterHealthReport[] {
  const known = reports.filter((report) => clusterOf(report, clusters) !== undefined);
  if (known.length <= MAX_REPORTS) return known;
  const own = new Set(clusters.map(({ report }) => report));
  /** Sorts by whether the operator creates it, creation and name. */
  const rank = ({ metadata: { name, creationTimestamp = '' } }: ClusterHealthReport): string =>
    `${own.has(name) ? 0 : 1} ${creationTimestamp} ${name}`;
  return known.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, MAX_REPORTS);
}
