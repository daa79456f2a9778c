import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedPinot, type PinotClient } from '../../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../../support/service.ts';
import { pythonWithSuperset, run } from '../install.ts';

// A whole Superset takes about 1 GB of disk and minutes to start.
const LIMIT_MS = 900_000;

interface Report {
  readonly connect: readonly unknown[];
  readonly tables: unknown;
  readonly chart: readonly [number, unknown];
  readonly forbidden: readonly [number, unknown];
  readonly sql: readonly [number, unknown];
}

describe('Superset', () => {
  let pinot: PinotClient;
  let gateway: Standalone;
  let folder: string;

  beforeAll(async () => {
    pinot = await sharedPinot();
    gateway = await startStandalone({ controllers: pinot.controllerUrl });
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-superset-'));
  });
  afterAll(async () => {
    await gateway?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  async function post<T>(path: string, body: unknown): Promise<T> {
    const answer = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
    expect([path, answer.status]).toEqual([path, 200]);
    return (await answer.json()) as T;
  }

  it('connects, lists only the tables of its token, and draws a chart', { timeout: LIMIT_MS }, async () => {
    const statements = [{ effect: 'allow', actions: ['Query', 'GetSchema'], resources: ['srn2:table#orders'] }];
    await post('/policies', { name: 'orders-only', policyDocument: { version: 'v1', statements } });
    await post('/roles', { name: 'orders-reader', description: 'reads orders' });
    await post('/roles/srn2:role%23orders-reader/attach-policy', { policySrn: 'srn2:policy#orders-only' });
    const token = await post<{ accessKey: string; secretKey: string }>('/service-tokens', { description: 'Superset' });
    const assignment = { subject: token.accessKey, subjectType: 'service-token' };
    await post('/roles/srn2:role%23orders-reader/create-assignment', assignment);

    const sql = 'SELECT city, COUNT(*) AS orders FROM orders GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1000';
    const answer = JSON.parse(await pinot.query(sql)) as { resultTable: { rows: [string, number][] } };
    const expected = new Map(answer.resultTable.rows);

    const { host } = new URL(gateway.url);
    const place = `${token.accessKey}:${token.secretKey}@${host}`;
    const uri = `pinot://${place}/query/sql?controller=http://${place}/`;
    const { stdout } = await run('python3', [join(import.meta.dirname, 'ask.py'), uri, 'orders', 'customers'], {
      cwd: folder,
      env: {
        ...process.env,
        PYTHONPATH: await pythonWithSuperset(),
        SUPERSET_CONFIG_PATH: join(import.meta.dirname, 'superset_config.py'),
      },
      timeout: LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
    const report = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Report;
    expect(report.connect).toEqual([201, 'created']);
    expect(report.tables).toEqual(['orders']);
    const [status, rows] = report.chart;
    expect([status, rows]).toEqual([200, expect.any(Array)]);
    expect(new Map((rows as { city: string; orders: number }[]).map(({ city, orders }) => [city, orders]))).toEqual(
      expected,
    );
    // Superset makes no dataset of a table that it does not see.
    expect(report.forbidden[0]).toBe(422);
    expect(JSON.stringify(report.forbidden)).toMatch(/customers.*could not be found/i);
    expect(report.sql[0]).toBe(500);
    expect(JSON.stringify(report.sql)).toMatch(/`Query`.*`srn2:table#customers`/);
    expect(JSON.stringify(report.sql)).not.toContain('timed out');
    expect(JSON.stringify([report.forbidden, report.sql])).not.toContain(token.secretKey);
  });
});
