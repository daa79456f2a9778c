// @module-tag slow
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { dataPlaneOf, TEST_HEADERS, testApp } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';
import { type BrokerAnswer, KillableBroker } from '../../../../support/killable-broker.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const ROWS = JSON.stringify({
  resultTable: { dataSchema: { columnNames: ['a'], columnDataTypes: ['INT'] }, rows: [[1], [2], [3]] },
  exceptions: [],
  tablesQueried: ['events'],
});
/** As recorded from a broker of 0.11 while it was being stopped. */
const STOPPING_0_11 = JSON.stringify({
  exceptions: [
    { errorCode: 425, message: 'java.lang.RuntimeException: Channel for server: 127.0.0.1_O is inactive' },
    { errorCode: 427, message: '2 servers [127.0.0.1_O, 127.0.0.1_O] not responded' },
  ],
  numServersQueried: 2,
  numServersResponded: 0,
});
/** As recorded from a broker of 1.5.1 while it was being stopped. */
const STOPPING_1_5 = JSON.stringify({
  resultTable: null,
  exceptions: [
    {
      errorCode: 200,
      message:
        'QueryExecutionError: Task java.util.concurrent.CompletableFuture$AsyncSupply@1bd82a06 rejected from java.util.concurrent.ThreadPoolExecutor@5fc1f6a3[Terminated, pool size = 0, active threads = 0, queued tasks = 0, completed tasks = 61]',
    },
  ],
});

/** As recorded from the multi-stage engine of a broker of 1.5.1 while it was being stopped. */
const STOPPING_MULTISTAGE = JSON.stringify({
  numRowsResultSet: 0,
  partialResult: true,
  exceptions: [
    {
      message:
        'UnknownError: Task java.util.concurrent.FutureTask@39244cc7[Not completed, task = org.apache.pinot.spi.query.QueryThreadContext$1$$Lambda$1273/0x00007fbf21876d30@5aa2385b] rejected from java.util.concurrent.ThreadPoolExecutor@30f8a0c3[Shutting down, pool size = 1, active threads = 1, queued tasks = 0, completed tasks = 1]',
      errorCode: 1000,
    },
  ],
});

/** As recorded from a broker of 1.5.1 while it was being stopped. */
const LOST_CHANNEL_1_5 = JSON.stringify({
  resultTable: { dataSchema: { columnNames: ['count(*)'], columnDataTypes: ['LONG'] }, rows: [[10_000]] },
  partialResult: true,
  exceptions: [
    { errorCode: 425, message: 'Channel for server: 127.0.0.1_O is inactive' },
    { errorCode: 427, message: '1 servers [127.0.0.1_O] not responded' },
  ],
  numServersQueried: 2,
  numServersResponded: 1,
});

let controller: FakeEngine;
let brokers: [KillableBroker, KillableBroker];
let engine: Engine & KnownTables;
let app: FastifyInstance;
let url: string;

const send =
  (body: string | Buffer, headers: Readonly<Record<string, string>> = {}, status = 200): BrokerAnswer =>
  (_, response) =>
    void response.writeHead(status, { ...JSON_TYPE, ...headers }).end(body);
const answers = send(ROWS);

beforeAll(async () => {
  controller = new FakeEngine();
  await controller.listen();
  brokers = [new KillableBroker(answers), new KillableBroker(answers)];
});

afterAll(() => controller.close());

beforeEach(async () => {
  for (const broker of brokers) {
    broker.answer = answers;
    broker.queries = 0;
    await broker.start();
  }
  controller.serve(['events_OFFLINE']);
  controller.json('GET /tables/livebrokers', { events_OFFLINE: brokers.map(({ address }) => address) });
  engine = createEngine({ controllerUrls: [controller.url] });
  app = await testApp({ register: async () => undefined, parts: { dataPlane: dataPlaneOf(engine) } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await app.close();
  await engine.close();
  for (const broker of brokers) await broker.kill();
});

const request = (path = '/query/sql', init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, ...JSON_TYPE },
    body: JSON.stringify({ sql: 'SELECT a FROM events' }),
    ...init,
  });

async function ask(path?: string, init?: RequestInit): Promise<{ status: number; body: string }> {
  const response = await request(path, init);
  return { status: response.status, body: await response.text() };
}

describe('brokers that are killed under traffic', () => {
  const CALLERS = 16;
  const MIN_KILLS = 11;

  it.each([
    ['passed queries', '/query/sql', 2_000],
    // All results are kept in memory.
    ['paginated queries', '/query/sql?doPaginate=true', 500],
  ])('cause no failed answer of %s', async (_, path, queries) => {
    for (const broker of brokers) broker.answer = slowly;
    const seen = new Map<string, number>();
    const done = Array.from({ length: CALLERS }, () => 0);
    const load = { left: queries };
    let kills = 0;
    const goesOn = (): boolean => load.left > 0 || kills < MIN_KILLS;
    const caller = async (index: number): Promise<void> => {
      for (; goesOn(); load.left--) {
        const { status, body } = await ask(path);
        const complete = status === 200 && body.includes('[[1],[2],[3]]');
        const key = complete ? '200' : `${status} ${body.replace(/"timestamp":"[^"]+",/, '').slice(0, 300)}`;
        seen.set(key, (seen.get(key) ?? 0) + 1);
        done[index] = (done[index] ?? 0) + 1;
      }
      done[index] = Infinity;
    };
    /** No query may run during two kills: there are only two brokers. */
    const everyCallerGoesOn = async (): Promise<void> => {
      const wanted = done.map((count) => count + 2);
      while (done.some((count, index) => count < (wanted[index] as number))) await sleep(1);
    };
    const callers = Promise.all(done.map((_count, index) => caller(index)));
    while (goesOn()) {
      const broker = brokers[kills++ % 2] as KillableBroker;
      await sleep(kills % 7);
      await broker.kill();
      await sleep(kills % 5);
      await broker.start();
      await everyCallerGoesOn();
    }
    await callers;
    expect([...seen.keys()]).toEqual(['200']);
    expect(seen.get('200')).toBeGreaterThanOrEqual(queries);
    expect(kills).toBeGreaterThanOrEqual(MIN_KILLS);
  });
});

/** In three pieces, so that a broker can be killed before, within and after an answer. */
const slowly: BrokerAnswer = async (_, response) => {
  await sleep(1);
  response.writeHead(200, JSON_TYPE);
  response.write(ROWS.slice(0, 40));
  await sleep(1);
  response.write(ROWS.slice(40, 60));
  await sleep(1);
  response.end(ROWS.slice(60));
};

describe('a response of a broker that is stopping', () => {
  it.each([
    ['of 0.11', send(STOPPING_0_11)],
    [
      'of 0.11, without a length',
      ((_, response) => {
        response.writeHead(200, JSON_TYPE);
        response.write(STOPPING_0_11.slice(0, 50));
        response.end(STOPPING_0_11.slice(50));
      }) satisfies BrokerAnswer,
    ],
    ['of 1.5', send(STOPPING_1_5, { 'x-pinot-error-code': '200' })],
    ['of 1.5, multi-stage engine', send(STOPPING_MULTISTAGE, { 'x-pinot-error-code': '1000' })],
    ['of 1.5, compressed', send(gzipSync(STOPPING_1_5), { 'x-pinot-error-code': '200', 'content-encoding': 'gzip' })],
    ['of 1.5, by its status', send(STOPPING_1_5, { 'x-pinot-error-code': '200' }, 500)],
    ['of 1.5, where one server had answered already', send(LOST_CHANNEL_1_5, { 'x-pinot-error-code': '425' })],
    [
      'that breaks off',
      ((_, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': ROWS.length });
        response.write(ROWS.slice(0, 50), () => response.destroy());
      }) satisfies BrokerAnswer,
    ],
  ])('%s is replaced by that of another broker', async (_, stopping) => {
    brokers[0].answer = stopping;
    for (let i = 0; i < 4; i++) expect(await ask()).toEqual({ status: 200, body: ROWS });
    // After the first such response the broker is tried last.
    expect(brokers.map(({ queries }) => queries)).toEqual([1, 4]);
  });

  it.each([
    ['503 without a cause', send('', {}, 503)],
    ['500 with a page', send('<html>', { 'content-type': 'text/html' }, 500)],
  ])('%s is replaced, too, and the broker is not avoided', async (_, failing) => {
    brokers[0].answer = failing;
    for (let i = 0; i < 4; i++) expect(await ask()).toEqual({ status: 200, body: ROWS });
    // Every other query begins with it.
    expect(brokers.map(({ queries }) => queries)).toEqual([2, 4]);
  });

  it('is forwarded if every broker responds so', async () => {
    for (const broker of brokers) broker.answer = send(STOPPING_0_11);
    expect(await ask()).toEqual({ status: 200, body: STOPPING_0_11 });
    expect(brokers.map(({ queries }) => queries)).toEqual([1, 1]);
  });

  it('is forwarded if the other brokers are unreachable', async () => {
    brokers[0].answer = send(STOPPING_0_11);
    await brokers[1].kill();
    expect(await ask()).toEqual({ status: 200, body: STOPPING_0_11 });
  });

  it('is forwarded if there is no other broker', async () => {
    brokers[0].answer = send(STOPPING_0_11);
    controller.json('GET /tables/livebrokers', { events_OFFLINE: [brokers[0].address] });
    expect(await ask()).toEqual({ status: 200, body: STOPPING_0_11 });
  });
});

describe('a broker that rejects the credential of the gateway', () => {
  const rejects = send('HTTP 401 Unauthorized', {}, 401);

  it.each(['/query/sql', '/query/sql?doPaginate=true'])(
    'fails no query of %s while another one is well',
    async (path) => {
      brokers[0].answer = rejects;
      for (let i = 0; i < 8; i++) expect((await ask(path)).status).toBe(200);
      expect(brokers[0].queries).toBe(1);
    },
  );

  it('is an error that names the credential if all of them do', async () => {
    for (const broker of brokers) broker.answer = rejects;
    const { status, body } = await ask();
    expect([status, body]).toEqual([502, expect.stringContaining('the engine rejects the credential of the gateway')]);
  });
});

it('a broker that has started since the list was read is tried when all known ones failed', async () => {
  controller.json('GET /tables/livebrokers', { events_OFFLINE: [brokers[0].address] });
  expect(await ask()).toEqual({ status: 200, body: ROWS });
  controller.json('GET /tables/livebrokers', { events_OFFLINE: [brokers[1].address] });
  await sleep(300);
  await brokers[0].kill();
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(
    Array.from({ length: 3 }, () => ({ status: 200, body: ROWS })),
  );
  expect(brokers[1].queries).toBe(3);
});

describe('a response after which no other broker is tried', () => {
  const error = (errorCode: number, message: string, more: object = {}) =>
    JSON.stringify({ exceptions: [{ errorCode, message }], numServersResponded: 1, ...more });

  it.each([
    ['the query timed out', error(250, 'ExecutionTimeoutError', { numServersResponded: 0 })],
    ['a server has no memory left', error(245, 'ServerResourceLimitExceededError', { numServersResponded: 0 })],
    ['a full queue', error(200, 'rejected from java.util.concurrent.ThreadPoolExecutor@1f[Running, pool size = 8]')],
    ['an error of the query', error(150, 'SQLParsingError')],
    ['rows with the words of an error', JSON.stringify({ rows: [[STOPPING_0_11]], exceptions: [] })],
    ['exceptions of another form', '{"exceptions":[{}],"exceptions":"425"}'],
    ['an exception that is no object', '{"exceptions":[{"errorCode":150},5]}'],
    ['no JSON', `"exceptions":[{ ${STOPPING_0_11.slice(5)}`],
  ])('%s', async (_, body) => {
    for (const broker of brokers) broker.answer = send(body);
    expect(await ask()).toEqual({ status: 200, body });
    expect(brokers[0].queries + brokers[1].queries).toBe(1);
  });

  it('begins with more than is held back', async () => {
    const long = `${ROWS.slice(0, 40)}${' '.repeat(256 * 1024)}`;
    const passedOn = Promise.withResolvers<void>();
    for (const broker of brokers) {
      broker.answer = (__, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': long.length + 1 });
        response.write(long);
        void passedOn.promise.then(() => response.destroy());
      };
    }
    const answer = await request();
    expect(answer.status).toBe(200);
    passedOn.resolve();
    await expect(answer.text()).rejects.toThrow('terminated');
    expect(brokers[0].queries + brokers[1].queries).toBe(1);
  });
});

describe('an answer that breaks off behind what is held back', () => {
  const MANY = Array.from({ length: 20_000 }, (_, index) => `[${index}]`).join(',');
  const LONG = ROWS.replace('[1],[2],[3]', MANY);
  /** Ends the connection after some bytes. */
  const breaksOff =
    (bytes: number): BrokerAnswer =>
    (_, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': LONG.length });
      response.write(LONG.slice(0, bytes), () => setImmediate(() => response.destroy()));
    };
  const PAGINATED = '/query/sql?doPaginate=true&numRows=2';

  it.each([66_000, LONG.length - 200])(
    'is asked for again if it is stored for pages: after %i bytes',
    async (bytes) => {
      expect(LONG.length).toBeGreaterThan(100_000);
      brokers[0].answer = breaksOff(bytes);
      brokers[1].answer = send(LONG);
      for (let i = 0; i < 3; i++) {
        const { status, body } = await ask(PAGINATED);
        expect([status, JSON.parse(body)]).toMatchObject([200, { numRowsResultSet: 20_000, numRows: 2 }]);
      }
      // After the first such response the broker is tried last.
      expect(brokers.map(({ queries }) => queries)).toEqual([1, 3]);
    },
  );

  it('is an error if the brokers break off three answers', async () => {
    for (const broker of brokers) broker.answer = breaksOff(70_000);
    expect((await ask(PAGINATED)).status).toBe(502);
    expect(brokers[0].queries + brokers[1].queries).toBe(3);
  });

  it('is not asked for again if it is no JSON', async () => {
    for (const broker of brokers) broker.answer = send(`${LONG.slice(0, 90_000)}]]]}`);
    expect((await ask(PAGINATED)).status).toBe(502);
    expect(brokers[0].queries + brokers[1].queries).toBe(1);
  });

  it('makes its broker the last one that is asked, also where the answer was passed on', async () => {
    brokers[0].answer = breaksOff(LONG.length - 200);
    brokers[1].answer = send(LONG);
    await expect(ask()).rejects.toThrow('terminated');
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200);
    expect(brokers.map(({ queries }) => queries)).toEqual([1, 3]);
  });
});

it('the query of a client that disconnects during the response is not repeated', async () => {
  const left = new AbortController();
  brokers[0].answer = (_, response) => {
    response.writeHead(200, JSON_TYPE);
    response.write(ROWS.slice(0, 40), () => setTimeout(() => left.abort(), 20));
  };
  await expect(ask('/query/sql', { signal: left.signal })).rejects.toThrow('abort');
  await sleep(100);
  expect(brokers.map(({ queries }) => queries)).toEqual([1, 0]);
});
