import { expect, it } from 'vitest';
import type { PooledEndpoint } from '../../../src/pinot/endpoint.ts';
import { HangWatch, HungEndpointError } from '../../../src/pinot/hang-watch.ts';
import { EngineError, type EngineRequest } from '../../../src/pinot/types.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const URL_OF_ONE = 'http://one:9000';

/** An endpoint whose `GET /health` responds after a time, and requests that never get a response. */
function setUp(healthMs: number) {
  const clock = new FakeClock();
  let probes = 0;
  const request = ({ headersTimeoutMs = 0 }: EngineRequest) => {
    probes += 1;
    return new Promise((resolve, reject) => {
      clock.schedule(() => resolve({ body: { on: () => undefined, resume: () => undefined } }), healthMs);
      clock.schedule(() => reject(new EngineError('timeout', 'no response')), headersTimeoutMs);
    });
  };
  const endpoint = { url: URL_OF_ONE, request, close: async () => undefined } as unknown as PooledEndpoint;
  const watch = new HangWatch(clock, [endpoint]);
  /** Sends a request, and tells whether it was ended because the endpoint hangs. */
  const send = (headersTimeoutMs: number) => {
    const sent = { hung: false };
    const never = ({ signal }: EngineRequest) =>
      new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    void watch
      .ask(endpoint, { method: 'GET', path: '/tables', headersTimeoutMs }, never)
      .catch((error: unknown) => (sent.hung = error instanceof HungEndpointError));
    return sent;
  };
  return { clock, send, probes: () => probes };
}

it('shares a probe, which does not end with the request of the least time', async () => {
  const { clock, send, probes } = setUp(600);
  const patient = send(120_000);
  await clock.advance(1_890);
  // Probes after 100 ms, and waits for 100 ms.
  const hasty = send(400);
  await clock.advance(100);
  expect(probes()).toBe(1);
  await clock.advance(100);
  expect({ hasty: hasty.hung, patient: patient.hung }).toEqual({ hasty: true, patient: false });
  await clock.advance(10_000);
  expect(patient.hung).toBe(false);
  expect(probes()).toBe(1);
});

it('ends all requests that share a probe without a response, each after the time that it can wait', async () => {
  const { clock, send, probes } = setUp(Number.MAX_SAFE_INTEGER);
  const patient = send(120_000);
  await clock.advance(1_890);
  const hasty = send(400);
  await clock.advance(200);
  expect({ hasty: hasty.hung, patient: patient.hung }).toEqual({ hasty: true, patient: false });
  await clock.advance(2_000);
  expect(patient.hung).toBe(true);
  expect(probes()).toBe(1);
});
