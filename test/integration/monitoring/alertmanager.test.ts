import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { firingAlerts, webhookPayload, type WebhookPayload } from '../../../src/health/alerts/webhook-payload.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { freePorts, Processes } from '../../support/kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { until } from '../../support/until.ts';

// What the webhook sends, and what a real Alertmanager sends to its webhooks for the same alerts.
const SOURCE = { report: 'cluster', cluster: 'pinot' };
const NOW = Date.now();
const SINCE = new Date(NOW - 3_600_000).toISOString();
const { alerts } = firingAlerts(
  {
    checks: ['QUERY_HEALTH_CHECK', 'REPLICATION_CHECK'].map((name) => ({
      name,
      status: 'FAIL',
      since: SINCE,
      message: 'as reported',
      findingCount: 2,
    })),
  },
  SOURCE,
  NOW,
);

let receiver: Server;
let processes: Processes;
let url: string;
const received: WebhookPayload[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    void json(request).then((body) => {
      received.push(body as WebhookPayload);
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const folder = await installed('alertmanager');
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-alertmanager-'));
  await writeFile(
    join(directory, 'alertmanager.yaml'),
    stringify({
      route: { receiver: 'olap-warden', group_by: ['cluster', 'report'], group_wait: '1s', group_interval: '1s' },
      receivers: [{ name: 'olap-warden', webhook_configs: [{ url: hook, send_resolved: true }] }],
    }),
  );
  const [port] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  processes = new Processes(directory);
  processes.start('alertmanager', join(folder, 'alertmanager'), [
    `--config.file=${join(directory, 'alertmanager.yaml')}`,
    `--storage.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ]);
  const ready = async () => (await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })).ok;
  await processes.waitUntil('alertmanager', () => ready().catch(() => false));
});
afterAll(async () => {
  await processes.stop();
  receiver.closeAllConnections();
  receiver.close();
});

/** @param endsAt when they ended; undefined while they fire */
async function post(sent: readonly object[], endsAt?: string): Promise<void> {
  const body = JSON.stringify(sent.map((alert) => ({ ...alert, ...(endsAt && { endsAt }) })));
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
  const answer = await fetch(`${url}/api/v2/alerts`, { method: 'POST', headers, body, signal });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
}

/** In an order that does not depend on the sender; without what a receiver of its own has. */
function comparable({ alerts: all, groupKey, externalURL, ...payload }: WebhookPayload) {
  const shown = all
    .map(({ fingerprint, generatorURL, startsAt, endsAt, ...alert }) => ({
      ...alert,
      // Go prints no zeros at the end of a second's fraction.
      startsAt: Date.parse(startsAt),
      endsAt: Date.parse(endsAt),
      fingerprint: /^[0-9a-f]{16}$/.test(fingerprint),
      generatorURL: typeof generatorURL,
    }))
    .toSorted((a, b) => (a.labels['check']! < b.labels['check']! ? -1 : 1));
  return { ...payload, alerts: shown, groupKey, externalURL: typeof externalURL };
}

it('sends what a real Alertmanager sends to its webhooks', async () => {
  expect(alerts).toHaveLength(2);
  const [first, second] = alerts;
  const posted = alerts.map(({ labels, annotations, startsAt }) => ({ labels, annotations, startsAt }));
  await post(posted);
  const both = () => received.find(({ alerts: { length } }) => length === 2);
  await until('both alerts', () => both() !== undefined);
  const ours = webhookPayload(SOURCE, { firing: alerts, resolved: [], endedAt: NOW });
  expect(Object.keys(ours).toSorted()).toEqual(Object.keys(both()!).toSorted());
  expect(Object.keys(ours.alerts[0]!).toSorted()).toEqual(Object.keys(both()!.alerts[0]!).toSorted());
  expect(comparable(ours)).toEqual(comparable(both()!));

  const endedAt = Date.now();
  await post(posted.slice(1), new Date(endedAt).toISOString());
  const ended = () => received.find((payload) => payload.alerts.some(({ status }) => status === 'resolved'));
  await until('the end of one', () => ended() !== undefined);
  const after = webhookPayload(SOURCE, { firing: [first!], resolved: [second!], endedAt });
  expect(comparable(after)).toEqual(comparable(ended()!));
});
