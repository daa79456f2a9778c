import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { answerText, rowTexts } from '../../unit/results/answers.ts';

/** The file is read every two seconds. */
const SOON = { interval: 100 };
const PROPERTIES = 'olap.broker.pagination.';

describe('a gateway whose configuration file changes', () => {
  let engine: FakeEngine;
  let folder: string;
  let file: string;
  let gateway: Standalone;

  beforeAll(async () => {
    engine = new FakeEngine();
    await engine.listen();
    engine.serve(['orders_OFFLINE'], answerText(rowTexts(20)));
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-live-'));
    file = join(folder, 'gateway.properties');
    await writeFile(file, 'olap.broker.query.page.size=3\n');
    gateway = await startStandalone({ config: file, controllers: engine.url, brokers: engine.url });
  });
  afterAll(async () => {
    await gateway?.stop();
    await engine?.close();
    await rm(folder, { recursive: true, force: true });
  });

  interface Submitted {
    readonly requestId: string;
    readonly numRows: number;
    readonly submissionTimeMs: number;
    readonly expirationTimeMs: number;
  }

  async function submit(query = ''): Promise<Submitted> {
    const sql = 'SELECT * FROM orders';
    const answer = await gateway.call('POST', `/query/sql?doPaginate=true${query}`, { sql });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Submitted;
  }

  /** Lifetime of a result that is submitted now. */
  async function lifetimeMs(): Promise<number> {
    const { requestId } = await submit();
    const listing = await (await gateway.call('GET', '/query/resultStore')).json();
    const { resultMetadataList } = listing as { resultMetadataList: readonly Submitted[] };
    const found = resultMetadataList.find((one) => one.requestId === requestId);
    return (found?.expirationTimeMs ?? 0) - (found?.submissionTimeMs ?? 0);
  }

  const usage = async (): Promise<unknown> => (await gateway.call('GET', '/query/resultStore/usage')).json();
  const pageSize = async (): Promise<number> => (await submit()).numRows;

  async function reloads(result: 'applied' | 'refused'): Promise<number> {
    const metrics = await (await fetch(`${gateway.metricsUrl}/metrics`)).text();
    return Number(
      new RegExp(`olap_warden_config_reloads_total\\{result="${result}"\\} (\\d+)`).exec(metrics)?.[1] ?? 0,
    );
  }

  it('applies page sizes, the expiration and the storage cleaner immediately', async () => {
    expect(await pageSize()).toBe(3);
    expect(await lifetimeMs()).toBe(3_600_000);
    expect(await usage()).toMatchObject({ cleanerEnabled: false });
    await writeFile(
      file,
      [
        'olap.broker.query.page.size=5',
        'olap.broker.query.max.page.size=7',
        `${PROPERTIES}expiration=30m`,
        `${PROPERTIES}file.enableStorageCleaner=true`,
        `${PROPERTIES}file.maxStoragePerBrokerMB=2`,
        `${PROPERTIES}file.criticalStorageThresholdPercent=80`,
        `${PROPERTIES}file.targetStorageThresholdPercent=50`,
        '',
      ].join('\n'),
    );
    await expect.poll(pageSize, SOON).toBe(5);
    expect((await submit('&numRows=20')).numRows).toBe(7);
    expect(await lifetimeMs()).toBe(1_800_000);
    expect(await usage()).toMatchObject({
      cleanerEnabled: true,
      quotaBytes: 2 * 1024 * 1024,
      criticalPercent: 80,
      targetPercent: 50,
    });
    expect(await reloads('applied')).toBe(1);
  });

  it('keeps the current values while one is invalid, counts the rejection, and applies the corrected file', async () => {
    const before = await usage();
    await writeFile(file, `olap.broker.query.page.size=9\n${PROPERTIES}file.targetStorageThresholdPercent=many\n`);
    await expect.poll(async () => reloads('refused'), SOON).toBe(1);
    expect([await pageSize(), await lifetimeMs()]).toEqual([5, 1_800_000]);
    expect(await usage()).toMatchObject({ ...(before as object), usedBytes: expect.any(Number) });
    await writeFile(file, `olap.broker.query.page.size=9\n${PROPERTIES}expiration=1d\n`);
    await expect.poll(pageSize, SOON).toBe(9);
    expect(await lifetimeMs()).toBe(86_400_000);
    expect(await usage()).toMatchObject({ cleanerEnabled: false, targetPercent: 60 });
  });
});
