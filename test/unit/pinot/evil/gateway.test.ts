// @module-tag slow
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../src/pinot/connection.ts';
import type { Engine } from '../../../../src/pinot/types.ts';
import { memoryQueue } from '../../../../src/api/server/admission/memory.ts';
import { TEST_HEADERS, testApp } from '../../../support/app.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { memoryQueryService } from '../../../support/query-service.ts';
import { BODIES } from './bodies.ts';
import { EvilEngine } from './evil-engine.ts';
import { HEADS } from './heads.ts';
import type { Scenario } from './scenario.ts';
import { STAGES } from './stages.ts';

const SQL = { sql: 'SELECT * FROM events' };

interface Gateway {
  readonly app: FastifyInstance;
  readonly broker: EvilEngine;
  readonly close: () => Promise<void>;
}

/** A gateway whose only broker misbehaves. @param timeoutMs of waiting for the broker */
async function startGateway(timeoutMs: number): Promise<Gateway> {
  const broker = await new EvilEngine(() => undefined).listen();
  const controller = new FakeEngine();
  await controller.listen();
  controller.serve(['events_OFFLINE']);
  const limits = { headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs };
  const engine: Engine = createEngine({ controllerUrls: [controller.url], brokerUrls: [broker.url], limits });
  const service = await memoryQueryService(engine);
  const app = await testApp({
    register: service.register,
    parts: { dataPlane: { ...service.data, memory: memoryQueue() } },
  });
  const close = async (): Promise<void> => {
    await app.close();
    await service.close();
    await engine.close();
    await controller.close();
    broker.close();
  };
  return { app, broker, close };
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

describe.each([
  // Short only where the time-out is the expected failure: on a busy machine it could come before another one.
  { query: '', scenarios: SCENARIOS.filter(timesOut), timeoutMs: 100 },
  { query: '', scenarios: SCENARIOS.filter((scenario) => !timesOut(scenario)), timeoutMs: 30_000 },
  { query: '?doPaginate=true', scenarios: SCENARIOS.filter(timesOut), timeoutMs: 100 },
  { query: '?doPaginate=true', scenarios: SCENARIOS.filter((scenario) => !timesOut(scenario)), timeoutMs: 30_000 },
])(
  '/query/sql$query of a gateway (time-out $timeoutMs ms) is 502 or 504 with the reason when its broker sends',
  ({ query, scenarios, timeoutMs }) => {
    let gateway: Gateway;
    beforeAll(async () => {
      gateway = await startGateway(timeoutMs);
    });
    afterAll(() => gateway?.close());

    it.each(scenarios)('$name', async (scenario) => {
      gateway.broker.play = scenario.play;
      const answer = await gateway.app.inject({
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
