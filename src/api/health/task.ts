import { newRunId, runningId } from '../../health/report/report.ts';
import type { Clock } from '../../platform/clock.ts';
import { retry } from '../../platform/retry.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { conflictRetryAfterMs, type ResourceStore } from '../../store/resource-store.ts';
import { HttpError } from '../server/errors.ts';

export const TASK_NAME = 'ClusterHealthCheckTask';
/** Attempts to write the report when it is changed concurrently. */
const ATTEMPTS = 5;
const BACKOFF = { baseMs: 50, maxMs: 400, jitter: 'half' } as const;

export interface TaskPorts {
  readonly store: ResourceStore;
  /** Name of the report of the gateway's cluster. */
  readonly report: string;
  readonly clock: Pick<Clock, 'now' | 'random' | 'schedule'>;
}

export interface StartedRun {
  readonly taskId: string;
  /** True if the run was already requested or running. */
  readonly joined: boolean;
}

/** Requests a run from the process that runs checks, or joins the requested or running one. */
export async function requestRun(ports: TaskPorts, signal: AbortSignal): Promise<StartedRun> {
  const taskId = newRunId('api', ports.clock);
  return withReport(ports, signal, async (report) => {
    const current = activeRun(report);
    if (current !== undefined) return { taskId: current, joined: true };
    const annotations = { ...report.metadata.annotations, [ANNOTATIONS.runAt]: taskId };
    await ports.store.update(
      'ClusterHealthReport',
      { ...report, metadata: { ...report.metadata, annotations } },
      { signal },
    );
    return { taskId, joined: false };
  });
}

/** Switches the periodic runs on or off. Runs on demand still work. */
export async function setSuspend(ports: TaskPorts, suspend: boolean, signal: AbortSignal): Promise<void> {
  await withReport(ports, signal, async (report) => {
    if ((report.spec.suspend ?? false) === suspend) return;
    await ports.store.update('ClusterHealthReport', { ...report, spec: { ...report.spec, suspend } }, { signal });
  });
}

/** Applies `change` to the current report, and again after a conflict. */
export async function withReport<T>(
  { store, clock, report: name }: TaskPorts,
  signal: AbortSignal,
  change: (report: ClusterHealthReport) => Promise<T>,
): Promise<T> {
  const attempt = async (): Promise<T> => {
    const report = store.get('ClusterHealthReport', name);
    if (report === undefined) throw missingReport(name);
    return change(report);
  };
  return retry(attempt, {
    attempts: ATTEMPTS,
    backoff: BACKOFF,
    clock,
    signal,
    retryAfterMs: conflictRetryAfterMs,
  });
}

function missingReport(name: string): HttpError {
  return new HttpError(
    503,
    `the health task has not started yet: the ClusterHealthReport \`${name}\`, which the operator creates at its start, does not exist`,
    { headers: { 'retry-after': '5' } },
  );
}

/** Id of the running run, or of the requested one that has not started yet. */
function activeRun({ metadata, status }: ClusterHealthReport): string | undefined {
  const running = runningId(status);
  if (running !== undefined) return running;
  const wanted = metadata.annotations?.[ANNOTATIONS.runAt]?.slice(0, 128);
  return wanted === undefined || wanted === '' || wanted === status?.observedRunAt ? undefined : wanted;
}

/**
 * Waits for a run to end.
 * @returns the report; undefined where the signal aborted first
 */
export async function awaitRun(
  { store, report }: Pick<TaskPorts, 'store' | 'report'>,
  taskId: string,
  signal: AbortSignal,
): Promise<ClusterHealthReport | undefined> {
  if (signal.aborted) return undefined;
  const { promise, resolve } = Promise.withResolvers<ClusterHealthReport | undefined>();
  const onAbort = (): void => resolve(undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  const unsubscribe = store.subscribe('ClusterHealthReport', ({ object, type }) => {
    if (object.metadata.name !== report || type === 'deleted') return;
    if (activeRun(object) !== taskId) resolve(object);
  });
  try {
    return await promise;
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', onAbort);
  }
}
