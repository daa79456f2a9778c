import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import { CUSTOM_KINDS, KINDS } from '../../../src/resources/kinds.ts';
import { GROUP } from '../../../src/resources/meta.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { runOperator, type RunningOperator } from '../../support/operator.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

const ROOT = join(import.meta.dirname, '../../..');
const GOLDEN = join(ROOT, 'test/golden/kubectl');
const TIME = '2026-01-02T03:04:05Z';

function condition(type: string, status: string, reason: string, message: string): object {
  return { type, status, observedGeneration: 1, lastTransitionTime: TIME, reason, message };
}

/** The status that a health task would write; there is no engine here. */
const HEALTH = {
  observedGeneration: 1,
  lastRunTime: TIME,
  durationMs: 1234,
  pass: 1,
  fail: 1,
  checks: [
    {
      name: 'CLUSTER_SERVER_UP',
      status: 'PASS',
      since: TIME,
      message: 'all 3 servers are up',
      findingCount: 0,
      durationMs: 12,
    },
    {
      name: 'REPLICATION_CHECK',
      status: 'FAIL',
      since: TIME,
      message: '1 of 12 tables has fewer replicas than 2',
      findingCount: 1,
      findings: [
        { entityType: 'table', entity: 'events_OFFLINE', message: 'has 1 replica', observed: '1', threshold: '2' },
      ],
      durationMs: 34,
    },
  ],
  conditions: [
    // As the operator sets it, which therefore does not write it again.
    condition('Ready', 'True', 'Scheduled', 'the checks run every 20m'),
    condition('Healthy', 'False', 'ChecksFailing', '1 of 2 checks fails: REPLICATION_CHECK'),
  ],
};

let api: ControlPlaneClient;
let namespace: string;
let running: RunningOperator;

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('kubectl');
  running = runOperator(api.kubeconfigPath, namespace);
  await kubectl('apply', '-f', join(ROOT, 'manifests/samples'));
  for (const [resource, predefined] of [
    ['policies', PREDEFINED_POLICIES],
    ['roles', PREDEFINED_ROLES],
  ] as const) {
    const names = predefined.map(({ metadata }) => `${resource}.${GROUP}/${metadata.name}`);
    await kubectl('wait', '--for=create', KUBECTL_TIMEOUT, ...names);
    await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, `${resource}.${GROUP}`, '--all');
  }
  await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'roleassignments.olapwarden.io', '--all');
  await kubectl('wait', '--for=jsonpath={.status.state}=Active', KUBECTL_TIMEOUT, 'otoken/ingestion-job');
  await kubectl('wait', '--for=condition=Ready', KUBECTL_TIMEOUT, 'chr/cluster');
  const patch = JSON.stringify({ status: HEALTH });
  await kubectl('patch', 'chr', 'cluster', '--subresource=status', '--type=merge', '-p', patch);
});
afterAll(() => running.stop());

async function kubectl(...args: string[]): Promise<string> {
  return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
}

/** Normalized output: without times, ages and random values; columns separated by one blank. */
function masked(text: string): string {
  return text
    .replaceAll(namespace, 'NAMESPACE')
    .replaceAll(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g, 'TIME')
    .replaceAll(/(UID|Resource Version|Access Key|Secret Hash): +.*/g, '$1: MASKED')
    .replaceAll(/\b[a-z0-9]{16}\b(?= )/g, 'ACCESSKEY')
    .replaceAll(/(?<=\S) {2,}(?=\S)/g, '  ')
    .replaceAll(/ +$/gm, '');
}

// One object of each kind, with most fields.
const SAMPLES = {
  Policy: 'no-personal-data',
  Role: 'analysts',
  RoleAssignment: 'ingestion-job',
  ServiceToken: 'ingestion-job',
  ClusterHealthReport: 'cluster',
} as const;

describe.each(CUSTOM_KINDS)('kubectl on a %s', (kind) => {
  const { plural } = KINDS[kind];
  const resource = `${plural}.${GROUP}`;
  const golden = (name: string): string => join(GOLDEN, `${name}-${plural}.txt`);

  it('lists it with its columns', async () => {
    const text = await kubectl('get', resource, '-o', 'wide');
    await expect(masked(text).replaceAll(/(?<=\s)(\d+[smhdy])+(?=\s|$)/gm, 'AGE')).toMatchFileSnapshot(golden('get'));
  });

  it('describes it', async () => {
    const text = await kubectl('describe', resource, SAMPLES[kind], '--show-events=false');
    await expect(masked(text)).toMatchFileSnapshot(golden('describe'));
  });
});
