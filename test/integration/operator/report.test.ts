import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterHealthReportSpec } from '../../../src/resources/cluster-health-report.ts';
import type { ClusterHealthReport } from '../../../src/resources/kinds.ts';
import { clusterHealthReport } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

let api: ControlPlaneClient;
let namespace: string;
let running: RunningOperator;

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('report');
  // Without the health task, as while Pinot cannot be reached: no run ever ends.
  running = runOperator(api.kubeconfigPath, namespace);
  await eventually(() => running.operator.isLeader(), Boolean);
});
afterAll(() => running.stop());

async function apply(name: string, spec: ClusterHealthReportSpec): Promise<void> {
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], {
    input: JSON.stringify(clusterHealthReport(name, spec)),
  });
}

const kubectl = async (...args: string[]) => (await api.mustKubectl(['-n', namespace, ...args])).stdout;

/** The report once its status is about its current settings. */
async function observed(name: string): Promise<ClusterHealthReport> {
  return eventually(
    async () =>
      JSON.parse(await kubectl('get', 'clusterhealthreports.olapwarden.io', name, '-o', 'json')) as ClusterHealthReport,
    ({ metadata, status }) => status?.observedGeneration === metadata.generation,
  );
}

const reasons = ({ status }: ClusterHealthReport) => status?.conditions?.map(({ type, reason }) => `${type} ${reason}`);

describe('a ClusterHealthReport', () => {
  it('is observed after each change, so that `kubectl wait` returns', async () => {
    await apply('cluster', {});
    await kubectl('wait', 'chr/cluster', '--for=condition=Ready', KUBECTL_TIMEOUT);
    await apply('cluster', { schedule: '0 3 * * *' });
    const scheduled = await observed('cluster');
    expect(scheduled.metadata.generation).toBe(2);
    expect(reasons(scheduled)).toEqual(['Ready Scheduled']);
    expect(scheduled.status?.conditions?.[0]?.observedGeneration).toBe(2);
    await apply('cluster', { schedule: '0 3 * * *', suspend: true });
    expect(reasons(await observed('cluster'))).toEqual(['Ready Suspended']);
    expect(await kubectl('get', 'chr', 'cluster')).toMatch(/cluster\s+True\s+true/);
  });

  it('with invalid settings is stalled, has an Event, and recovers', async () => {
    await apply('nightly', { schedule: '99 3 * * *', disabledChecks: ['NO_SUCH_CHECK'] });
    const stalled = await observed('nightly');
    expect(reasons(stalled)).toEqual(['Ready InvalidSettings', 'Stalled InvalidSettings']);
    expect(stalled.status?.conditions?.[0]?.message).toContain('unknown check `NO_SUCH_CHECK`; spec.schedule: `99');
    await eventually(
      () => kubectl('events', '--for', 'clusterhealthreport.olapwarden.io/nightly'),
      (text) => /Warning\s+InvalidSettings/.test(text),
    );
    await apply('nightly', { schedule: '59 3 * * *' });
    expect(reasons(await observed('nightly'))).toEqual(['Ready Scheduled']);
  });
});
