import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { buildStatus } from '../../../../src/health/report/report.ts';
import { NO_METRICS } from '../../../../src/health/metrics.ts';
import type { WebhookPayload } from '../../../../src/health/alerts/webhook-payload.ts';
import { HealthWebhook } from '../../../../src/operator/health/health-webhook.ts';
import type { Severity } from '../../../../src/resources/health-finding.ts';
import type { Mute } from '../../../../src/resources/health-mute.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';
import { clusterHealthReport } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { MemoryStore } from '../../access/memory-store.ts';

const CRITICAL = 'QUERY_HEALTH_CHECK';
const WARNING = 'REPLICATION_CHECK';

let store: MemoryStore;
let clock: FakeClock;
let receiver: Server;
let received: { readonly body: WebhookPayload; readonly headers: IncomingHttpHeaders }[];
/** Statuses of the next responses; then 200. `hang`: none. */
let responses: (number | 'hang')[];
/** The report whose notifications get 400. */
let rejected: string | undefined;
let deliveries: string[];
let logged: string;
let webhook: HealthWebhook | undefined;

beforeEach(async () => {
  store = new MemoryStore();
  clock = new FakeClock('2026-11-21T10:00:00Z');
  [received, responses, deliveries, logged, rejected] = [[], [], [], '', undefined];
  receiver = createServer((request, response) => {
    void json(request).then((body) => {
      const payload = body as WebhookPayload;
      const status = payload.groupLabels['report'] === rejected ? 400 : (responses.shift() ?? 200);
      received.push({ body: payload, headers: request.headers });
      if (status !== 'hang') response.writeHead(status, { location: '/elsewhere' }).end('answer');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await webhook?.stop();
  receiver.closeAllConnections();
  receiver.close();
});

function start(): void {
  const { port } = receiver.address() as AddressInfo;
  webhook = new HealthWebhook({
    url: new URL(`http://127.0.0.1:${port}/hook/secret-path`),
    authorization: async () => 'Bearer secret-token',
    clusters: [
      { name: 'pinot', report: 'cluster' },
      { name: 'sales', report: 'sales' },
    ],
    store,
    clock,
    log: pino({ level: 'trace' }, { write: (line: string) => void (logged += line) }),
    metrics: { ...NO_METRICS, webhook: (result) => void deliveries.push(result) },
  });
  webhook.start();
}

/** Writes the report of a run at the current time. @param failing numbers of findings by check */
async function report(
  failing: Readonly<Record<string, number>>,
  more: { unread?: boolean; mutes?: Mute[]; severity?: Severity; name?: string } = {},
): Promise<void> {
  const { name: reportName = 'cluster' } = more;
  const current = store.get('ClusterHealthReport', reportName) ?? clusterHealthReport(reportName);
  if (store.get('ClusterHealthReport', reportName) === undefined) store.seed(current);
  const results = [CRITICAL, WARNING].map((name) =>
    checkResult(name, failing[name] ?? 0, {
      unread: more.unread ?? false,
      ...(more.severity === undefined ? {} : { finding: { severity: more.severity } }),
    }),
  );
  const result = runResult({}, { results, startedAt: new Date(clock.now()) });
  const input = {
    result,
    previous: current.status,
    generation: 1,
    runAt: undefined,
    maxFindings: 20,
    now: clock.now(),
  };
  const status = buildStatus({ ...input, mutes: more.mutes });
  await store.updateStatus('ClusterHealthReport', { ...store.get('ClusterHealthReport', reportName)!, status });
}

/** Waits until the deliveries so far have their results. */
const delivered = (count: number) =>
  until(
    `${count} deliveries`,
    () => deliveries.length >= count,
    () => clock.advance(0),
  );
const firing = (index: number) =>
  received[index]!.body.alerts.map(({ status, labels }) => `${status} ${labels['check'] ?? labels['alertname']}`);

it('sends the alerts that fire, and later those that ended, as an Alertmanager does', async () => {
  start();
  await report({ [CRITICAL]: 2 });
  await clock.advance(59_000);
  expect(received).toEqual([]);
  await clock.advance(1_000);
  await delivered(1);
  const [{ body, headers }] = received as [(typeof received)[number]];
  expect(headers).toMatchObject({ 'content-type': 'application/json', authorization: 'Bearer secret-token' });
  const labels = {
    alertname: 'OlapQuery',
    check: CRITICAL,
    severity: 'critical',
    category: 'queries',
    report: 'cluster',
    cluster: 'pinot',
  };
  // The fields that the documentation of Alertmanager lists for `webhook_config`, and no others.
  expect(body).toEqual({
    version: '4',
    groupKey: '{}:{cluster="pinot", report="cluster"}',
    truncatedAlerts: 0,
    status: 'firing',
    receiver: 'olap-warden',
    groupLabels: { cluster: 'pinot', report: 'cluster' },
    commonLabels: labels,
    commonAnnotations: body.alerts[0]!.annotations,
    externalURL: '',
    alerts: [
      {
        status: 'firing',
        labels,
        annotations: {
          summary: `Queries: the health check ${CRITICAL} fails`,
          description: expect.stringMatching(/^Findings: 2\. First found: t0_OFFLINE, t1_OFFLINE\. /u) as string,
          runbook_url: `https://github.com/olap-warden/olap-warden/blob/main/docs/checks/${CRITICAL}.md`,
        },
        startsAt: '2026-11-21T10:00:00.000Z',
        endsAt: '0001-01-01T00:00:00Z',
        generatorURL: '',
        fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/u) as string,
      },
    ],
  });
  await report({});
  await delivered(2);
  const [alert] = received[1]!.body.alerts;
  expect(received[1]!.body.status).toBe('resolved');
  expect(alert).toMatchObject({
    status: 'resolved',
    fingerprint: body.alerts[0]!.fingerprint,
    startsAt: '2026-11-21T10:00:00.000Z',
    endsAt: '2026-11-21T10:01:00.000Z',
  });
  await report({});
  await clock.advance(3_600_000);
  expect(received).toHaveLength(2);
});

it('waits longer for checks that are not critical, and groups the alerts of a report', async () => {
  start();
  await report({ [CRITICAL]: 1, [WARNING]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  expect(firing(0)).toEqual([`firing ${CRITICAL}`]);
  await clock.advance(24 * 60_000);
  await delivered(2);
  expect(firing(1)).toEqual([`firing ${CRITICAL}`, `firing ${WARNING}`]);
  await report({ [WARNING]: 1 });
  await delivered(3);
  expect(received[2]!.body.status).toBe('firing');
  expect(firing(2)).toEqual([`firing ${WARNING}`, `resolved ${CRITICAL}`]);
});

it('does not send muted faults, and ends the alert of a fault that is muted', async () => {
  start();
  const mutes = [{ id: 'm', check: CRITICAL, entity: '*', reason: 'planned', until: '2026-11-22T00:00:00Z' }];
  await report({ [CRITICAL]: 1 }, { mutes });
  await clock.advance(120_000);
  expect(received).toEqual([]);
  await report({ [CRITICAL]: 1 });
  await delivered(1);
  expect(firing(0)).toEqual([`firing ${CRITICAL}`]);
  await report({ [CRITICAL]: 1 }, { mutes });
  await delivered(2);
  expect(firing(1)).toEqual([`resolved ${CRITICAL}`]);
});

it('has the severity of the findings, also while the check cannot be evaluated', async () => {
  start();
  await report({ [WARNING]: 1 }, { severity: 'critical' });
  await clock.advance(60_000);
  await delivered(1);
  expect(received[0]!.body.alerts).toMatchObject([{ labels: { check: WARNING, severity: 'critical' } }]);
  await report({ [WARNING]: 1 }, { unread: true });
  await clock.advance(60_000);
  await report({});
  await delivered(2);
  // It did not end with the run that could not evaluate the check.
  expect(received[1]!.body.alerts).toMatchObject([
    { status: 'resolved', labels: { severity: 'critical' }, endsAt: '2026-11-21T10:02:00.000Z' },
  ]);
});

it('keeps the alert while the check cannot be evaluated, and says so after three runs', async () => {
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  await report({ [CRITICAL]: 1, [WARNING]: 1 }, { unread: true });
  await report({ [CRITICAL]: 1, [WARNING]: 1 }, { unread: true });
  await clock.advance(60_000);
  expect(received).toHaveLength(1);
  await report({ [CRITICAL]: 1, [WARNING]: 1 }, { unread: true });
  await delivered(2);
  expect(firing(1)).toEqual([
    `firing ${CRITICAL}`,
    'firing OlapHealthCriticalChecksNotEvaluated',
    'firing OlapHealthChecksNotEvaluated',
  ]);
});

it('repeats a failed delivery with the current alerts, a limited number of times', async () => {
  responses = [503, 503];
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  await report({ [CRITICAL]: 1, [WARNING]: 1 });
  await until(
    'success',
    () => deliveries.includes('success'),
    () => clock.advance(500),
  );
  expect(deliveries).toEqual(['error', 'error', 'success']);
  responses = Array.from({ length: 100 }, () => 500);
  await report({});
  await until(
    'the last attempt',
    () => deliveries.length >= 17,
    () => clock.advance(60_000),
  );
  for (let minute = 0; minute < 60; minute++) await clock.advance(60_000);
  expect(deliveries).toHaveLength(17);
  responses = [];
  // Four hours later it is tried again: the receiver still has the alert.
  await until(
    'success',
    () => deliveries.at(-1) === 'success',
    () => clock.advance(600_000),
  );
  expect(received.at(-1)?.body.alerts).toMatchObject([{ status: 'resolved', labels: { check: CRITICAL } }]);
  expect(logged).toContain('responded with 500');
  expect(logged).not.toMatch(/secret-token|secret-path/u);
});

it.each([-86_400_000, 86_400_000])(
  'repeats failed deliveries and firing alerts as without it when the wall clock is set by %i ms',
  async (step) => {
    responses = [503];
    start();
    await report({ [CRITICAL]: 1 });
    await clock.advance(60_000);
    await delivered(1);
    clock.step(step);
    const minutes = async (count: number): Promise<void> => {
      for (let minute = 0; minute < count; minute++) {
        await clock.advance(60_000);
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      }
    };
    await minutes(10);
    await delivered(2);
    expect(deliveries).toEqual(['error', 'success']);
    clock.step(step);
    await minutes(225);
    expect(deliveries).toHaveLength(2);
    await minutes(20);
    await delivered(3);
    expect(deliveries).toHaveLength(3);
    expect(received.map(({ body }) => body.status)).toEqual(['firing', 'firing', 'firing']);
  },
);

it('sends alerts that changed after the last attempt at once, and not four hours later', async () => {
  responses = Array.from({ length: 100 }, () => 500);
  start();
  await report({ [CRITICAL]: 1 });
  await until(
    'the last attempt',
    () => deliveries.length >= 14,
    () => clock.advance(60_000),
  );
  await report({ [CRITICAL]: 1, [WARNING]: 1 }, { severity: 'critical' });
  await clock.advance(60_000);
  await delivered(15);
  expect(firing(14)).toEqual([`firing ${CRITICAL}`, `firing ${WARNING}`]);
});

it('sends the alerts of a report while the receiver rejects those of another one', async () => {
  rejected = 'cluster';
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  await report({ [CRITICAL]: 1 }, { name: 'other' });
  await clock.advance(60_000);
  await until(
    'the delivery of the other report',
    () => deliveries.includes('success'),
    () => clock.advance(0),
  );
  const accepted = received.filter(({ body }) => body.groupLabels['report'] === 'other');
  expect(accepted.map(({ body }) => body.status)).toEqual(['firing']);
});

it('sends firing alerts again after four hours', async () => {
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  for (let hour = 0; hour < 4; hour++) await clock.advance(3_600_000);
  await delivered(2);
  expect(received[1]!.body.alerts[0]).toEqual(received[0]!.body.alerts[0]);
  // It does not look again without a pause.
  expect(clock.delays).not.toContain(0);
});

it('repeats nothing after the alerts have ended', async () => {
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  await report({});
  await clock.advance(60_000);
  await delivered(2);
  for (let hour = 0; hour < 5; hour++) await clock.advance(3_600_000);
  await report({});
  await clock.advance(60_000);
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(3);
  expect(received.map(({ body }) => body.status)).toEqual(['firing', 'resolved', 'firing']);
});

it('follows no redirect, and ends a request to a receiver that does not respond', async () => {
  responses = [307, 'hang'];
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  await until(
    'the second request',
    () => received.length === 2,
    () => clock.advance(500),
  );
  await until(
    'the time-out',
    () => deliveries.length === 2,
    () => clock.advance(1_000),
  );
  expect(deliveries).toEqual(['error', 'error']);
  expect(logged).toContain('responded with 307');
  expect(logged).toContain('did not respond within 10 s');
});

it('ends the alerts of a deleted report', async () => {
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await delivered(1);
  await store.delete('ClusterHealthReport', 'cluster');
  await delivered(2);
  expect(firing(1)).toEqual([`resolved ${CRITICAL}`]);
});

it('stops during an attempt, and sends nothing afterwards', async () => {
  responses = ['hang'];
  start();
  await report({ [CRITICAL]: 1 });
  await clock.advance(60_000);
  await until('the request', () => received.length === 1);
  await webhook?.stop();
  await report({});
  await clock.advance(3_600_000);
  expect(received).toHaveLength(1);
});

it('names the cluster of each report, also after the report was deleted', async () => {
  start();
  await report({ [CRITICAL]: 1 }, { name: 'sales' });
  await clock.advance(60_000);
  await delivered(1);
  expect(received[0]!.body.groupLabels).toEqual({ report: 'sales', cluster: 'sales' });
  await store.delete('ClusterHealthReport', 'sales');
  await delivered(2);
  expect(received[1]!.body).toMatchObject({ status: 'resolved', groupLabels: { report: 'sales', cluster: 'sales' } });
});
