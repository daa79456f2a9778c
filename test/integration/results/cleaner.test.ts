import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialFromFile } from '../../../src/pinot/credential.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { cleanResults, resultCleanerMetrics, type CleaningOutcome } from '../../../src/operator/result-cleaner.ts';
import { RENEWAL_GRACE_MS } from '../../../src/results/retention/retention.ts';
import { gatewaysOfList } from '../../../src/results/peers/discovery.ts';
import { createGatewayClient, type GatewayClient } from '../../../src/results/peers/gateway-client.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { answerText, rowTexts } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

describe('the operator’s cleaner with gateways that have local stores', () => {
  let engine: FakeEngine;
  let folder: string;
  let first: Standalone;
  let second: Standalone;
  let client: GatewayClient;
  let elapsedMs = 0;

  beforeAll(async () => {
    engine = new FakeEngine();
    await engine.listen();
    engine.serve(['orders_OFFLINE'], answerText(rowTexts(5)));
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-cleaner-'));
    first = await start('first');
    second = await start('second', { 'token-file': join(first.dataDir, 'tokens.jsonl') });
    const secret = join(folder, 'credential');
    await writeFile(secret, 'an-unknown-token');
    const credential = credentialFromFile(secret, { monotonic: () => elapsedMs });
    client = createGatewayClient({ credential: () => credential.current() });
  });
  afterAll(async () => {
    await client?.close();
    await second?.stop();
    await first?.stop();
    await engine?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(name: string, flags: Record<string, string> = {}): Promise<Standalone> {
    const file = join(folder, `${name}.properties`);
    const lines = [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=${join(folder, name, 'data')}`,
      `olap.broker.pagination.temp.dir=${join(folder, name, 'temp')}`,
    ];
    await writeFile(file, lines.join('\n'));
    return startStandalone({ controllers: engine.url, brokers: engine.url, 'broker-id': name, config: file, ...flags });
  }

  async function submit(gateway: Standalone): Promise<string> {
    const headers = { authorization: `Bearer ${first.token}` };
    const body = { sql: 'SELECT * FROM orders' };
    const answer = await gateway.call('POST', '/query/sql?doPaginate=true', body, headers);
    return ((await answer.json()) as { requestId: string }).requestId;
  }

  /** Runs the cleaner at a time relative to now. */
  function clean(laterMs: number): Promise<CleaningOutcome[]> {
    return cleanResults(
      {
        gateways: gatewaysOfList([first, second].map(({ url }) => new URL(url).host)),
        client,
        settings: () => ({ frequencyMs: 1, initialDelayMs: 0 }),
        clock: { ...systemClock, now: () => Date.now() + laterMs },
        log: createLogger('silent'),
        metrics: resultCleanerMetrics(new Registry()),
      },
      AbortSignal.timeout(WAIT_LIMIT_MS),
    );
  }

  it('deletes the expired results of each gateway with the current credential', async () => {
    const headers = { authorization: `Bearer ${first.token}` };
    const stored = [
      [first, await submit(first)],
      [second, await submit(second)],
      [second, await submit(second)],
    ] as const;
    const statuses = async (): Promise<number[]> =>
      Promise.all(
        stored.map(
          async ([gateway, id]) => (await gateway.call('GET', `/query/${id}/metadata`, undefined, headers)).status,
        ),
      );

    expect((await clean(0)).map(({ error }) => error)).toEqual(Array(2).fill('listing results: status 401'));
    await writeFile(join(folder, 'credential'), first.token);
    elapsedMs += 10_000;
    expect((await clean(0)).map(({ deleted, error }) => [deleted, error])).toEqual([
      [0, undefined],
      [0, undefined],
    ]);
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await clean(3_600_000 + RENEWAL_GRACE_MS)).map(({ deleted, error }) => [deleted, error])).toEqual([
      [1, undefined],
      [2, undefined],
    ]);
    expect(await statuses()).toEqual([404, 404, 404]);
  });
});
