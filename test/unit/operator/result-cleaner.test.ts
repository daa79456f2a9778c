import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/logging.ts';
import type { LeaderTaskPorts } from '../../../src/operator/operator.ts';
import {
  cleanResults,
  resultCleanerMetrics,
  resultCleanerTask,
  type ResultCleanerOptions,
} from '../../../src/operator/result-cleaner.ts';
import type { GatewayClient } from '../../../src/results/peers/gateway-client.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RENEWAL_GRACE_MS } from '../../../src/results/retention/retention.ts';

const DAY_MS = 86_400_000;
const A = { host: 'a', port: 1 };
const B = { host: 'b', port: 2 };

function setup(over: Partial<ResultCleanerOptions> = {}, client: Partial<GatewayClient> = {}) {
  const deleted: string[] = [];
  const clock = new FakeClock();
  clock.chance = 0.25;
  const registry = new Registry();
  const options: ResultCleanerOptions = {
    gateways: async () => [A, B],
    client: {
      list: async ({ host }) => [
        { requestId: `${host}-old`, expirationTimeMs: clock.now() - RENEWAL_GRACE_MS },
        // A gateway may be renewing it.
        { requestId: `${host}-expiring`, expirationTimeMs: clock.now() - RENEWAL_GRACE_MS + 1 },
        { requestId: `${host}-new`, expirationTimeMs: clock.now() + DAY_MS },
      ],
      delete: async (_gateway, requestId) => {
        deleted.push(requestId);
        return true;
      },
      close: async () => undefined,
      ...client,
    },
    settings: () => ({ frequencyMs: 1000, initialDelayMs: undefined }),
    clock,
    log: createLogger('silent'),
    metrics: resultCleanerMetrics(registry),
    ...over,
  };
  return { options, deleted, registry, clock };
}

const { signal } = new AbortController();

describe('the result cleaner', () => {
  it('deletes expired results on every gateway', async () => {
    const { options, deleted, registry } = setup();
    expect(await cleanResults(options, signal)).toEqual([
      { gateway: 'a:1', deleted: 1, error: undefined },
      { gateway: 'b:2', deleted: 1, error: undefined },
    ]);
    expect(deleted.sort()).toEqual(['a-old', 'b-old']);
    const text = await registry.metrics();
    expect(text).toContain('olap_warden_pagination_cleaner_deletions_total 2');
    expect(text).toContain('olap_warden_pagination_cleaner_gateways_total{outcome="success"} 2');
  });

  it('is not delayed by a gateway that is down or slow', async () => {
    const never = (_: unknown, limited: AbortSignal): Promise<never> =>
      new Promise((_resolve, reject) => limited.addEventListener('abort', () => reject(limited.reason as Error)));
    for (const list of [
      async () => {
        throw new Error('connect ECONNREFUSED');
      },
      never,
    ]) {
      const { options, deleted, clock } = setup();
      const inner: GatewayClient['list'] = (gateway, limited) => options.client.list(gateway, limited);
      const client = {
        ...options.client,
        list: ((gateway, limited) =>
          gateway === A ? list(gateway, limited) : inner(gateway, limited)) as GatewayClient['list'],
      };
      const cleaning = cleanResults({ ...options, client }, signal);
      await clock.advance(60_000);
      const outcomes = await cleaning;
      expect(outcomes[0]).toMatchObject({ gateway: 'a:1', deleted: 0, error: expect.any(String) });
      expect(outcomes[1]).toMatchObject({ gateway: 'b:2', deleted: 1, error: undefined });
      expect(deleted).toEqual(['b-old']);
    }
    const gone = setup({}, { delete: async () => false });
    expect(await cleanResults(gone.options, signal)).toMatchObject([{ deleted: 0, error: undefined }, { deleted: 0 }]);
  });

  it('runs after a random delay and then periodically, until it loses leadership', async () => {
    const controller = new AbortController();
    let frequencyMs = 1000;
    let runs = 0;
    const { options, clock } = setup({
      settings: () => ({ frequencyMs, initialDelayMs: undefined }),
      gateways: async () => {
        runs++;
        return [A];
      },
    });
    const running = resultCleanerTask(options).run(controller.signal, {} as LeaderTaskPorts);
    frequencyMs = 5000;
    const runsAfter = async (ms: number): Promise<number> => {
      await clock.advance(ms);
      return runs;
    };
    expect([await runsAfter(249), await runsAfter(1)]).toEqual([0, 1]);
    expect([await runsAfter(4999), await runsAfter(1)]).toEqual([1, 2]);
    controller.abort();
    await running;
    expect([clock.timers, await runsAfter(10_000)]).toEqual([0, 2]);
  });

  it('says which gateway failed, and where something was deleted', async () => {
    const controller = new AbortController();
    const lines: string[] = [];
    const { options, clock } = setup({
      settings: () => ({ frequencyMs: 1000, initialDelayMs: 0 }),
      log: pino({}, { write: (line: string) => void lines.push(line) }),
    });
    const client: GatewayClient = {
      ...options.client,
      list: async (gateway, limited) => {
        if (gateway === A) throw new Error('connect ECONNREFUSED');
        return options.client.list(gateway, limited);
      },
    };
    const running = resultCleanerTask({ ...options, client }).run(controller.signal, {} as LeaderTaskPorts);
    await clock.advance(10);
    controller.abort();
    await running;
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        level: 40,
        gateway: 'a:1',
        deleted: 0,
        error: expect.stringContaining('ECONNREFUSED'),
      }),
      expect.objectContaining({ level: 30, gateway: 'b:2', deleted: 1 }),
    ]);
  });

  it('continues after a failed run', async () => {
    const controller = new AbortController();
    let runs = 0;
    const { options, clock } = setup({
      settings: () => ({ frequencyMs: 1000, initialDelayMs: 0 }),
      gateways: async () => {
        runs++;
        throw new Error('SERVFAIL');
      },
    });
    const running = resultCleanerTask(options).run(controller.signal, {} as LeaderTaskPorts);
    await clock.advance(1000);
    expect(runs).toBe(2);
    controller.abort();
    await running;
  });
});
