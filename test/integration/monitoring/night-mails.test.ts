import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { healthMetrics, type ReportedHealth } from '../../../src/health/metrics.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { freePorts, Processes } from '../../support/kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { startMailSink, type MailSink } from '../../support/mail-sink.ts';
import { clusterWith, NIGHT_FAULTS, reportOn } from '../../support/night-faults.ts';
import { startPrometheus, type Prometheus } from '../../support/prometheus.ts';
import { until } from '../../support/until.ts';

// The e-mails of a real Alertmanager about alerts of a real Prometheus, one for each fault of a cluster, as one reads them at night.
const RULES = join(resolve(import.meta.dirname, '../../..'), 'charts/olap-warden/files/alerts.yaml');
const NAMES = Object.keys(NIGHT_FAULTS);
const TEXT =
  '{{ range .Alerts }}{{ .Labels.severity }}: {{ .Annotations.summary }}\n{{ .Annotations.description }}\n{{ .Annotations.runbook_url }}\n\n{{ end }}';

let mail: MailSink;
let prometheus: Prometheus;
let processes: Processes;
let url: string;
const reports: ReportedHealth[] = [];
const metrics = new Registry();
healthMetrics(metrics, () => reports);
const scraped = createServer((_request, response) => {
  void metrics.metrics().then((text) => response.setHeader('content-type', metrics.contentType).end(text));
});

beforeAll(async () => {
  const now = Date.now();
  for (const [name, fault] of Object.entries(NIGHT_FAULTS)) {
    reports.push({ name, status: await reportOn(clusterWith(fault, now), now) });
  }
  await new Promise<void>((resolve) => scraped.listen(0, '127.0.0.1', resolve));
  // Without their `for` durations, which promtool tests with a simulated clock.
  const rules = (await readFile(RULES, 'utf8')).replaceAll(/^( +for: ).*$/gm, '$10s');
  prometheus = await startPrometheus([`127.0.0.1:${(scraped.address() as AddressInfo).port}`], rules);
  mail = await startMailSink();
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-mails-'));
  const email = { to: 'on-call@example.com', html: '', text: TEXT, send_resolved: false };
  const file = join(directory, 'alertmanager.yaml');
  await writeFile(
    file,
    stringify({
      global: {
        ...{ smtp_smarthost: `127.0.0.1:${mail.port}`, smtp_from: 'alerts@example.com', smtp_hello: 'localhost' },
        smtp_require_tls: false,
      },
      route: { receiver: 'on-call', group_by: ['report'], group_wait: '1s', group_interval: '1s' },
      receivers: [{ name: 'on-call', email_configs: [email] }],
    }),
  );
  const [port] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  processes = new Processes(directory);
  processes.start('alertmanager', join(await installed('alertmanager'), 'alertmanager'), [
    ...[`--config.file=${file}`, `--storage.path=${join(directory, 'data')}`],
    ...[`--web.listen-address=127.0.0.1:${port}`, '--cluster.listen-address='],
  ]);
  const ready = async () => (await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })).ok;
  await processes.waitUntil('alertmanager', () => ready().catch(() => false));
});
afterAll(async () => {
  await processes?.stop();
  await prometheus?.stop();
  await mail?.close();
  scraped.closeAllConnections();
  scraped.close();
});

/** Subject and text of a message, the alerts in the order of their texts. */
function readable(message: string): string {
  const unfolded = message.replaceAll('\r\n', '\n');
  const subject = /^Subject: (.*(?:\n .*)*)$/m.exec(unfolded)?.[1]?.replaceAll('\n ', ' ') ?? '';
  const body = unfolded.slice(unfolded.indexOf('\n\n', unfolded.indexOf('text/plain')) + 2).split('\n--')[0] ?? '';
  const text = body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
  const alerts = text.trim().split('\n\n').toSorted();
  return `Subject: ${decoded(subject)}\n\n${alerts.join('\n\n')}\n`;
}

/** A header of a mail, of which long ones are encoded in words. */
function decoded(header: string): string {
  return header.replaceAll(/=\?utf-8\?q\?(.*?)\?=\s*/gi, (_, word: string) =>
    word
      .replaceAll('_', ' ')
      .replaceAll(/=([0-9A-F]{2})/g, (_hex, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))),
  );
}

it('says in one e-mail for each fault what happened, what it affects, and what to do', async () => {
  const firing = async () =>
    (await prometheus.alerts()).filter(
      ({ labels, state }) => state === 'firing' && NAMES.includes(labels['report'] ?? ''),
    );
  // All groups of rules have been evaluated when a further evaluation adds no alert.
  let before = -1;
  await until(
    'alerts of all reports',
    async () => {
      const found = await firing();
      const isComplete =
        found.length === before && new Set(found.map(({ labels }) => labels['report'])).size === NAMES.length;
      before = found.length;
      return isComplete;
    },
    () => delay(2_500),
  );
  const alerts = (await firing()).map(({ labels, annotations }) => ({ labels, annotations }));
  const answer = await fetch(`${url}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alerts),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
  });
  expect(answer.status).toBe(200);
  await until('all e-mails', () => mail.messages.length >= NAMES.length);
  const texts = mail.messages.map(readable).toSorted();
  await expect(texts.join('\n----\n\n')).toMatchFileSnapshot('night-mails.txt');
});
