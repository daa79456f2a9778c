import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { FakeEngine, isListing } from '../../../support/fake-engine.ts';
import { proxyApp } from './proxy-app.ts';

let fake: FakeEngine;
let app: FastifyInstance;
let decisions: DecisionEngine;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['orders_OFFLINE']);
  ({ app, decisions } = await proxyApp(fake.url, 'pinot'));
  const notThere = fake.otherwise;
  fake.otherwise = (request, response) => {
    if (request.url.startsWith('/mytables')) response.writeHead(404).end('{"code":404}');
    else notThere(request, response);
  };
});
afterEach(async () => {
  await app.close();
  await fake.close();
});

function grant(actions: readonly string[], resources: readonly string[]): void {
  decisions.setPolicy('p', { statements: [{ effect: 'allow', actions, resources }] });
  decisions.setRole('r', ['p']);
}

describe('a path that the engine does not have', () => {
  it.each([
    ['a reader of one table', ['Query', 'GetSchema'], ['srn2:table#orders']],
    ['a caller without rights', ['GetRole'], ['srn2:role#x']],
    ['an administrator', ['*'], ['*']],
  ] as const)('is 404 for %s', async (_who, actions, resources) => {
    grant(actions, resources);
    for (const method of ['HEAD', 'GET', 'POST'] as const) {
      const { statusCode } = await app.inject({ method, url: '/mytables?x=1' });
      expect([method, statusCode]).toEqual([method, 404]);
    }
  });

  it('is asked for without the parameters and the body of the caller, and only where its call is not forwarded', async () => {
    grant(['Query'], ['srn2:table#orders']);
    await app.inject({ method: 'POST', url: '/mytables?secret=1', payload: { secret: 2 } });
    expect(fake.seen.map(({ method, url, body }) => [method, url, body])).toEqual([['OPTIONS', '/mytables', '']]);
    fake.seen.splice(0);
    grant(['*'], ['*']);
    await app.inject({ method: 'HEAD', url: '/mytables' });
    expect(fake.seen.filter((request) => !isListing(request)).map(({ method }) => method)).toEqual(['HEAD']);
  });
});

it('a path that the engine has, but the list of calls does not, needs every right', async () => {
  grant(['Query'], ['srn2:table#orders']);
  expect((await app.inject('/newer/call')).statusCode).toBe(403);
  expect(fake.seen.map(({ method }) => method)).toEqual(['OPTIONS']);
});

describe('a repeated parameter', () => {
  const ofTable = ['srn2:table#orders'];

  it('is one value where the values are equal, as segment uploads of Pinot send them', async () => {
    grant(['UploadSegment'], ofTable);
    const url = '/v2/segments?tableName=orders&tableType=OFFLINE&tableName=orders&enableParallelPushProtection=false';
    const headers = { 'content-type': 'application/octet-stream' };
    expect((await app.inject({ method: 'POST', url, headers, payload: Buffer.from('x') })).statusCode).toBe(200);
    expect(fake.seen.at(-1)?.url).toBe(
      '/v2/segments?tableName=orders&tableType=OFFLINE&enableParallelPushProtection=false',
    );
  });

  it('is 400 where they differ', async () => {
    grant(['*'], ['*']);
    const answer = await app.inject({ method: 'POST', url: '/v2/segments?tableName=orders&tableName=other' });
    expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
      400,
      expect.stringContaining('`tableName` is given with 2 different values'),
    ]);
  });

  it('is one value of a query and of a page, too', async () => {
    grant(['*'], ['*']);
    fake.serve(
      ['orders_OFFLINE'],
      '{"resultTable":{"dataSchema":{"columnNames":["a"],"columnDataTypes":["INT"]},"rows":[[1]]},"exceptions":[]}',
    );
    const payload = { sql: 'SELECT a FROM orders LIMIT 1' };
    const url = '/query/sql?doPaginate=true&numRows=1';
    expect((await app.inject({ method: 'POST', url: `${url}&numRows=1`, payload })).statusCode).toBe(200);
    expect((await app.inject({ method: 'POST', url: `${url}&numRows=2`, payload })).statusCode).toBe(400);
  });
});

describe('an error of a path of the controller', () => {
  it('has its reason in `error` and its status in `code`, which the tools of Pinot read', async () => {
    grant(['Query'], ['srn2:table#orders']);
    const { statusCode, body } = await app.inject('/tables/other/size');
    const { code, status, error, message } = JSON.parse(body) as Record<string, unknown>;
    expect([statusCode, code, status, error]).toEqual([403, 403, 403, message]);
    expect(message).toContain('`GetSize`');
  });
});

describe('an empty error of the engine', () => {
  it.each([
    ['a query', 'POST /query/sql'],
    ['a query whose result is stored', 'POST /query/sql?doPaginate=true'],
    ['a call of the controller', 'POST /tables/orders/rebalance'],
  ])('gets a body with the reason: %s', async (_what, call) => {
    grant(['*'], ['*']);
    const [method, url] = call.split(' ') as ['POST', string];
    fake.answers.set(call.split('?', 1)[0] as string, (_request, response) => response.writeHead(500).end());
    const answer = await app.inject({ method, url, payload: { sql: 'SELECT a FROM orders LIMIT 1' } });
    expect(answer.statusCode).toBe(500);
    expect(answer.json<{ message: string }>().message).toBe(
      'the engine responded with 500 and an empty body: its log has the reason',
    );
  });
});

it('a query of the multi-stage engine is stored at the path to which the Java client sends it', async () => {
  grant(['*'], ['*']);
  fake.json('POST /query', {
    resultTable: { dataSchema: { columnNames: ['a'], columnDataTypes: ['INT'] }, rows: [[1], [2]] },
    exceptions: [],
  });
  const payload = { sql: 'SELECT a FROM orders LIMIT 2' };
  const answer = await app.inject({ method: 'POST', url: '/query?getCursor=true&numRows=1', payload });
  expect(answer.statusCode).toBe(200);
  const page = answer.json<Record<string, number>>();
  expect(page).toMatchObject({ numRows: 1, numRowsResultSet: 2, bytesWritten: 7 });
  expect(page['expirationTimeMs']).toBeGreaterThan(Date.now());
  expect(page['submissionTimeMs']).toBeLessThanOrEqual(Date.now());
  expect([page['cursorFetchTimeMs'], page['cursorResultWriteTimeMs']]).toEqual([
    expect.any(Number),
    expect.any(Number),
  ]);
});
