import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { memoryProperties } from '../../../support/result-stores.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine } from '../../../../src/pinot/types.ts';
import { ByteBudget } from '../../../../src/api/server/bounds/byte-budget.ts';
import { createQueryService, type QueryService } from '../../../../src/api/queries/service.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';
import { TEST_HEADERS, testApp } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { BODIES } from './bodies.ts';
import { EvilEngine } from './evil-engine.ts';
import { HEADS } from './heads.ts';
import type { Scenario } from './scenario.ts';
import { STAGES } from './stages.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const SQL = { sql: 'SELECT * FROM events' };

/** A gateway whose only broker misbehaves. */
async function gatewayOf(scenario: Scenario): Promise<FastifyInstance> {
  const broker = await new EvilEngine(scenario.play).listen();
  closers.push(() => broker.close());
  const controller = new FakeEngine();
  await controller.listen();
  closers.push(() => controller.close());
  controller.serve(['events_OFFLINE']);
  // Short only where the time-out is the expected failure: on a busy machine it could come before another one.
  const timeoutMs = timesOut(scenario) ? 300 : 30_000;
  const limits = { headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs };
  const engine: Engine = createEngine({ controllerUrls: [controller.url], brokerUrls: [broker.url], limits });
  closers.push(() => engine.close());
  const service = await serviceOf(engine);
  closers.push(() => service.close());
  const app = await testApp({
    register: service.register,
    parts: { dataPlane: { ...service.data, budget: new ByteBudget() } },
  });
  closers.push(() => app.close());
  return app;
}

function serviceOf(engine: Engine): Promise<QueryService> {
  return createQueryService({
    engine: engine as Parameters<typeof createQueryService>[0]['engine'],
    identity: { id: 'gateway', host: '127.0.0.1', port: 1 },
    store: memoryProperties(),
    native: false,
    settings: () => DEFAULT_PAGINATION_SETTINGS,
    registry: new Registry(),
    log: createLogger('silent'),
    clock: systemClock,
    random: (bytes) => crypto.getRandomValues(Buffer.alloc(bytes)),
  });
}

const timesOut = ({ sees }: Scenario): boolean => 'error' in sees && sees.error === 'timeout';

/** Larger responses have already started when they fail: the gateway then closes the connection to its client. */
const MAX_HELD_BYTES = 1000;

/** A failure that the gateway can still report with a status, and that needs no special request. */
function failsInTime({ sees, moment }: Scenario): boolean {
  if (moment !== undefined || !('error' in sees)) return false;
  return !('upTo' in sees) || sees.upTo.length <= MAX_HELD_BYTES;
}

const SCENARIOS = [...HEADS, ...BODIES, ...STAGES].filter(failsInTime);

describe.each(['', '?doPaginate=true'])(
  '/query/sql%s of a gateway is 502 or 504 with the reason when its broker sends',
  (query) => {
    it.each(SCENARIOS)('$name', async (scenario) => {
      const app = await gatewayOf(scenario);
      const answer = await app.inject({
        method: 'POST',
        url: `/query/sql${query}`,
        headers: TEST_HEADERS,
        payload: SQL,
      });
      expect(timesOut(scenario) ? [502, 504] : [502]).toContain(answer.statusCode);
      expect(answer.json()).toMatchObject({ message: expect.stringMatching(/\w+/) });
    });
  },
);
