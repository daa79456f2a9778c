import { afterAll, beforeAll, expect, it } from 'vitest';
import { sharedPinot } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

// The gateway creates the engine's request itself, always as a POST of JSON: a real Pinot must respond as to the client's own form.
const SQL = 'SELECT city, count(*) FROM orders GROUP BY city ORDER BY city LIMIT 5';

let pinot: Awaited<ReturnType<typeof sharedPinot>>;
let gateway: Standalone;

beforeAll(async () => {
  pinot = await sharedPinot();
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
});

afterAll(() => gateway.stop());

interface Answer {
  readonly resultTable?: object;
  readonly exceptions: readonly object[];
  readonly traceInfo?: object;
}

async function directly(url: string, body?: object): Promise<Answer> {
  const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(url, init);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Answer;
}

async function byGateway(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await gateway.call(method, path, body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Answer;
}

const inAddress = (path: string, more = ''): string => `${path}?sql=${encodeURIComponent(SQL)}${more}`;

it.each([
  ['/query/sql', 'brokerUrl'],
  ['/sql', 'controllerUrl'],
] as const)('GET and POST %s return the response of the engine', async (path, runner) => {
  const base = pinot[runner];
  const expected = await directly(base + inAddress(path));
  expect(expected.resultTable).toBeDefined();
  for (const answer of [
    await directly(base + path, { sql: SQL }),
    await byGateway('GET', inAddress(path)),
    await byGateway('POST', path, { sql: SQL }),
    await byGateway('POST', path, { sql: SQL, queryOptions: 'timeoutMs=10000', trace: false }),
    await byGateway('POST', path, { sql: SQL, trace: 'false' }),
  ]) {
    expect([answer.resultTable, answer.exceptions]).toEqual([expected.resultTable, expected.exceptions]);
  }
});

it('a trace can be requested by GET and by POST', async () => {
  const asked = [
    await byGateway('GET', inAddress('/query/sql', '&trace=true')),
    await byGateway('POST', '/query/sql', { sql: SQL, trace: true }),
    await byGateway('POST', '/query/sql', { sql: SQL, trace: 'true' }),
    await directly(pinot.brokerUrl + inAddress('/query/sql', '&trace=true')),
  ];
  for (const { traceInfo } of asked) expect(Object.keys(traceInfo ?? {}).length).toBeGreaterThan(0);
});
