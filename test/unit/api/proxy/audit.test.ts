import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatSrn } from '../../../../src/access/policy/srn.ts';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { authorizerBy, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';
import { until } from '../../../support/until.ts';
import { once } from '../../../support/once.ts';

let fake: FakeEngine;
let app: FastifyInstance;
let records: AuditRecord[];
let allowed: (action: string, resource: string) => boolean;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_REALTIME', 'Secret_REALTIME']);
  const engine = createEngine({
    controllerUrls: [fake.url],
    credential: { header: () => 'Basic gateway', refused: () => undefined },
  });
  records = [];
  allowed = () => true;
  app = await testApp({
    authorizer: authorizerBy((_principal, action, resource) =>
      allowed(action, resource.levels.length === 0 ? 'cluster' : formatSrn(resource)),
    ),
    parts: { audit: validAuditLog(records, new FakeClock()) },
    register: async (scope) => {
      scope.addHook('onClose', () => engine.close());
      await engineProxy(scope, { engine });
    },
  });
});
afterEach(async () => {
  await app.close();
  await fake.close();
});

const JSON_BODY = { 'content-type': 'application/json' };
const SECRET = 'wJalrXUtnFEMI';

async function call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, body?: object): Promise<number> {
  const sent = body === undefined ? {} : { headers: JSON_BODY, payload: JSON.stringify(body) };
  return (await app.inject({ method, url, ...sent })).statusCode;
}

describe('the audit record of a write that is forwarded to the engine', () => {
  it.each([
    ['POST', '/tables', { tableName: 'events', tableType: 'REALTIME', password: SECRET }, 'CreateTable', '/tables', {}],
    ['DELETE', '/segments/events/seg%201', undefined, 'DeleteSegment', '/segments/events/seg%201', {}],
    [
      'DELETE',
      '/segments/events?type=REALTIME&retention=1d',
      undefined,
      'DeleteSegment',
      '/segments/events',
      { type: 'REALTIME', retention: '1d' },
    ],
    ['POST', '/tables/events/pauseConsumption', undefined, 'PauseConsumption', '/tables/events/pauseConsumption', {}],
    [
      'POST',
      '/tables/events/rebalance?type=REALTIME&dryRun=false&batchSizePerServer=4',
      undefined,
      'RebalanceTable',
      '/tables/events/rebalance',
      { type: 'REALTIME', dryRun: 'false' },
    ],
    // With GET, too.
    ['GET', '/tables/events?state=drop', undefined, 'EnableTable', '/tables/events', { state: 'drop' }],
  ] as const)('tells who, what and the outcome: %s %s', async (method, url, body, action, path, parameters) => {
    expect(await call(method, url, body)).toBe(200);
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({
      type: 'write',
      principal: 'srn2:user#alice@example.com',
      authenticator: 'token-file',
      clientAddress: '127.0.0.1',
      method,
      action,
      resource: 'srn2:table#events',
      outcome: 'succeeded',
      status: 200,
      decision: 'allowed',
      path,
    });
    expect(records[0]?.parameters ?? {}).toEqual(parameters);
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  it('has the path as it is forwarded, not as it was sent', async () => {
    await call('DELETE', '/segments/events/a%2bb?x=1');
    expect(records[0]?.path).toBe('/segments/events/a%2Bb');
    expect(fake.seen.at(-1)?.url).toBe('/segments/events/a%2Bb?x=1');
  });

  it('lists all actions of one call in one record', async () => {
    await call('POST', `/ingestFromURI?tableNameWithType=events_OFFLINE&batchConfigMapStr=${SECRET}`);
    expect(records).toMatchObject([
      {
        action: 'IngestFile',
        also: [{ action: 'UploadSegment', resource: 'srn2:table#events' }],
        alsoCount: 1,
        path: '/ingestFromURI',
        parameters: { tableNameWithType: 'events_OFFLINE' },
      },
    ]);
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  it('has a bounded size, however many tables a body names', async () => {
    const tables = Array.from({ length: 900 }, (_, index) => `t${index}`);
    const physicalTableConfigMap = Object.fromEntries(tables.map((name) => [`${name}_OFFLINE`, {}]));
    await call('POST', '/logicalTables', { tableName: 'all', physicalTableConfigMap });
    expect(records).toHaveLength(1);
    expect(JSON.stringify(records[0]).length).toBeLessThan(8 * 1024);
  });

  it.each([
    [409, 'rejected'],
    [403, 'denied'],
    [500, 'failed'],
  ] as const)('has the status of the engine: %i', async (status, outcome) => {
    fake.json('POST /tables/events/pauseConsumption', { error: 'no' }, status);
    await call('POST', '/tables/events/pauseConsumption');
    expect(records).toMatchObject([{ outcome, status, decision: 'allowed' }]);
  });

  it('says so where the client disconnects before the response', async () => {
    let arrived = false;
    fake.answers.set('POST /tables/events/pauseConsumption', () => (arrived = true));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    const head = ['POST /tables/events/pauseConsumption HTTP/1.1', 'Host: gateway', 'Content-Length: 0'];
    socket.write([...head, `Authorization: ${TEST_HEADERS.authorization}`, '', ''].join('\r\n'));
    await until('the engine has the request', () => arrived);
    socket.destroy();
    await until('the write is recorded', () => records.length > 0);
    expect(records).toMatchObject([
      { action: 'PauseConsumption', clientAddress: '127.0.0.1', outcome: 'unknown', status: 499 },
    ]);
  });

  it('is not written for a call that is denied, which has one record of its own however often it is repeated', async () => {
    allowed = (action) => action !== 'UploadSegment';
    for (let poll = 0; poll < 5; poll++) {
      expect(await call('POST', '/ingestFromURI?tableNameWithType=events_OFFLINE')).toBe(403);
    }
    expect(records.map(({ type, action, outcome, count }) => [type, action, outcome, count])).toEqual([
      ['denied', 'UploadSegment', 'denied', 1],
    ]);
  });

  it('is not written for a call that only reads', async () => {
    await call('GET', '/tables/events/size');
    expect(records).toEqual([]);
  });
});
