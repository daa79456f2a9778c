import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';

/** A run that is due: its id, and the value of the run-at annotation that requested it. */
export interface RunRequest {
  readonly id: string;
  readonly runAt: string | undefined;
  /** True for a run on demand: it reads everything, so that its report does not depend on earlier runs. */
  readonly fresh: boolean;
}

function runAtOf(report: ClusterHealthReport): string | undefined {
  const value = report.metadata.annotations?.[ANNOTATIONS.runAt]?.slice(0, 128);
  return value === '' ? undefined : value;
}

/** The value of the run-at annotation that was processed last. */
export function observedRunAt(report: ClusterHealthReport): string | undefined {
  return report.status?.observedRunAt;
}

/** The run that the run-at annotation requests, unless it was made already. */
export function requestedRun(report: ClusterHealthReport): RunRequest | undefined {
  const runAt = runAtOf(report);
  return runAt === undefined || runAt === observedRunAt(report) ? undefined : { id: runAt, runAt, fresh: true };
}
