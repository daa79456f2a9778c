import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Authorizer } from '../../../src/access/authorizer.ts';
import { formatSrn } from '../../../src/access/srn.ts';
import { createEngine } from '../../../src/engine/connection.ts';
import type { Engine, KnownTables } from '../../../src/engine/types.ts';
import type { AppParts } from '../../../src/http/app.ts';
import { Limits, type LimitsOptions } from '../../../src/http/limits.ts';
import { observeRequests } from '../../../src/http/metrics.ts';
import { createQueryService, type QueryService } from '../../../src/http/query/service.ts';
import { createLogger } from '../../../src/logging.ts';
import { DEFAULT_PAGINATION_SETTINGS, DEFAULT_RESULT_STORE_SETTINGS } from '../../../src/query/settings.ts';
import { authorizerBy, testApp, TEST_HEADERS } from '../../support/app.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

const PATH = 'POST /query/sql';
const ANSWER = { resultTable: { rows: [[1]] }, exceptions: [], tablesQueried: ['events'] };

let fake: FakeEngine;
let engine: Engine & KnownTables;
let service: QueryService;
let app: FastifyInstance;
let registry: Registry;
/** What the lane and the long way asked about. */
let asked: { lane: string[]; long: string[] };
let records: Record<string, unknown>[];

async function start(parts: Partial<AppParts> = {}): Promise<void> {
  registry = new Registry();
  asked = { lane: [], long: [] };
  records = [];
  const authorizer = (list: string[]): Authorizer =>
    authorizerBy((_principal, _action, resource) => {
      list.push(formatSrn(resource));
      return formatSrn(resource) === 'srn2:table#events';
    });
  service = await createQueryService({
    engine,
    identity: { id: 'gateway', host: '127.0.0.1', port: 1 },
    store: { ...DEFAULT_RESULT_STORE_SETTINGS, protocol: 'memory' },
    settings: () => DEFAULT_PAGINATION_SETTINGS,
    registry,
    log: createLogger('silent'),
    now: Date.now,
    monotonic: () => performance.now(),
    random: (bytes) => Buffer.alloc(bytes, 'a'),
    timers: { every: () => () => undefined },
  });
  const write = (line: string) => void records.push(JSON.parse(line) as Record<string, unknown>);
  app = await testApp({
    authorizer: authorizer(asked.long),
    register: service.register,
    parts: {
      queryLane: { engine, uncounted: authorizer(asked.lane) },
      logger: createLogger('info', { write }),
      observe: observeRequests(registry),
      ...parts,
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
}

async function stop(): Promise<void> {
  await app.close();
  await service.close();
}

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE', 'secret_OFFLINE']);
  fake.json(PATH, ANSWER);
  engine = createEngine({
    controllerUrls: [fake.url],
    credential: { header: () => 'Basic gateway', refused: () => undefined },
  });
  await engine.actualTables(['events']);
  await start();
});

afterEach(async () => {
  await stop();
  await engine.close();
  await fake.close();
});

const url = (path = '/query/sql') => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}${path}`;
const post = (body: string | object, headers: Record<string, string> = {}, path?: string) =>
  fetch(url(path), {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const EVENTS = { sql: 'SELECT * FROM events' };
const asHeaders = ({ headers }: Response) =>
  Object.fromEntries([...headers].map(([name, value]) => [name, name === 'date' ? 'some' : value]));
const accessRecords = () => records.filter(({ msg }) => msg === 'answered' || msg === 'broken off');
const toEngine = () => fake.seen.filter(({ url }) => url.startsWith('/query'));

/** A whole request by hand, for a client that can leave. */
function dial(head: string, body: string): ReturnType<typeof connect> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `${head}\r\nhost: gateway\r\nauthorization: ${TEST_HEADERS.authorization}\r\ncontent-type: application/json\r\n`,
  );
  socket.write(body);
  return socket;
}

describe('the short way of a query', () => {
  it('answers as the long one, with its headers, record and metric', async () => {
    const short = await post(EVENTS, { 'x-request-id': 'mine' });
    expect([short.status, await short.json()]).toEqual([200, ANSWER]);
    expect(asked.lane).toEqual(['srn2:table#events']);
    const long = await post(EVENTS, { 'x-request-id': 'mine', database: 'default' });
    expect([long.status, await long.json()]).toEqual([200, ANSWER]);
    expect(asked.lane).toHaveLength(1);
    expect(asHeaders(short)).toEqual(asHeaders(long));
    expect(short.headers.get('content-security-policy')).toMatch(/none/);
    await expect.poll(() => accessRecords().length).toBe(2);
    const [first, second] = accessRecords().map(({ ms: _ms, time: _time, ...record }) => record);
    expect(first).toEqual(second);
    expect(first).toMatchObject({
      reqId: 'mine',
      path: '/query/sql',
      status: 200,
      principal: 'srn2:user#alice@example.com',
    });
    expect(await registry.metrics()).toContain(
      'olap_warden_http_request_duration_seconds_count{method="POST",route="/query/sql",status="200"} 2',
    );
  });

  it('sends the same to the engine, with the gateway’s credential', async () => {
    const body = '{ "sql":  "SELECT * FROM events -- é" }';
    await (await post(body, { cookie: 'a=b', 'x-mine': '1' }, '/query/sql?timeoutMs=5')).text();
    await (await post(body, { cookie: 'a=b', 'x-mine': '1', database: 'default' }, '/query/sql?timeoutMs=5')).text();
    const [short, long] = toEngine();
    expect(asked.lane).toHaveLength(1);
    expect(short?.body).toBe(body);
    expect(short).toEqual({ ...long, headers: { ...long?.headers, database: undefined } });
    expect(short?.headers).toMatchObject({ authorization: 'Basic gateway', 'x-mine': '1' });
    expect(short?.headers.cookie).toBeUndefined();
  });

  it.each([
    ['a wrong token', EVENTS, { authorization: 'Bearer wrong' }, 401],
    ['a forbidden table', { sql: 'SELECT * FROM secret' }, {}, 403],
    ['an allowed and a forbidden table', { sql: 'SELECT * FROM events JOIN secret ON events.a = secret.a' }, {}, 403],
    ['an unknown table', { sql: 'SELECT * FROM unknown' }, {}, 403],
    ['a text that cannot be understood', { sql: 'SELECT * FROM events; SELECT * FROM events' }, {}, 403],
    ['a body that is no JSON', 'SELECT * FROM events', {}, 400],
    ['a body without a query', { q: 1 }, {}, 400],
  ] as [string, string | object, Record<string, string>, number][])(
    'leaves %s to the long one',
    async (_what, body, headers, status) => {
      const answer = await post(body, headers);
      expect([answer.status, (await answer.json()) as object]).toMatchObject([status, { status, path: '/query/sql' }]);
      expect(toEngine()).toEqual([]);
      await expect.poll(() => accessRecords()).toMatchObject([{ status }]);
    },
  );

  it.each([
    ['doPaginate=true', {}],
    ['getCursor=true', {}],
    ['x=%31', {}],
    ['', { 'content-encoding': 'identity' }],
    ['', { 'x-http-method-override': 'GET' }],
    ['', { forward_table: 'events' }],
    ['', { 'content-type': 'text/plain' }],
  ] as [string, Record<string, string>][])('is not for `?%s` with %j', async (query, headers) => {
    const answer = await post(EVENTS, headers, `/query/sql${query && '?'}${query}`);
    await answer.text();
    expect(answer.status).toBe(200);
    expect([asked.lane.length, asked.long.length > 0]).toEqual([0, true]);
  });

  it('asks for the right each time, though it remembers texts', async () => {
    expect((await post(EVENTS)).status).toBe(200);
    const before = asked.lane.length;
    expect((await post(EVENTS)).status).toBe(200);
    expect(asked.lane.length).toBe(before + 1);
  });

  it('counts a decision once, whatever it is', async () => {
    await (await post(EVENTS)).text();
    expect(asked.long).toEqual(['srn2:table#events']);
    await (await post({ sql: 'SELECT * FROM secret' })).text();
    // By `decide` after `isAllowed`, as on the long way alone.
    expect(asked.long.slice(1)).toEqual(['srn2:table#secret', 'srn2:table#secret']);
  });

  it('keeps to the limits of its caller', async () => {
    await stop();
    const defaults: LimitsOptions['defaults'] = { requestsPerSecond: 1, concurrentQueries: 1 };
    await start({ callerLimits: new Limits({ defaults, rolesOf: () => [], now: () => 0 }) });
    const held = Promise.withResolvers<void>();
    fake.answers.set(PATH, (_request, response) => void held.promise.then(() => response.end('{}')));
    const first = post(EVENTS);
    await expect.poll(() => toEngine().length).toBe(1);
    const second = await post(EVENTS);
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
    held.resolve();
    expect((await first).status).toBe(200);
    fake.json(PATH, ANSWER);
    const statuses = [];
    for (let i = 0; i < 10; i++) statuses.push((await post(EVENTS)).status);
    expect(statuses).toContain(200);
    expect(statuses.at(-1)).toBe(429);
  });

  it('counts a request once, whichever way it goes in the end', async () => {
    await stop();
    await start({
      callerLimits: new Limits({ defaults: { requestsPerSecond: 1 }, rolesOf: () => [], now: () => 0 }),
    });
    for (let i = 0; i < 10; i++) expect((await post({ sql: 'SELECT * FROM secret' })).status).toBe(403);
    expect((await post(EVENTS)).status).toBe(429);
  });

  it('counts a query from its headers on, like the long way', async () => {
    await stop();
    await start({
      callerLimits: new Limits({ defaults: { concurrentQueries: 1 }, rolesOf: () => [], now: () => 0 }),
    });
    const slow = dial('POST /query/sql HTTP/1.1', 'content-length: 5000\r\n\r\n{');
    await expect.poll(async () => (await post(EVENTS)).status).toBe(429);
    slow.destroy();
    await expect.poll(async () => (await post(EVENTS)).status).toBe(200);
  });

  it('passes packed and chunked answers on', async () => {
    fake.answers.set(PATH, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      const bytes = gzipSync(JSON.stringify(ANSWER));
      response.write(bytes.subarray(0, 20));
      setTimeout(() => response.end(bytes.subarray(20)), 20);
    });
    const socket = dial(
      'POST /query/sql HTTP/1.1\r\nconnection: close',
      `content-length: 30\r\n\r\n${JSON.stringify(EVENTS)}`,
    );
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString('latin1');
    expect(text).toMatch(/content-encoding: gzip/);
    const start = bytes.indexOf(Buffer.from([0x1f, 0x8b]));
    expect(JSON.parse(gunzipSync(bytes.subarray(start)).toString())).toEqual(ANSWER);
  });

  it('refuses an answer that read another table, and logs the defect', async () => {
    fake.json(PATH, { ...ANSWER, tablesQueried: ['events', 'secret'] });
    const answer = await post(EVENTS);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringMatching(/read more tables/)]);
    expect(records.map(({ msg }) => msg)).toContain('defect: a query read tables that its caller was not asked about');
  });

  it('says so where the engine is away or refuses the gateway', async () => {
    fake.json(PATH, {}, 401);
    expect((await post(EVENTS)).status).toBe(502);
    fake.answers.set(PATH, (_request, response) => void response.destroy());
    const answer = await post(EVENTS);
    expect([answer.status, await answer.json()]).toMatchObject([502, { status: 502, path: '/query/sql' }]);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(asked.lane).toHaveLength(2);
  });
});

describe.each([
  ['the short way', ''],
  ['the long way', 'database: default\r\n'],
])('a client that leaves, %s', (_what, header) => {
  const BODY = JSON.stringify(EVENTS);
  const REQUEST = `content-length: ${BODY.length}\r\n${header}\r\n${BODY}`;

  it('in the middle of its answer is told of, and the engine is let go', async () => {
    let closed = 0;
    fake.answers.set(PATH, (_request, response) => {
      response.once('close', () => closed++);
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        if (!response.destroyed && response.write(Buffer.alloc(64 * 1024, ' '))) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    });
    const socket = dial('POST /query/sql HTTP/1.1', REQUEST);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await expect.poll(() => closed).toBe(1);
    await expect.poll(() => accessRecords()).toMatchObject([{ status: 200, aborted: true, path: '/query/sql' }]);
    expect(await registry.metrics()).toContain('_count{method="POST",route="/query/sql",status="499"} 1');
  });

  it('before its answer is told of, and the engine is let go', async () => {
    let closed = 0;
    fake.answers.set(PATH, (_request, response) => void response.once('close', () => closed++));
    const socket = dial('POST /query/sql HTTP/1.1', REQUEST);
    await expect.poll(() => toEngine().length).toBe(1);
    socket.destroy();
    await expect.poll(() => closed).toBe(1);
    await expect.poll(() => accessRecords()).toMatchObject([{ status: 499, aborted: true }]);
    // One that is not there is sent no error, and nothing is broken.
    await sleep(20);
    fake.json(PATH, ANSWER);
    expect((await post(EVENTS)).status).toBe(200);
  });

  it('in the middle of its query is told of, and nothing reaches the engine', async () => {
    const socket = dial('POST /query/sql HTTP/1.1', `content-length: 5000\r\n${header}\r\n${BODY}`);
    await sleep(50);
    socket.destroy();
    await expect.poll(() => accessRecords()).toMatchObject([{ status: 499, aborted: true }]);
    expect(toEngine()).toEqual([]);
  });
});

describe.each([
  ['the short way', ''],
  ['the long way', 'default'],
])('a caller who may get three rows a query, %s', (_what, database) => {
  const headers: Record<string, string> = database === '' ? {} : { database };
  const rows = (count: number) => ({
    ...ANSWER,
    resultTable: { rows: Array.from({ length: count }, (_, i) => [i, 'a]b']) },
  });

  beforeEach(async () => {
    await stop();
    const byCaller = { 'alice@example.com': { rowsPerQuery: 3 } };
    await start({ callerLimits: new Limits({ byCaller, rolesOf: () => [], now: () => 0 }) });
  });

  it('gets three', async () => {
    fake.json(PATH, rows(3));
    const answer = await post(EVENTS, { ...headers, 'accept-encoding': 'gzip' });
    expect([answer.status, await answer.json()]).toEqual([200, rows(3)]);
    expect(asked.lane).toHaveLength(database === '' ? 1 : 0);
    expect(toEngine()[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('is told of a fourth, and gets none', async () => {
    fake.json(PATH, rows(4));
    const answer = await post(EVENTS, headers);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      {
        message:
          'the answer holds more than the 3 rows that this caller may get a query: write `LIMIT 3` or less at its end',
      },
    ]);
    expect(records.map(({ msg }) => msg)).toContain('an answer was cut: it holds more rows than its caller may get');
  });

  it('never gets more of an answer that has begun', async () => {
    const [one, more] = ['[0]', `${',[1]'.repeat(3)},["${'x'.repeat(10)}"]]}}`];
    fake.answers.set(PATH, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`{"exceptions":[${' '.repeat(200_000)}],"resultTable":{"rows":[${one}`);
      setTimeout(() => response.end(more), 50);
    });
    const answer = await post(EVENTS, headers);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    await expect.poll(() => accessRecords()).toMatchObject([{ status: 200, cutFor: 400 }]);
    expect(await registry.metrics()).toContain('_count{method="POST",route="/query/sql",status="400"} 1');
  });

  it.each([
    ['SELECT * FROM events LIMIT 4', '`LIMIT 3`'],
    ['SELECT * FROM events LIMIT 10, 4', '`LIMIT 3`'],
    ['SELECT * FROM (SELECT * FROM events LIMIT 2) LIMIT 5 OFFSET 1', '`LIMIT 3`'],
    ['SELECT * FROM events FETCH FIRST 4 ROWS ONLY', '`LIMIT 3`'],
    ['SET useMultistageEngine = true; SELECT * FROM events', 'does not bound'],
    ['SELECT * FROM events OPTION(useMultistageEngine=true)', 'does not bound'],
  ])('is refused `%s` before the engine', async (sql, why) => {
    const answer = await post({ sql }, headers);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(why)]);
    expect(toEngine()).toEqual([]);
  });

  it.each([
    'SELECT * FROM events LIMIT 3',
    'SELECT * FROM events LIMIT 1000, 3',
    'SELECT * FROM (SELECT * FROM events LIMIT 100) LIMIT 2 OFFSET 50',
    'SET useMultistageEngine = true; SELECT * FROM events LIMIT 1',
    'SELECT count(*) FROM events',
  ])('may ask `%s`', async (sql) => {
    expect((await post({ sql }, headers)).status).toBe(200);
  });

  it('gets no answer that is packed or cannot be read', async () => {
    fake.answers.set(PATH, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify(rows(1))));
    });
    expect((await post(EVENTS, headers)).status).toBe(502);
    fake.answers.set(PATH, (_request, response) => void response.end('{"resultTable":{"rows":[[1}'));
    expect((await post(EVENTS, headers)).status).toBe(502);
  });

  it('gets no page of a stored result that holds more', async () => {
    fake.json(PATH, {
      ...rows(4),
      resultTable: {
        dataSchema: { columnNames: ['a', 'b'], columnDataTypes: ['INT', 'STRING'] },
        ...rows(4).resultTable,
      },
    });
    const answer = await post(EVENTS, headers, '/query/sql?doPaginate=true&numRows=1');
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('more than the 3 rows')]);
  });
});
