import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { kubernetesOpenReports } from '../../../src/kubernetes/open-reports.ts';
import { OpenReportWriter } from '../../../src/operator/open-report-writer.ts';
import { loopTask } from '../../../src/operator/operator.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { ClusterHealthReportStatus } from '../../../src/resources/health-status.ts';
import type { ObjectMeta } from '../../../src/resources/meta.ts';
import { clusterHealthReport } from '../../builders/resources.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { connect, eventually, runOperator } from '../../support/operator.ts';
import { startProduct } from '../../support/product-process.ts';
import { loggedLines } from '../../unit/operator/fakes.ts';

const ROOT = join(import.meta.dirname, '../../..');
const NAMESPACE = 'olap';

interface StoredReport {
  readonly metadata: ObjectMeta;
  readonly results: { readonly policy: string; readonly result: string; readonly message: string }[];
}

// Its own API server: the kind must not exist at first.
let api: ControlPlane;
let kubeconfig: string;
/** Path of the definition that openreports.io publishes. */
let definition: string;
const ended: (() => Promise<void>)[] = [];

beforeAll(async () => {
  definition = join(await installed('open-reports'), 'crd.yaml');
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  kubeconfig = await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator');
  for (const rights of ['rbac/operator.yaml', 'open-reports/rbac.yaml'])
    await kubectl('apply', '-f', join(ROOT, 'manifests', rights));
});
afterAll(async () => {
  for (const end of ended.splice(0)) await end();
  await api.stop();
});

const kubectl = async (...args: string[]): Promise<string> =>
  (await api.mustKubectl(['-n', NAMESPACE, ...args])).stdout;
const reports = async () =>
  (JSON.parse(await kubectl('get', 'reports.openreports.io', '-o', 'json')) as { items: StoredReport[] }).items;

/** An operator with the rights of its service account, which only writes Reports. @returns the messages of its log */
async function lead(): Promise<Record<string, unknown>[]> {
  const { log, lines } = loggedLines();
  // The connection of the operator itself is closed with it.
  const connection = connect(kubeconfig, NAMESPACE);
  const options = { openReports: kubernetesOpenReports(connection.transport), clock: systemClock, log };
  const task = loopTask('open-reports', ({ store, isLeader }) => new OpenReportWriter({ ...options, store, isLeader }));
  const running = runOperator(kubeconfig, NAMESPACE, { tasks: [task] });
  ended.unshift(async () => {
    await running.stop();
    await connection.close();
  });
  await eventually(() => running.operator.isLeader(), Boolean);
  return lines;
}

async function report(message: string): Promise<void> {
  const status: ClusterHealthReportStatus = {
    lastRunTime: '2026-11-21T10:00:00Z',
    checks: [
      { name: 'QUERY_HEALTH_CHECK', status: 'FAIL', severity: 'critical', message, findingCount: 1 },
      { name: 'REPLICATION_CHECK', status: 'PASS', message: 'all is well', findingCount: 0 },
    ],
  };
  const patch = JSON.stringify({ status });
  await kubectl('patch', 'chr', 'cluster', '--subresource', 'status', '--type', 'merge', '-p', patch);
}

it('writes a Report for each health report once openreports.io is installed', async () => {
  await api.mustKubectl(['-n', NAMESPACE, 'apply', '-f', '-'], { input: JSON.stringify(clusterHealthReport()) });
  await report('one table has no broker');
  const lines = await lead();
  await eventually(
    () => lines.map(({ msg }) => String(msg)),
    (messages) => messages.some((text) => text.includes('openreports.io/v1alpha1 is not installed')),
  );
  for (const end of ended.splice(0)) await end();

  await api.mustKubectl(['apply', '-f', definition]);
  await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, '-f', definition]);
  await lead();
  const [written] = await eventually(reports, (items) => items.length > 0);
  const owner = JSON.parse(await kubectl('get', 'chr', 'cluster', '-o', 'json')) as { metadata: ObjectMeta };
  const { uid } = owner.metadata;
  const reference = { apiVersion: 'olapwarden.io/v1alpha1', kind: 'ClusterHealthReport', name: 'cluster', uid };
  const seconds = Date.parse('2026-11-21T10:00:00Z') / 1000;
  expect(written).toMatchObject({
    metadata: { name: 'cluster', ownerReferences: [reference] },
    source: 'olap-warden',
    scope: { ...reference, namespace: NAMESPACE },
    summary: { pass: 1, fail: 1, warn: 0, error: 0, skip: 0 },
    results: [
      {
        source: 'olap-warden',
        policy: 'QUERY_HEALTH_CHECK',
        category: 'queries',
        result: 'fail',
        severity: 'critical',
        scored: true,
        timestamp: { seconds, nanos: 0 },
        message: 'one table has no broker',
        properties: { findings: '1' },
      },
      { policy: 'REPLICATION_CHECK', result: 'pass', timestamp: { seconds, nanos: 0 }, message: 'all is well' },
    ],
  });
});

it('updates it when the report changes, and a new leader writes nothing that is there already', async () => {
  await report('two tables have no broker');
  const [updated] = await eventually(reports, ([first]) => first?.results[0]?.message === 'two tables have no broker');
  for (const end of ended.splice(0)) await end();
  const lines = await lead();
  await report('three tables have no broker');
  const [last] = await eventually(reports, ([first]) => first?.results[0]?.message === 'three tables have no broker');
  // `generation` counts the changes of an object without a status.
  expect(last?.metadata.generation).toBe((updated?.metadata.generation ?? 0) + 1);
  expect(lines).toEqual([]);
});

it('is switched on by the setting', async () => {
  for (const end of ended.splice(0)) await end();
  await startProduct(api, 'operator', {
    namespace: NAMESPACE,
    settings: { controllers: 'http://127.0.0.1:9', 'health-open-reports': 'true' },
    onStart: (program) => {
      ended.unshift(async () => {
        program.signalGroup('SIGTERM');
        await program.exited;
      });
    },
  });
  // No controller responds, so the first run can evaluate no check.
  const [last] = await eventually(reports, ([first]) => first?.results.length === CATALOGUE.length);
  expect(new Set(last?.results.map(({ result }) => result))).toEqual(new Set(['error']));
});
