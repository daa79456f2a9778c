import type { IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Srn } from '../../../../src/access/policy/srn.ts';
import { formatSrn } from '../../../../src/access/policy/srn.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import { readTarget } from '../../../../src/api/server/request/target.ts';
import { HttpError } from '../../../../src/api/server/errors.ts';
import { createLogger } from '../../../../src/platform/logging.ts';
import { authorizerBy, dataPlaneOf, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeEngine, isListing } from '../../../support/fake-engine.ts';

const fake = { engine: new FakeEngine() };
let app: FastifyInstance;
let asked: string[];
let allowed: (action: string, resource: string) => boolean;

async function start(): Promise<void> {
  fake.engine = new FakeEngine();
  await fake.engine.listen();
  fake.engine.serve(['events_OFFLINE', 'Secret_REALTIME', 'sales.orders_OFFLINE']);
  const engine = createEngine({
    controllerUrls: [fake.engine.url],
    credential: { header: () => 'Basic gateway', refused: () => undefined },
  });
  asked = [];
  const authorizer = authorizerBy((_principal, action, resource: Srn) => {
    const name = resource.levels.length === 0 ? 'cluster' : formatSrn(resource);
    asked.push(`${action} ${name}`);
    return allowed(action, name);
  });
  app = await testApp({
    authorizer,
    parts: { dataPlane: dataPlaneOf(engine) },
    register: async (scope) => {
      scope.addHook('onClose', () => engine.close());
      await engineProxy(scope, { engine });
    },
  });
}

beforeEach(async () => {
  allowed = (_action, resource) => resource === 'srn2:table#events';
  await start();
});

afterEach(async () => {
  await app.close();
  await fake.engine.close();
});

const last = () => fake.engine.seen.at(-1);
const query = (sql: string, more: object = {}, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: '/query',
    headers: { 'content-type': 'application/json', ...headers },
    payload: JSON.stringify({ sql, ...more }),
  });

describe('SQL', () => {
  it('forwards an allowed query in a new request, with the gateway’s credential', async () => {
    const answer = await query('select 1 from events', { queryOptions: 'timeoutMs=5' });
    expect(answer.statusCode).toBe(200);
    expect(last()).toMatchObject({ method: 'POST', url: '/query' });
    expect(JSON.parse(last()?.body ?? '')).toEqual({ sql: 'SELECT 1 FROM "events"', queryOptions: 'timeoutMs=5' });
    expect(last()?.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(last()?.headers.authorization).toBe('Basic gateway');
  });

  it.each([
    ['another table', 'select * from Secret'],
    ['another spelling of it', 'select * from SECRET'],
    ['a type of it', 'select * from secret_REALTIME'],
    ['one within a subquery', 'select * from events where a in (select b from Secret)'],
    ['a table that is not known', 'select * from nothing'],
  ])('rejects %s before the engine gets it', async (_what, sql) => {
    const answer = await query(sql);
    expect(answer.statusCode).toBe(403);
    expect(fake.engine.seen.map((request) => request.url)).not.toContain('/query');
  });

  it('decides on the table with the engine’s spelling', async () => {
    allowed = () => true;
    await query('select * from SECRET join EVENTS on 1=1');
    expect(asked).toEqual(['Query srn2:table#Secret', 'Query srn2:table#events']);
  });
});

describe('the controller’s interface', () => {
  it('requires the engine’s action on the table', async () => {
    expect((await app.inject('/tables/events/size?detailed=false')).statusCode).toBe(200);
    expect(asked).toEqual(['GetSize srn2:table#events']);
    expect(last()?.url).toBe('/tables/events/size?detailed=false');
  });

  it.each([
    ['GET', '/tables/Secret/size'],
    ['GET', '/tables/Secret_REALTIME'],
    ['GET', '/tables/secret/size'],
    ['GET', '/segments/Secret'],
    ['DELETE', '/tables/Secret'],
    ['GET', '/zk/get?path=/x'],
    ['GET', '/something/new'],
    ['GET', '/'],
    ['HEAD', '/tables/Secret/size'],
    ['GET', '/TABLES/events'],
    ['POST', '/v2/segments?tableName=Secret'],
    ['POST', '/v2/segments'],
    ['POST', '/query/timeseries'],
    ['GET', '/timeseries/api/v1/query_range'],
  ] as const)('rejects %s %s', async (method, url) => {
    expect((await app.inject({ method, url })).statusCode).toBe(403);
    expect(fake.engine.seen.filter((request) => !isListing(request))).toEqual([]);
  });

  it.each([
    '/tables/events%2F..%2FSecret',
    '/tables//Secret',
    '/tables/events;x=1',
    '/tables/events%3Bx',
    '/tables/events%5c..',
    '/tables/%c0%ae',
    '/tables/a%00',
    '/tables/a.b.c',
    '/v2/segments?tableName=events&tableName=Secret',
    '/tables/events?x=%zz',
  ])('rejects the ambiguous URL %s', async (url) => {
    expect((await app.inject({ method: url.startsWith('/v2') ? 'POST' : 'GET', url })).statusCode).toBe(400);
    expect(fake.engine.seen.filter((request) => !isListing(request))).toEqual([]);
  });

  it('forwards bodies, headers and status, but no credential and no hop-by-hop header', async () => {
    allowed = () => true;
    fake.engine.answers.set('PUT /zk/put', (_request, response) => {
      response.writeHead(418, { 'x-pinot': 'y', 'keep-alive': 'timeout=5', 'content-type': 'text/plain' });
      response.end('no');
    });
    const answer = await app.inject({
      method: 'PUT',
      url: '/zk/put',
      payload: 'abc',
      headers: { cookie: 'a=b', 'x-http-method-override': 'DELETE', 'content-type': 'text/plain' },
    });
    expect([answer.statusCode, answer.body, answer.headers['x-pinot']]).toEqual([418, 'no', 'y']);
    expect(last()).toMatchObject({ method: 'PUT', body: 'abc' });
    expect(last()?.headers).not.toHaveProperty('cookie');
    expect(last()?.headers).not.toHaveProperty('x-http-method-override');
    expect(last()?.headers).toMatchObject({ authorization: 'Basic gateway' });
  });
});

describe('a raw URL', () => {
  it.each([
    '/tables/../zk/get',
    '/tables/%2e%2e/zk',
    '/tables/./x',
    '/tables/é',
    'http://other/tables',
    '//tables',
    '/a#b',
  ])('is rejected if it has another target: %s', (url) => expect(() => readTarget(url)).toThrow(HttpError));

  it('is parsed into its parts', () => {
    expect(readTarget('/segments/my%20table/a%25b/?x=1')).toMatchObject({ segments: ['segments', 'my table', 'a%b'] });
    expect(readTarget('/').segments).toEqual([]);
  });
});

describe('the gateway’s own credential', () => {
  it('is rejected with 401 by the engine: the caller gets 502', async () => {
    fake.engine.json('GET /tables/events/size', {}, 401);
    fake.engine.json('GET /tables', {}, 401);
    fake.engine.json('POST /query/sql', {}, 401);
    for (const url of ['/tables/events/size', '/tables']) expect((await app.inject(url)).statusCode).toBe(502);
    for (const url of ['/query/sql', '/query/sql?doPaginate=true']) {
      const answer = await app.inject({ method: 'POST', url, payload: { sql: 'SELECT a FROM events' } });
      expect(answer.statusCode).toBe(502);
      expect(answer.json()).toMatchObject({ message: expect.stringContaining('the credential of the gateway') });
    }
  });
});

describe('lists', () => {
  it('name the gateway as the broker', async () => {
    const answer = await app.inject({ url: '/tables/livebrokers', headers: { host: 'gateway.example:8080' } });
    expect(answer.json()).toEqual({
      events_OFFLINE: [
        { host: 'gateway.example', port: 8080, instanceName: 'Broker_gateway.example_8080', grpcPort: -1 },
      ],
    });
  });
});

describe('a client that disconnects during an upload', () => {
  it('ends the upload to the engine, is logged, and frees its place', async () => {
    await app.close();
    const engine = createEngine({ controllerUrls: [fake.engine.url], limits: { connections: 1, queue: 1 } });
    const records: Record<string, unknown>[] = [];
    const observed: number[] = [];
    app = await testApp({
      register: async (scope) => {
        scope.addHook('onClose', () => engine.close());
        await engineProxy(scope, { engine });
      },
      parts: {
        logger: createLogger('info', { write: (line) => void records.push(JSON.parse(line) as (typeof records)[0]) }),
        observe: (_method, _route, status) => void observed.push(status),
      },
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<number>();
    fake.engine.server.prependListener('request', (incoming: IncomingMessage) => {
      if (incoming.method !== 'POST') return;
      let received = 0;
      incoming.on('data', (chunk: Buffer) => {
        received += chunk.length;
        begun.resolve();
      });
      incoming.once('close', () => aborted.resolve(incoming.complete ? -1 : received));
      incoming.on('error', () => undefined);
    });
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(
      `POST /v2/segments?tableName=events HTTP/1.1\r\nhost: x\r\nauthorization: ${TEST_HEADERS.authorization}\r\n` +
        'content-type: application/octet-stream\r\ncontent-length: 10000000\r\n\r\n',
    );
    socket.write(Buffer.alloc(500_000));
    await begun.promise;
    socket.destroy();
    expect(await aborted.promise).toBeGreaterThan(0);
    await expect
      .poll(() => records.filter(({ msg }) => msg === 'broken off'))
      .toMatchObject([{ status: 499, aborted: true, path: '/v2/segments' }]);
    expect(observed).toEqual([499]);
    expect(records.filter(({ level }) => level === 'error')).toEqual([]);
    // The only engine connection is free again.
    await expect.poll(async () => (await app.inject('/cluster/info')).statusCode).toBe(200);
  });
});
