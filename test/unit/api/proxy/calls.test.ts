// @module-tag slow
import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatSrn } from '../../../../src/access/policy/srn.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { callHeaders } from '../../../../src/api/proxy/call-headers.ts';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import { authorizerBy, testApp, TEST_HEADERS } from '../../../support/app.ts';
import { FakeEngine, isListing, type SeenRequest } from '../../../support/fake-engine.ts';
import { once } from '../../../support/once.ts';

let fake: FakeEngine;
let app: FastifyInstance;
let authorizationChecks: string[];
let allowed: (action: string, resource: string) => boolean;

beforeEach(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE', 'Secret_REALTIME', 'x.events_OFFLINE', 'e v_OFFLINE']);
  const engine = createEngine({
    controllerUrls: [fake.url],
    credential: { header: () => 'Basic gateway', refused: () => undefined },
  });
  authorizationChecks = [];
  allowed = (_action, resource) => resource === 'srn2:table#events';
  app = await testApp({
    authorizer: authorizerBy((_principal, action, resource) => {
      const name = resource.levels.length === 0 ? 'cluster' : formatSrn(resource);
      authorizationChecks.push(`${action} ${name}`);
      return allowed(action, name);
    }),
    register: async (scope) => {
      scope.addHook('onClose', () => engine.close());
      await engineProxy(scope, { engine });
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  await app.close();
  await fake.close();
});

/** Sends the request unchanged. @returns the response status */
async function send(head: string, headers: readonly string[] = [], body: string | Buffer = ''): Promise<number> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const length = body.length > 0 ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const lines = [`${head} HTTP/1.1`, 'Host: gateway', `Authorization: ${TEST_HEADERS.authorization}`];
  socket.write([...lines, 'Connection: close', ...length, ...headers, '', ''].join('\r\n'), 'latin1');
  socket.write(body);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Number(/^HTTP\/1\.1 (\d+)/.exec(Buffer.concat(chunks).toString('latin1'))?.[1]);
}

/** Requests that the engine received, without those for the gateway's table list. */
const receivedRequests = (): SeenRequest[] => fake.seen.filter((request) => !isListing(request));

async function forwards(head: string, headers: readonly string[] = [], body: string | Buffer = '') {
  expect(await send(head, headers, body)).toBe(200);
  expect(receivedRequests()).toHaveLength(1);
  return receivedRequests()[0] as SeenRequest;
}

async function refuses(status: number, head: string, headers: readonly string[] = [], body: string | Buffer = '') {
  expect(await send(head, headers, body)).toBe(status);
  expect(receivedRequests()).toEqual([]);
}

const manyTables = () => Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`t${index}`, {}]));

const JSON_TYPE = 'Content-Type: application/json';

describe('the URL of a controller request', () => {
  it.each([
    ['/tables/events/size', '/tables/events/size'],
    ['/tables/events/size/', '/tables/events/size'],
    ['/tables/events/size?', '/tables/events/size'],
    ['/segments/events/a+b', '/segments/events/a%2Bb'],
    ['/segments/events/a%20b', '/segments/events/a%20b'],
    ["/segments/events/a:b@c,d=e&f$g'(h)*!~", "/segments/events/a%3Ab%40c%2Cd%3De%26f%24g'(h)*!~"],
    ['/segments/events/%C3%A9', '/segments/events/%C3%A9'],
    ['/tables/events/size?x=a+b%2Bc', '/tables/events/size?x=a%20b%2Bc'],
    ['/tables/events/size?x=1#y', '/tables/events/size?x=1%23y'],
    ['/tables/events/size?x=1;tableName=Secret', '/tables/events/size?x=1%3BtableName%3DSecret'],
    ['/tables/events/size?x=a?b&&y', '/tables/events/size?x=a%3Fb&y='],
    ['/tables/events/metadata?columns=a&columns=b', '/tables/events/metadata?columns=a&columns=b'],
  ])('is printed from the authorized parts: %s', async (url, expected) => {
    const { url: sent } = await forwards(`GET ${url}`);
    expect(sent).toBe(expected);
  });

  it.each([
    ['/segments/events/..%252FSecret', 'a segment that would be decoded twice'],
    ['/segments/events/a%2500', 'an encoded percent sign'],
    ['/tables/events/size?type=OFFLINE&type=REALTIME', 'a parameter twice'],
    ['/tables/events?state=&state=drop', 'a deciding parameter twice'],
    ['/tables/events?STATE=drop', 'another spelling of a deciding parameter'],
    ['/tables/events/size?x=%ff', 'a parameter that is not UTF-8'],
    ['/tables/events/size?%00=1', 'a control character in a name'],
    ['/tables/events/size?tableName=Sec%00ret', 'a control character in a value'],
    ['/tables/e%20v/size', 'a table with a space'],
    ['/tables/events%E2%80%8B/size', 'a table with an invisible character'],
    ['/tables/events_OFFLINE_OFFLINE/size', 'two type suffixes'],
    ['/tables/events_REALTIME_offline/size', 'two type suffixes in different case'],
    ['/tasks/scheduler/jobDetails?tableName=events/../Secret', 'a table with a slash'],
    ['/tasks/scheduler/jobDetails?TableName=events', 'another spelling of the table parameter'],
    ['/tables/events/size?table%4eame=a&tableName=b', 'an encoded name twice'],
  ])('is rejected: %s (%s)', async (url) => {
    allowed = () => true;
    await refuses(400, `GET ${url}`);
  });

  it('is authorized for every table in a parameter', async () => {
    await refuses(403, 'GET /tables/events/size?tableName=Secret');
    await refuses(403, 'GET /tables/events/size?schemaName=Secret');
  });
});

describe('the headers of a controller request', () => {
  it('are a closed list with validated values', async () => {
    allowed = () => true;
    const { headers } = await forwards('GET /tables/events/size', [
      'Accept: application/json',
      'Accept-Encoding: gzip',
      'Database: x',
      'X-HTTP-Method-Override: DELETE',
      'X-Forwarded-For: 1.2.3.4',
      'X-Forwarded-Host: other',
      'Forwarded: host=other',
      'Cookie: a=b',
      'Referer: http://other/',
      'X-Original-URL: /tables/Secret',
      'X-Mine: 1',
      'Pinot-Table-Name: Secret',
      'DOWNLOAD_URI: http://other/',
      'Content-Type: application/json; charset=utf-8',
    ]);
    const { host, connection: _connection, ...sent } = headers;
    expect(host).toBe(`127.0.0.1:${fake.port}`);
    expect(sent).toEqual({
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      database: 'x',
      authorization: 'Basic gateway',
    });
  });

  it('contain the authorized database', async () => {
    allowed = (_action, resource) => resource === 'srn2:table#x.events';
    const seen = await forwards('GET /tables/events/size', ['Database: x']);
    expect(authorizationChecks).toEqual(['GetSize srn2:table#x.events']);
    expect(seen.headers['database']).toBe('x');
  });

  it('contain it, independent of `Connection`', () => {
    const headers = { database: 'x', connection: 'close, database' };
    expect(callHeaders(headers, { upload: false, streamed: false })).toEqual({ database: 'x' });
  });

  it.each([
    ['two databases', 400, ['Database: x', 'Database: y']],
    ['a list of databases', 400, ['Database: x,y']],
    ['a database with a dot', 400, ['Database: x.y']],
    ['a database that is not ASCII', 400, ['Database: \u00e9']],
    ['an unknown media type', 415, ['Content-Type: application/xml']],
    ['another charset', 400, ['Content-Type: application/json; charset=shift_jis']],
    ['two charsets', 400, ['Content-Type: application/json; charset=utf-8; charset=shift_jis']],
    ['something like a charset', 400, ['Content-Type: application/json; xcharset=shift_jis']],
    ['a charset in quotes', 400, ['Content-Type: application/json; x="charset=gbk"']],
    ['a list of types', 415, ['Content-Type: application/json, multipart/form-data; boundary=a']],
    ['a form without boundary', 415, ['Content-Type: multipart/form-data']],
    ['a form with two boundaries', 415, ['Content-Type: multipart/form-data; boundary=a; boundary=b']],
    ['a compressed body', 415, ['Content-Encoding: gzip']],
  ])('cannot be %s', async (_what, status, headers) => {
    allowed = () => true;
    await refuses(status, 'POST /tables/events/rebalance?type=OFFLINE', headers);
  });

  it.each([
    ['Content-Type: multipart/form-data; boundary=a-b_c', 'multipart/form-data; boundary=a-b_c'],
    ['Content-Type: MULTIPART/form-data;charset=UTF-8; Boundary="a:b c"', 'multipart/form-data; boundary="a:b c"'],
    ['Content-Type: application/octet-stream', 'application/octet-stream'],
  ])('contain the content type of an upload, printed again: %s', async (header, expected) => {
    const seen = await forwards('POST /v2/segments?tableName=events', [header, 'UPLOAD_TYPE: SEGMENT'], 'abc');
    expect(seen.headers).toMatchObject({
      'content-type': expected,
      upload_type: 'SEGMENT',
      'content-length': '3',
    });
    expect(seen.body).toBe('abc');
  });
});

describe('a segment that the engine fetches itself', () => {
  it.each([
    ['an address', ['DOWNLOAD_URI: http://controller/segments/Secret/s']],
    ['the type URI', ['UPLOAD_TYPE: URI']],
    ['the type METADATA', ['UPLOAD_TYPE: METADATA', 'DOWNLOAD_URI: s3://deep/Secret/s']],
  ])('requires IngestFile on the cluster: %s', async (_what, headers) => {
    await refuses(403, 'POST /v2/segments?tableName=events', headers, 'x');
    await refuses(403, 'POST /segments?tableName=events', [JSON_TYPE, ...headers], '{}');
    expect(authorizationChecks).toContain('IngestFile cluster');
    allowed = (action, resource) =>
      resource === 'srn2:table#events' || (resource === 'cluster' && action === 'IngestFile');
    const seen = await forwards('POST /v2/segments?tableName=events', headers, 'x');
    expect(seen.body).toBe('x');
  });

  it('requires it for a batch, whose form contains URIs', async () => {
    await refuses(403, 'POST /segments/batchUpload?tableName=events&tableType=OFFLINE', [], 'x');
  });
});

describe('a body that names a table', () => {
  it.each([
    ['POST /tables', { tableName: 'events_OFFLINE' }],
    ['POST /tables?tableName=events', { tableName: 'events' }],
    ['POST /tables', { tableName: 'events', segmentsConfig: { schemaName: 'events' } }],
    ['POST /schemas', { schemaName: 'events' }],
    ['POST /tableConfigs', { tableName: 'events', schema: { schemaName: 'events' }, offline: { tableName: 'events' } }],
    ['PUT /tables/events', { tableName: 'events_REALTIME' }],
    ['PUT /tables/events/indexingConfigs', { loadMode: 'MMAP' }],
    ['POST /segments/events/delete', ['Secret_1']],
    ['PUT /tables/events/instancePartitions', { instancePartitionsName: 'events_CONSUMING' }],
    ['POST /logicalTables', { tableName: 'events', physicalTableConfigMap: { events_OFFLINE: {} } }],
  ])('is forwarded if it is allowed: %s %j', async (head, body) => {
    const text = JSON.stringify(body);
    const seen = await forwards(head, ['Content-Type: text/plain'], text);
    expect(seen.body).toBe(text);
    expect(seen.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each([
    ['POST /tables', { tableName: 'Secret' }],
    ['POST /tables?tableName=events', { tableName: 'Secret' }],
    ['POST /tables?tableName=Secret', { tableName: 'events' }],
    ['POST /tables', { tableName: 'events', segmentsConfig: { schemaName: 'Secret' } }],
    ['POST /tables', { tableName: 'events', task: { taskTypeConfigsMap: { T: { definedSQL: 'select 1' } } } }],
    ['POST /tables', {}],
    ['POST /tables', [{ tableName: 'events' }]],
    ['POST /schemas', { schemaName: 'Secret' }],
    ['POST /tableConfigs', { tableName: 'events', schema: { schemaName: 'Secret' } }],
    ['POST /tableConfigs', { tableName: 'events', offline: { tableName: 'Secret' } }],
    ['POST /tableConfigs', { tableName: 'events', realtime: { tableName: 'Secret' } }],
    ['POST /tables/validateTableAndSchema', { tableConfig: { tableName: 'events' }, schema: { schemaName: 'Secret' } }],
    ['PUT /tables/events', { tableName: 'Secret_REALTIME' }],
    ['PUT /schemas/events', { schemaName: 'Secret' }],
    ['PUT /tableConfigs/events', { tableName: 'Secret' }],
    ['PUT /tables/events/instancePartitions', { instancePartitionsName: 'Secret_OFFLINE' }],
    ['PUT /logicalTables/events', { tableName: 'Secret' }],
    ['PUT /logicalTables/events', { tableName: 'events', physicalTableConfigMap: { Secret_REALTIME: {} } }],
    ['POST /logicalTables', { tableName: 'events', refRealtimeTableName: 'Secret_REALTIME' }],
    ['POST /tables/events/copy', { sourceClusterUri: 'http://other' }],
  ])('is denied if it is not allowed: %s %j', async (head, body) => {
    await refuses(403, head, [JSON_TYPE], JSON.stringify(body));
  });

  it.each([
    ['a key twice', '{"tableName":"events","tableName":"Secret"}'],
    ['a key twice, once escaped', '{"tableName":"events","table\\u004eame":"Secret"}'],
    ['a key twice within', '{"tableName":"events","offline":{"tableName":"events","tableName":"Secret"}}'],
    ['another spelling of a key', '{"tableName":"events","TableName":"Secret"}'],
    ['a name that is a number', '{"tableName":1}'],
    ['a name that is a list', '{"tableName":["events"]}'],
    ['a part that is a list', '{"tableName":"events","schema":[{"schemaName":"Secret"}]}'],
    ['a second value behind it', '{"tableName":"events"}{"tableName":"Secret"}'],
    ['a comment', '{"tableName":"events"/*,*/}'],
    ['a byte order mark', '\ufeff{"tableName":"events"}'],
    ['bytes that are not UTF-8', Buffer.from('{"tableName":"events","x":"\xff"}', 'latin1')],
    ['UTF-16', Buffer.from('{"tableName":"events"}', 'utf16le')],
    ['two suffixes', '{"tableName":"events_OFFLINE_OFFLINE"}'],
    ['too many tables', JSON.stringify({ tableName: 'v', physicalTableConfigMap: manyTables() })],
    // The engine can read an object from a string that contains its JSON.
    ['an object within a string', JSON.stringify(JSON.stringify({ tableName: 'Secret' }))],
    ['a number in place of an object', '1'],
    ['deep nesting', `{"tableName":"events","x":${'['.repeat(100)}${']'.repeat(100)}}`],
  ])('is rejected with %s', async (_what, body) => {
    allowed = () => true;
    await refuses(400, 'POST /tables', [JSON_TYPE], body);
    await refuses(400, 'PUT /tables/events', [JSON_TYPE], body);
  });

  it('keeps the digits of its numbers', async () => {
    const body = '{"schemaName": "events", "x": [9223372036854775807, 0.10000000000000000000001, 1E400, -0]}';
    expect((await forwards('POST /schemas', [JSON_TYPE], body)).body).toBe(body);
  });

  it('requires the right on the cluster as a form, which is not parsed', async () => {
    const form = ['Content-Type: multipart/form-data; boundary=b'];
    const body = '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n{"schemaName":"Secret"}\r\n--b--\r\n';
    await refuses(403, 'POST /schemas', form, body);
    await refuses(403, 'PUT /schemas/events', form, body);
    allowed = (_action, resource) => resource === 'cluster' || resource === 'srn2:table#events';
    expect((await forwards('PUT /schemas/events', form, body)).body).toBe(body);
  });

  it('requires a right on the table of a task, in addition to the right to run one', async () => {
    allowed = (_action, resource) => resource === 'srn2:table#events' || resource === 'cluster';
    await refuses(403, 'POST /tasks/execute', [JSON_TYPE], '{"taskType":"T","tableName":"Secret_REALTIME"}');
    const nested = { taskType: 'T', tableName: 'events', taskConfigs: { tableName: 'Secret' } };
    await refuses(403, 'POST /tasks/execute', [JSON_TYPE], JSON.stringify(nested));
    await refuses(403, 'POST /ingestFromURI?tableNameWithType=Secret_OFFLINE&sourceURIStr=x');
    await forwards('POST /tasks/execute', [JSON_TYPE], '{"taskType":"T","tableName":"events_OFFLINE"}');
  });

  it('is read completely if it arrives in chunks', async () => {
    const chunks = '15\r\n{"tableName":"events"\r\n1\r\n}\r\n0\r\n\r\n';
    const head = ['POST /tables HTTP/1.1', 'Host: gateway', `Authorization: ${TEST_HEADERS.authorization}`];
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.write([...head, 'Connection: close', 'Transfer-Encoding: chunked', JSON_TYPE, '', chunks].join('\r\n'));
    await once(socket.resume(), 'close');
    expect(receivedRequests()).toMatchObject([{ body: '{"tableName":"events"}', headers: { 'content-length': '22' } }]);
    expect(receivedRequests()[0]?.headers).not.toHaveProperty('transfer-encoding');
  });

  it('is rejected with a GET', async () => {
    await refuses(400, 'GET /tables/events', [JSON_TYPE], '{"tableName":"Secret"}');
  });
});

describe('calls that affect more than their path names', () => {
  it.each([
    'GET /timeseries/api/v1/query_range?query=x',
    'POST /query/timeseries',
    'GET /queryLog/x',
    'POST /segmentConsumed?name=x',
    'GET /swagger.json',
  ])('are denied to an administrator of the cluster without the right to read data: %s', async (head) => {
    // All actions are allowed, except those that read data.
    allowed = (action) => !['Query', 'DownloadSegment', 'GetResponseStore'].includes(action);
    await refuses(403, head);
  });

  it('change a tenant by GET only with the right to change it', async () => {
    allowed = (action) => action.startsWith('Get');
    await refuses(403, 'GET /tenants/t?state=drop');
    await refuses(403, 'HEAD /tenants/t?state=drop');
    expect((await forwards('GET /tenants/t')).url).toBe('/tenants/t');
  });
});

describe('a list', () => {
  it('is filtered for HEAD, too', async () => {
    fake.json('GET /tables', { tables: ['Secret'] });
    fake.json('HEAD /tables', { tables: ['Secret'] });
    const head = await app.inject({ method: 'HEAD', url: '/tables' });
    const get = await app.inject('/tables?x=a+b');
    expect(get.json()).toEqual({ tables: [] });
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
    expect(receivedRequests().map(({ url }) => url)).toEqual(['/tables', '/tables?x=a%20b']);
  });
});

const SPELLINGS = {
  path: [
    '/tables/events',
    '/tables/%65vents',
    '/tables/events_OFFLINE/',
    '/tables/Secret',
    '/tables/events%2f..%2fSecret',
    '/tables/events%252f..%252fSecret',
    '/tables/events;tableName=Secret',
    '/tables//Secret',
  ],
  query: [
    '',
    '?tableName=events',
    '?x=1;tableName=Secret',
    '?x=1%26tableName=Secret',
    '?tableName=events&tableName=Secret',
    '?TABLENAME=Secret',
    '?table%4eame=Secret',
  ],
  headers: [
    [JSON_TYPE],
    ['Content-Type: text/plain; charset="utf-8"', 'X-HTTP-Method-Override: DELETE'],
    [JSON_TYPE, 'Database: x'],
    [JSON_TYPE, 'Pinot-Table-Name: Secret', 'X-Original-URL: /tables/Secret', 'X-Forwarded-Prefix: /tables/Secret'],
    ['Content-Type: application/json; charset=utf-16'],
    [JSON_TYPE, 'Content-Encoding: deflate'],
  ],
  body: [
    '{"tableName":"events"}',
    '["Secret"]',
    '{"tableName":"Secret"}',
    '{"tableName":"events","tableName":"Secret"}',
    '{"tableName":"events","\\u0074ableName":"Secret"}',
    'tableName=Secret',
    Buffer.from('{"tableName":"Secret"}', 'utf16le'),
  ],
};

/** Tables that a lenient server could find in a request, by repeated decoding or in other fields. */
function tablesIn({ url, headers, body }: SeenRequest): string[] {
  const { pathname, searchParams } = new URL(url, 'http://engine');
  const segment = decodeURIComponent(decodeURIComponent(pathname.split('/')[2] ?? ''));
  const parameters = [...searchParams].filter(([name]) => /^tablename$/i.test(name)).map(([, value]) => value);
  const [, ...inBody] = body.match(/"(?:tableName|\\u0074ableName)":"(\w+)"/) ?? [];
  const inHeaders = Object.entries(headers).flatMap(([name, value]) => (/table|url|prefix/i.test(name) ? [value] : []));
  return [segment, ...parameters, ...inBody, ...inHeaders.map(String)].map((name) => name.replace(/_OFFLINE$/, ''));
}

describe('all spellings of a call, combined', () => {
  it.each(SPELLINGS.path)('name no table except the allowed one: %s', async (path) => {
    let forwarded = 0;
    for (const query of SPELLINGS.query) {
      for (const headers of SPELLINGS.headers) {
        for (const body of SPELLINGS.body) {
          fake.seen.length = 0;
          const status = await send(`PUT ${path}${query}`, headers, body);
          const seen = receivedRequests();
          expect([status === 200, status]).toEqual([seen.length === 1, expect.any(Number)]);
          expect([200, 400, 403, 415]).toContain(status);
          for (const request of seen) {
            forwarded++;
            expect(request.method).toBe('PUT');
            expect(request.headers['content-type']).toBe('application/json; charset=utf-8');
            expect(new Set(tablesIn(request))).toEqual(new Set(['events']));
          }
        }
      }
    }
    // An encoded letter may also be rejected.
    if (path !== '/tables/%65vents') expect(forwarded > 0).toBe(/^\/tables\/events(?:_OFFLINE\/)?$/.test(path));
  });
});
