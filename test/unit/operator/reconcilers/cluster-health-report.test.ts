import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ConfiguredSettings } from '../../../../src/health/settings.ts';
import { Controller } from '../../../../src/operator/controller/controller-loop.ts';
import type { ReportedClusters } from '../../../../src/operator/health/health-reports.ts';
import {
  clusterHealthReportReconciler,
  type ReportObserved,
} from '../../../../src/operator/reconcilers/cluster-health-report.ts';
import { MAX_REPORTS, type ClusterHealthReportSpec } from '../../../../src/resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../../../src/resources/kinds.ts';
import { clusterHealthReport, withMeta } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeRecorder, FakeStore, metrics, silent } from '../fakes.ts';

let clock: FakeClock;
let store: FakeStore;
let recorder: FakeRecorder;
let configured: ConfiguredSettings;
let controller: Controller<'ClusterHealthReport', ReportObserved>;

function start(...reports: ClusterHealthReport[]): void {
  startFor(undefined, ...reports);
}

function startFor(clusters: ReportedClusters | undefined, ...reports: ClusterHealthReport[]): void {
  store = new FakeStore(...reports);
  controller = new Controller(
    clusterHealthReportReconciler(() => configured, clusters),
    { store, recorder, clock, metrics: metrics(new Registry()), log: silent },
  );
  controller.start();
}

beforeEach(() => {
  [clock, recorder, configured] = [new FakeClock(), new FakeRecorder(), {}];
});
afterEach(() => controller.stop());

const statusOf = (name = 'cluster') => store.get('ClusterHealthReport', name)?.status;
const conditions = (name?: string) =>
  (statusOf(name)?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const ready = (name?: string) => statusOf(name)?.conditions?.find(({ type }) => type === 'Ready');

async function change(spec: ClusterHealthReportSpec): Promise<void> {
  const current = store.get('ClusterHealthReport', 'cluster')!;
  await store.update('ClusterHealthReport', { ...current, spec });
  await clock.advance(0);
}

const MUTE = { id: 'm', entity: 't', reason: 'planned', until: '2199-01-01T00:00:00Z' };

it('observes a change of the settings at once', async () => {
  start(clusterHealthReport());
  await clock.advance(0);
  expect(conditions()).toEqual(['Ready=True Scheduled']);
  expect(statusOf()?.observedGeneration).toBe(1);
  await change({ schedule: '0 3 * * *' });
  expect(statusOf()?.observedGeneration).toBe(2);
  expect(ready()?.message).toBe('the checks run by the schedule `0 3 * * *`');
  await change({ suspend: true });
  expect(conditions()).toEqual(['Ready=True Suspended']);
  await change({});
  expect(conditions()).toEqual(['Ready=True Scheduled']);
  expect(statusOf()?.observedGeneration).toBe(4);
});

it.each<[string, ClusterHealthReportSpec]>([
  ['not a cron expression', { schedule: '99 * * * *' }],
  ['not a duration between 1m and 24d', { interval: '30s' }],
  ['unknown check `NO_SUCH_CHECK`', { disabledChecks: ['NO_SUCH_CHECK'] }],
  ['unknown check `SEGMENTS`; did you mean', { thresholds: { SEGMENTS: { max: 1 } } }],
  ['spec.mutes[m].check: `NONE_*` matches no check', { mutes: [{ ...MUTE, check: 'NONE_*' }] }],
  ['spec.mutes[m].until: `2199-01-01T00:00:00Z` is more than 90 days ahead', { mutes: [MUTE] }],
  ['unknown threshold `most`', { thresholds: { SEGMENT_COUNT_CHECK: { most: 1 } } }],
])('is stalled: %s', async (message, spec) => {
  start(clusterHealthReport('cluster', { suspend: true, ...spec }));
  await clock.advance(0);
  expect(conditions()).toEqual(['Ready=False InvalidSettings', 'Stalled=True InvalidSettings']);
  expect(ready()?.message).toContain(message);
  expect(ready()?.message).toContain('the defaults are used instead');
  expect(recorder.events).toEqual([expect.stringMatching(/^Warning InvalidSettings cluster: /)]);
  await change({});
  expect(conditions()).toEqual(['Ready=True Scheduled']);
});

it('is stalled by an unknown check in the configuration of the process', async () => {
  configured = { thresholds: { NO_SUCH_CHECK: { max: 1 } } };
  start(clusterHealthReport());
  await clock.advance(0);
  expect(ready()?.message).toContain('controller.cluster.health.thresholds: unknown check `NO_SUCH_CHECK`');
});

it('keeps the result of the checks and the condition about it', async () => {
  const healthy = {
    type: 'Healthy',
    status: 'True',
    reason: 'AllChecksPassed',
    message: 'all 33 checks passed',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  } as const;
  // A condition of an older version, which waited for the end of a run.
  const running = { ...healthy, type: 'Reconciling', reason: 'Running' } as const;
  const run = { id: 'run-1', checks: [], checksTotal: 33 };
  const status = { pass: 33, fail: 0, checks: [], running: run, conditions: [healthy, running] };
  start({ ...clusterHealthReport(), status });
  await clock.advance(0);
  expect(conditions()).toEqual(['Ready=True Scheduled', 'Healthy=True AllChecksPassed']);
  expect(statusOf()).toMatchObject({ pass: 33, fail: 0, checks: [], running: run });
});

it('is stalled for each report beyond the limit until another is deleted', async () => {
  const created = (index: number) => new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString();
  const others = Array.from({ length: MAX_REPORTS }, (_, index) =>
    clusterHealthReport(`r${index}`, {}, withMeta({ creationTimestamp: created(index) })),
  );
  const last = `r${MAX_REPORTS - 1}`;
  start(...others, clusterHealthReport('cluster', {}, withMeta({ creationTimestamp: created(99) })));
  await clock.advance(0);
  expect(conditions()).toEqual(['Ready=True Scheduled']);
  expect(conditions('r0')).toEqual(['Ready=True Scheduled']);
  expect(conditions(last)).toEqual(['Ready=False TooManyReports', 'Stalled=True TooManyReports']);
  await store.delete('ClusterHealthReport', 'r0');
  await clock.advance(0);
  expect(conditions(last)).toEqual(['Ready=True Scheduled']);
});

const TWO_CLUSTERS: ReportedClusters = [
  { name: 'pinot', report: 'cluster' },
  { name: 'sales', report: 'sales' },
];

it('accepts reports of every cluster of the environment, and refuses those of others', async () => {
  startFor(
    TWO_CLUSTERS,
    clusterHealthReport('cluster'),
    clusterHealthReport('sales', { cluster: 'sales' }),
    clusterHealthReport('nightly', { cluster: 'sales' }),
    clusterHealthReport('removed', { cluster: 'removed' }),
  );
  await clock.advance(0);
  for (const name of ['cluster', 'sales', 'nightly']) expect(conditions(name)).toEqual(['Ready=True Scheduled']);
  expect(conditions('removed')).toContain('Ready=False UnknownCluster');
  expect(ready('removed')?.message).toBe(
    'the checks of this report do not run: spec.cluster is `removed`, but this environment has `pinot`, `sales`',
  );
});

it('does not give the report of a cluster to another one', async () => {
  startFor(TWO_CLUSTERS, clusterHealthReport('sales', { cluster: 'pinot' }));
  await clock.advance(0);
  expect(ready('sales')).toMatchObject({
    status: 'False',
    message:
      'spec.cluster is `pinot`, but the report `sales` is that of the cluster `sales`; the defaults are used instead',
  });
});
