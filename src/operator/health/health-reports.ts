import { MAX_REPORTS, REPORT_NAME } from '../../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';

/** The reports whose checks run: `cluster` and the oldest others, at most `MAX_REPORTS`. */
export function activeReports(reports: readonly ClusterHealthReport[]): readonly ClusterHealthReport[] {
  if (reports.length <= MAX_REPORTS) return reports;
  return reports.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, MAX_REPORTS);
}

/** Sorts by `cluster`, creation and name. */
function rank({ metadata: { name, creationTimestamp = '' } }: ClusterHealthReport): string {
  return `${name === REPORT_NAME ? 0 : 1} ${creationTimestamp} ${name}`;
}
