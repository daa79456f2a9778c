import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { formatSrn } from '../../../../../src/access/policy/srn.ts';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { engineProxy } from '../../../../../src/api/proxy/index.ts';
import { tableNameOf } from '../../../../../src/pinot/table-name.ts';
import { authorizerBy, dataPlaneOf, testApp, TEST_TOKEN } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';

const SQL = 'SELECT a FROM events';
const BODY = JSON.stringify({ sql: SQL });

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE'], '{"resultTable":{"rows":[[1]]},"tablesQueried":["events"]}');
  engine = createEngine({ controllerUrls: [fake.url] });
  await engine.actualTables([tableNameOf('events')]);
  await engine.brokerFor([tableNameOf('events')]);
  const authorizer = authorizerBy((_who, _action, resource) => formatSrn(resource) === 'srn2:table#events');
  app = await testApp({
    authorizer,
    register: (scope) => engineProxy(scope, { engine }),
    parts: { dataPlane: dataPlaneOf(engine) },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

beforeEach(() => {
  fake.seen.length = 0;
});

/** Sends a request unchanged. @returns status and body */
async function raw(line: string, headers: readonly string[], body: string | Buffer = ''): Promise<[number, string]> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const length = Buffer.byteLength(body);
  const head = [`${line} HTTP/1.1`, 'host: x', `authorization: Bearer ${TEST_TOKEN}`, ...headers];
  if (length > 0) head.push(`content-length: ${length}`);
  if (!headers.some((header) => /^connection:/i.test(header))) head.push('connection: close');
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(body);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) {
    chunks.push(chunk as Buffer);
    // An error response on a connection that stays open.
    if (Buffer.concat(chunks).includes('\r\n\r\n{') && chunks.at(-1)?.at(-1) === 125) break;
  }
  const text = Buffer.concat(chunks).toString();
  return [Number(text.slice(9, 12)), text.slice(text.indexOf('\r\n\r\n') + 4)];
}

describe('an ordinary query', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'text/plain',
    'application/x-www-form-urlencoded',
  ])('is accepted as %s', async (type) => {
    expect((await raw('POST /query/sql', [`content-type: ${type}`], BODY))[0]).toBe(200);
    expect(fake.seen.at(-1)?.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('reaches the engine in one form, with listed headers', async () => {
    const trace = 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const more = [
      'accept-encoding: br, gzip;q=0.8',
      'x-forwarded-for: 1.2.3.4',
      'cookie: a=b',
      'x-request-id: r-1',
      trace,
    ];
    expect((await raw(`GET /query/sql?sql=${encodeURIComponent(SQL)}&trace=true`, more))[0]).toBe(200);
    const [seen] = fake.seen;
    expect(seen).toMatchObject({ method: 'POST', url: '/query/sql' });
    expect(JSON.parse(seen!.body)).toEqual({ sql: 'SELECT "a" FROM "events"', trace: true });
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = seen!.headers;
    expect(headers).toEqual({
      'accept-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      traceparent: trace.slice('traceparent: '.length),
      'x-request-id': 'r-1',
    });
  });
});

describe('a request that servers could interpret differently', () => {
  const refusals: readonly [string, string, readonly string[], string | Buffer, number, RegExp][] = [
    [
      'a second charset',
      'POST /query/sql',
      ['content-type: application/json; charset=utf-8; charset=shift_jis'],
      BODY,
      400,
      /Content-Type/,
    ],
    [
      'a charset of another name',
      'POST /query/sql',
      ['content-type: application/json; xcharset=shift_jis'],
      BODY,
      400,
      /Content-Type/,
    ],
    [
      'a charset in a value',
      'POST /query/sql',
      ['content-type: application/json; x="charset=gbk"'],
      BODY,
      400,
      /Content-Type/,
    ],
    [
      'a charset of a page',
      'POST /query/sql?doPaginate=true',
      ['content-type: application/json; charset=big5'],
      BODY,
      400,
      /Content-Type/,
    ],
    ['a charset of /sql', 'POST /sql', ['content-type: application/json; charset=gbk'], BODY, 400, /Content-Type/],
    [
      'two content types',
      'POST /query/sql',
      ['content-type: application/json', 'content-type: text/plain'],
      BODY,
      400,
      /more than once/,
    ],
    ['a packed body', 'POST /query/sql', ['content-encoding: gzip'], BODY, 415, /uncompressed/],
    ['a body that is no UTF-8', 'POST /query/sql', [], Buffer.from('{"sql":"SELECT \xff"}', 'latin1'), 400, /body/],
    [
      'a header that Connection names',
      'POST /query/sql',
      ['database: x', 'connection: database'],
      BODY,
      400,
      /`database`/,
    ],
    [
      'the same on a path of the controller',
      'GET /tables/events/size',
      ['connection: close, database'],
      '',
      400,
      /`database`/,
    ],
    ['two databases', 'POST /query/sql', ['database: a', 'database: b'], BODY, 400, /Database/],
    ['an odd database', 'POST /query/sql', ['database: a b'], BODY, 400, /Database/],
    ['an encoded letter of the path', 'POST /%71uery/sql', [], BODY, 400, /percent-encodes/],
    ['an encoded letter on a path of the controller', 'GET /%74ables/events/size', [], '', 400, /percent-encodes/],
    ['an encoded letter of a parameter', 'GET /query/sql?%73ql=SELECT+1', [], '', 400, /parameter name/],
    [
      'an encoded parameter of the controller',
      'GET /tables/events/size?%64etailed=false',
      [],
      '',
      400,
      /parameter name/,
    ],
    ['a parameter with two values', `GET /query/sql?sql=a&sql=b`, [], '', 400, /different values/],
    ['an unknown parameter', 'POST /query/sql?doPaginat=true', [], BODY, 400, /did you mean `doPaginate`/],
    [
      'a number that is not written in digits',
      'POST /query/sql?doPaginate=true&numRows=1e3',
      [],
      BODY,
      400,
      /`1e3` is not an integer/,
    ],
    [
      'a page size that is not written in digits',
      'GET /query/1/results?offset=0x10',
      [],
      '',
      400,
      /`0x10` is not an integer/,
    ],
    ['an unknown parameter of a page', 'GET /query/1/results?offset=0&numRow=1', [], '', 400, /did you mean `numRows`/],
    ['a query in the address of a POST', 'POST /query/sql?sql=SELECT+1', [], BODY, 400, /`sql` in the query string/],
    [
      'an unknown field',
      'POST /query/sql',
      [],
      '{"sql":"SELECT 1","queryOption":"a=b"}',
      400,
      /did you mean `queryOptions`/,
    ],
    ['a field of another type', 'POST /query/sql', [], '{"sql":"SELECT 1","queryOptions":{}}', 400, /queryOptions/],
    ['a method override', 'DELETE /query/sql', [], '', 405, /GET, POST/],
  ];

  it.each(refusals)(
    '%s is rejected before the engine gets a request',
    async (_what, line, headers, body, status, message) => {
      const [answered, text] = await raw(line, headers, body);
      expect([answered, (JSON.parse(text) as { message: string }).message]).toEqual([
        status,
        expect.stringMatching(message),
      ]);
      expect(fake.seen).toEqual([]);
    },
  );
});
