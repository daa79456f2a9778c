import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NO_METRICS } from '../../../src/health/metrics.ts';
import type { WebhookPayload } from '../../../src/health/alerts/webhook-payload.ts';
import { ONE_CLUSTER } from '../../../src/operator/health/health-reports.ts';
import { HealthWebhook } from '../../../src/operator/health/health-webhook.ts';
import { loopTask } from '../../../src/operator/operator.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { ClusterHealthReportStatus } from '../../../src/resources/health-status.ts';
import { clusterHealthReport } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';

const CHECK = 'QUERY_HEALTH_CHECK';

interface Delivery {
  /** The operator that sent it. */
  readonly sender: string;
  readonly payload: WebhookPayload;
}

let api: ControlPlaneClient;
let namespace: string;
let receiver: Server;
const deliveries: Delivery[] = [];
const operators = new Map<string, RunningOperator>();

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('webhook');
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(clusterHealthReport()) });
  receiver = createServer((request, response) => {
    void json(request).then((body) => {
      deliveries.push({ sender: request.headers.authorization ?? '', payload: body as WebhookPayload });
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const operator of operators.values()) await operator.stop();
  receiver.closeAllConnections();
  receiver.close();
});

function start(name: string): void {
  const { port } = receiver.address() as AddressInfo;
  const options = {
    url: new URL(`http://127.0.0.1:${port}/hook`),
    authorization: async () => name,
    clusters: ONE_CLUSTER,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    metrics: NO_METRICS,
  };
  const task = loopTask('health-webhook', ({ store }) => new HealthWebhook({ ...options, store }));
  operators.set(name, runOperator(api.kubeconfigPath, namespace, { tasks: [task] }));
}

async function report(status: 'PASS' | 'FAIL'): Promise<void> {
  const since = '2026-11-21T10:00:00Z';
  const check = { name: CHECK, status, since, message: 'as reported', findingCount: status === 'PASS' ? 0 : 1 };
  const reported: ClusterHealthReportStatus = { lastRunTime: since, checks: [{ ...check, severity: 'critical' }] };
  const patch = ['patch', 'chr', 'cluster', '--subresource', 'status', '--type', 'merge', '-p'];
  await api.mustKubectl(['-n', namespace, ...patch, JSON.stringify({ status: reported })]);
}

/** `first firing`: who sent what. */
const sent = () => deliveries.map(({ sender, payload }) => `${sender} ${payload.status}`);
const leads = (name: string) => () => operators.get(name)?.operator.isLeader() ?? false;

it('is called by the leader only, and by the next leader with the same alerts', async () => {
  await report('FAIL');
  start('first');
  await eventually(leads('first'), Boolean);
  start('second');
  await eventually(sent, ({ length }) => length > 0);
  await report('PASS');
  await eventually(sent, ({ length }) => length > 1);
  await report('FAIL');
  await eventually(sent, ({ length }) => length > 2);
  // The second operator has seen these changes, too, before it leads.
  await eventually(
    () => operators.get('second')?.store.get('ClusterHealthReport', 'cluster')?.status?.checks?.[0]?.status,
    (status) => status === 'FAIL',
  );
  expect(sent()).toEqual(['first firing', 'first resolved', 'first firing']);

  await operators.get('first')?.stop();
  operators.delete('first');
  await eventually(leads('second'), Boolean);
  await eventually(sent, ({ length }) => length > 3);
  // Again, as after a restart of Alertmanager: the receiver recognizes the alert by its fingerprint.
  const [, , before, after] = deliveries;
  expect(after?.payload.alerts).toEqual(before?.payload.alerts);
  await report('PASS');
  await eventually(sent, ({ length }) => length > 4);
  expect(sent().slice(3)).toEqual(['second firing', 'second resolved']);
});
