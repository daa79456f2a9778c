import { runningId } from '../../health/report.ts';
import { REPORT_NAME } from '../../resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
import { HttpError } from '../server/errors.ts';

export const TASK_NAME = 'ClusterHealthCheckTask';
const ATTEMPTS = 5;
const RETRY_MS = 50;

export interface TaskPorts {
  readonly store: ResourceStore;
  readonly now: () => Date;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

export interface StartedRun {
  readonly taskId: string;
  /** True where the run was already requested or running. */
  readonly joined: boolean;
}

/** Requests a run from the process that runs checks, or joins the requested or running one. */
export async function requestRun(ports: TaskPorts, signal: AbortSignal): Promise<StartedRun> {
  const taskId = `api-${Math.floor(ports.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`;
  return withReport(ports.store, async (report) => {
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
export async function setSuspend(store: ResourceStore, suspend: boolean, signal: AbortSignal): Promise<void> {
  await withReport(store, async (report) => {
    if ((report.spec.suspend ?? false) === suspend) return;
    await store.update('ClusterHealthReport', { ...report, spec: { ...report.spec, suspend } }, { signal });
  });
}

/** Applies `change` to the current report, and retries on a conflict. */
async function withReport<T>(store: ResourceStore, change: (report: ClusterHealthReport) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const report = store.get('ClusterHealthReport', REPORT_NAME);
    if (report === undefined) throw missingReport();
    try {
      return await change(report);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'conflict') || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS * attempt);
      });
    }
  }
}

function missingReport(): HttpError {
  return new HttpError(
    503,
    `the health task has not started yet: there is no ClusterHealthReport \`${REPORT_NAME}\`, which the operator creates at its start`,
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
  store: ResourceStore,
  taskId: string,
  signal: AbortSignal,
): Promise<ClusterHealthReport | undefined> {
  if (signal.aborted) return undefined;
  const { promise, resolve } = Promise.withResolvers<ClusterHealthReport | undefined>();
  const onAbort = (): void => resolve(undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  const unsubscribe = store.subscribe('ClusterHealthReport', ({ object, type }) => {
    if (object.metadata.name !== REPORT_NAME || type === 'deleted') return;
    if (activeRun(object) !== taskId) resolve(object);
  });
  try {
    return await promise;
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', onAbort);
  }
}
