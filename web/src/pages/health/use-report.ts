import { useEffect, useState } from 'preact/hooks';
import { call, messageOfError } from '../../lib/api.ts';
import type { HealthReport, Running } from '../../lib/types.ts';
import { useData, type Data } from '../../lib/use-data.ts';

/**
 * A small response for polling: at most one check, about the cluster and without findings, beside the time of the latest run and the state of the current one.
 */
const POLL = '/clusterHealth?check=CONTROLLER_TABLES_SKEW_CHECK&status=PASS';
const IDLE_POLL_MS = 2000;
const RUNNING_POLL_MS = 500;

export interface ReportState {
  readonly data: Data<HealthReport>;
  /** The current run, also one that somebody else started. */
  readonly running: Running | undefined;
  readonly error: string | undefined;
  /** Starts a run; resolves when it has ended. */
  readonly run: () => Promise<void>;
}

/** The latest report, kept up to date. */
export function useReport(): ReportState {
  const data = useData('health', (signal) => call<HealthReport>('/clusterHealth', { signal }));
  const [fast, setFast] = useState(false);
  const poll = useData('poll', (signal) => call<HealthReport>(POLL, { signal }), fast ? RUNNING_POLL_MS : IDLE_POLL_MS);
  const [error, setError] = useState<string>();
  const running = poll.value?.running ?? undefined;
  useEffect(() => setFast(running !== undefined), [running !== undefined]);
  const newest = poll.value?.runTimestamp;
  const shownRun = data.value?.runTimestamp;
  useEffect(() => {
    if (newest !== undefined && shownRun !== undefined && newest !== shownRun) data.reload();
  }, [newest, shownRun]);
  const run = async (): Promise<void> => {
    setError(undefined);
    setFast(true);
    try {
      await call('/periodictask/run?taskName=ClusterHealthCheckTask&wait=true', { timeoutMs: 600_000 });
    } catch (failure) {
      setError(messageOfError(failure));
    } finally {
      poll.reload();
      data.reload();
    }
  };
  return { data, running, error: error ?? data.error ?? poll.error, run };
}
