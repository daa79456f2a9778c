import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import type { Program } from '../../support/processes.ts';
import { startProduct, type RunningProduct } from '../../support/product-process.ts';
import { startPrometheus, type Prometheus } from '../../support/prometheus.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

/** Two operators and a gateway, each a process with its own rights, with a real Pinot; a real Prometheus scrapes them. */

const ROOT = join(import.meta.dirname, '../../..');
const NAMESPACE = 'olap';
const ALERT = 'OlapCauseInstanceDown';
const SLOW = { timeout: WAIT_LIMIT_MS, interval: 250 };

let api: ControlPlane;
let pinot: Pinot;
let prometheus: Prometheus;
let leader: RunningProduct;
let standby: RunningProduct;
let gateway: RunningProduct;
let token: string;
const programs: Program[] = [];

const start = (command: 'operator' | 'gateway', settings: Readonly<Record<string, string>> = {}) =>
  startProduct(api, command, {
    namespace: NAMESPACE,
    settings: { controllers: pinot.controllerUrl, ...settings },
    onStart: (program) => programs.push(program),
  });

beforeAll(async () => {
  [api, pinot] = await Promise.all([startControlPlane(), startPinot({ servers: 2, tables: ['types'] })]);
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
  token = await api.serviceAccountToken(NAMESPACE, 'admin', { audience: 'olap-warden' });
  leader = await start('operator', { 'admin-subject': `user-email:system:serviceaccount:${NAMESPACE}:admin` });
  await vi.waitFor(async () => {
    if (!(await leads(leader))) throw new Error('the first operator does not lead');
  }, SLOW);
  standby = await start('operator');
  gateway = await start('gateway');
  const rules = await readFile(join(ROOT, 'charts/olap-warden/files/alerts.yaml'), 'utf8');
  // The same alerts without their `for` durations, which promtool tests with a simulated clock.
  prometheus = await startPrometheus(
    [leader, standby, gateway].map(({ metricsUrl }) => new URL(metricsUrl).host),
    rules.replaceAll(/^( +for: ).*$/gm, '$10s'),
  );
});

afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await Promise.all([prometheus.stop(), pinot.stop(), api.stop()]);
});

async function leads({ metricsUrl }: RunningProduct): Promise<boolean> {
  const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
  return metrics.includes('leader_election_master_status{name="olap-warden-operator"} 1');
}

interface Health {
  readonly summary: { readonly pass: number; readonly fail: number };
  readonly running: {
    readonly checks: readonly { name: string; status: string }[];
    readonly checksTotal: number;
  } | null;
}

const call = (path: string): Promise<Response> =>
  fetch(gateway.url + path, { headers: { authorization: `Bearer ${token}` } });
const health = async (): Promise<Health> => (await (await call('/clusterHealth')).json()) as Health;
const run = (): Promise<Response> => call('/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');

const alerts = async () => (await prometheus.alerts()).filter(({ labels }) => labels['alertname'] === ALERT);
const states = async (): Promise<string[]> => (await alerts()).map(({ state }) => state);

it('the gateway shows the checks evaluated so far, then the complete report', async () => {
  await expect.poll(async () => (await run()).status, SLOW).toBe(200);
  // With a stopped server the run reads twice, some seconds apart, so that it can be observed.
  await pinot.stopServer(1);
  let seen: Health['running'] = null;
  // Several requests, because a fast run may finish between two of them.
  const watching = new AbortController();
  const runs = (async () => {
    while (!watching.signal.aborted) await run();
  })();
  await expect
    .poll(
      async () => {
        const { running } = await health();
        if ((running?.checks.length ?? 0) > (seen?.checks.length ?? 0)) seen = running;
        return seen?.checks.length ?? 0;
      },
      { interval: 100 },
    )
    .toBeGreaterThan(4);
  watching.abort();
  await runs;
  expect(seen).toMatchObject({ checksTotal: CATALOGUE.length });
  await expect.poll(async () => (await health()).running, SLOW).toBeNull();
  const { summary } = await health();
  expect(summary.pass + summary.fail).toBe(CATALOGUE.length);
});

it('one alert fires, and continues after another operator became leader', async () => {
  const until = async (expected: string[]): Promise<void> => {
    await expect
      .poll(
        async () => {
          await run();
          return states();
        },
        { interval: 1_000 },
      )
      .toEqual(expected);
  };
  await until(['firing']);
  leader.program.signalGroup('SIGKILL');
  const seen = new Set<string>();
  await expect
    .poll(
      async () => {
        seen.add((await states()).join(' '));
        return leads(standby);
      },
      { interval: 500 },
    )
    .toBe(true);
  // Until the new leader has been scraped several times.
  const told = async () => (await prometheus.query('olap_warden_health_check_status')).length;
  await expect.poll(told, SLOW).toBe(CATALOGUE.length);
  seen.add((await states()).join(' '));
  expect([...seen]).toEqual(['firing']);
  expect(await prometheus.query(`changes(ALERTS_FOR_STATE{alertname="${ALERT}"}[60s])`)).toMatchObject([
    { value: [expect.anything(), '0'] },
  ]);
  await pinot.startServer(1);
  // The values of the last leader count for five minutes in addition.
  await expect
    .poll(
      async () => {
        await run();
        return prometheus.query('olap_warden_health_check_status{check="INSTANCE_HEALTH_API_CHECK"} == 1');
      },
      { interval: 1_000 },
    )
    .toHaveLength(1);
});
