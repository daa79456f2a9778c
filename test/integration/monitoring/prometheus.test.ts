import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { OPERATION_ROWS } from '../../../tools/generate/dashboard/operation.ts';
import { ROWS } from '../../../tools/generate/dashboard/pinot.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import { startPrometheus, type Prometheus } from '../../support/prometheus.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

const ALERT = 'OlapCauseInstanceDown';
const RUN = '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true';

let pinot: Pinot;
let service: Standalone;
let prometheus: Prometheus;

beforeAll(async () => {
  pinot = await startPinot({ servers: 2, tables: ['types'] });
  service = await startStandalone({ controllers: pinot.controllerUrl });
  const rules = await readFile(
    join(resolve(import.meta.dirname, '../../..'), 'charts/olap-warden/files/alerts.yaml'),
    'utf8',
  );
  // The same alerts without their `for` durations, which promtool tests with a simulated clock.
  prometheus = await startPrometheus([new URL(service.metricsUrl).host], rules.replaceAll(/^( +for: ).*$/gm, '$10s'));
});

afterAll(async () => {
  await prometheus.stop();
  await service.stop();
  await pinot.stop();
});

/** Panels without data here; a unit test checks that their metrics exist. */
const NOT_HERE = new Set([
  // No fault has happened.
  'Failed requests',
  'Failed calls of the store',
  'Failed reconciliations',
  // Not without the Kubernetes API.
  'Leader (1)',
  'Outdated definitions (1)',
]);

const alertIsFiring = async (): Promise<boolean> =>
  (await prometheus.alerts()).some(({ labels, state }) => labels['alertname'] === ALERT && state === 'firing');

describe('a real Prometheus', () => {
  it('has one series for each check', async () => {
    expect((await service.call('GET', RUN)).status).toBe(200);
    await expect
      .poll(async () => (await prometheus.query('olap_warden_health_check_status')).length)
      .toBe(CATALOGUE.length);
  });

  it('fires the alert of the cause when a server stops, and resolves it when the server is back', async () => {
    expect(await alertIsFiring()).toBe(false);
    await pinot.stopServer(1);
    await expect
      .poll(
        async () => {
          await service.call('GET', RUN);
          return alertIsFiring();
        },
        { interval: 2000 },
      )
      .toBe(true);
    await pinot.startServer(1);
    await expect
      .poll(
        async () => {
          await service.call('GET', RUN);
          return alertIsFiring();
        },
        { interval: 2000 },
      )
      .toBe(false);
  });

  it('has data for every panel of the dashboards', async () => {
    const submit = async (): Promise<string> => {
      const answer = await service.call('POST', '/query/sql?doPaginate=true', { sql: 'SELECT * FROM types LIMIT 5' });
      return ((await answer.json()) as { requestId: string }).requestId;
    };
    await service.call('DELETE', `/query/resultStore/${await submit()}`);
    await service.call('GET', `/query/${await submit()}/results?offset=0`);
    await service.call('POST', '/query/sql?doPaginate=true&async=true', { sql: 'SELECT * FROM types LIMIT 5' });
    await service.call('POST', '/api/v1/rbac-manager/roles', { name: 'somebody' });
    await service.call('GET', '/api/v1/rbac-manager/roles/missing');
    const queries = [...ROWS, ...OPERATION_ROWS]
      .flatMap(({ panels }) => panels)
      .filter(({ title }) => !NOT_HERE.has(title))
      .flatMap(({ title, queries }) => queries.map(({ expr }) => ({ title, expr })));
    for (const { title, expr } of queries) {
      const asked = expr.replaceAll('$namespace', '.*').replaceAll('$cluster', '.*');
      await expect
        .poll(async () => (await prometheus.query(asked)).length, { message: `${title}: ${asked}` })
        .toBeGreaterThan(0);
    }
  });
});
