import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DataPlane } from '../../../../../src/api/queries/data-plane/data-plane.ts';
import { HttpError } from '../../../../../src/api/server/errors.ts';
import { classOf } from '../../../../../src/api/server/request/classify.ts';
import { createLogger } from '../../../../../src/platform/logging.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const TURN_MS = 50;

/** A data plane that rejects each request as overloaded, after some time; and how long each one had waited. */
function overloaded() {
  const clock = new FakeClock();
  const waits: number[] = [];
  const refuseOverload = (waitedMs: number): void => {
    waits.push(waitedMs);
    clock.jump(TURN_MS);
    throw new HttpError(503, 'overloaded');
  };
  const checks = { refuseOverload, bodyBytes: 0, json: {} };
  const exchange = {
    clock,
    logger: createLogger('silent'),
    headers: {},
    headerList: [],
    record: () => undefined,
    trust: undefined,
  };
  const plane = new DataPlane({} as never, checks as never, exchange as never);
  const serve = (): ServerResponse => {
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method: 'GET', url: '/query/0a1b2c3d-00112233445566778899aabbccddee/results?offset=0' });
    const response = new ServerResponse(request);
    plane.serve(request, response, classOf(request));
    return response;
  };
  return { serve, waits };
}

it('spreads requests over turns of the event loop, and tells how long each one waited', async () => {
  const { serve, waits } = overloaded();
  const responses = [serve(), serve(), serve()];
  expect(waits).toEqual([0]);
  await expect.poll(() => waits.length).toBe(3);
  expect(waits).toEqual([0, 0, TURN_MS]);
  expect(responses.map(({ statusCode }) => statusCode)).toEqual([503, 503, 503]);
});

it('does not begin a request whose client has disconnected meanwhile', async () => {
  const { serve, waits } = overloaded();
  serve();
  serve().destroy();
  serve();
  await expect.poll(() => waits.length).toBe(2);
  await setImmediate();
  await setImmediate();
  expect(waits).toHaveLength(2);
});
