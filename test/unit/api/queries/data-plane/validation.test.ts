import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { formatSrn } from '../../../../../src/access/policy/srn.ts';
import { SQL_LIMITS } from '../../../../../src/access/sql/limits.ts';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { authorizerBy, dataPlaneOf, testApp } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';
import { readRecording } from '../../../../support/replay-engine.ts';

// `POST /validateMultiStageQuery`: the controller compiles each text and reports errors, which contain names of columns.
const PATH = '/validateMultiStageQuery';
const recorded = readRecording('1.5.1', 'databases/validateMultiStageQuery_sqls');

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let readable: ReadonlySet<string>;

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['customers_OFFLINE', 'secret_OFFLINE']);
  fake.answers.set(`POST ${PATH}`, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(recorded.body);
  });
  engine = createEngine({ controllerUrls: [fake.url] });
  const authorizer = authorizerBy((_who, _action, resource) => readable.has(formatSrn(resource)));
  app = await testApp({ authorizer, register: async () => undefined, parts: { dataPlane: dataPlaneOf(engine) } });
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

beforeEach(() => {
  fake.seen.length = 0;
  readable = new Set(['srn2:table#customers', 'srn2:table#secret']);
});

const validate = (body: unknown) =>
  app.inject({
    method: 'POST',
    url: PATH,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });
const sent = () => fake.seen.filter(({ url }) => url === PATH).map(({ body }) => JSON.parse(body) as unknown);

describe('a validation', () => {
  it('of many texts is rejected where they are longer together than one text may be', async () => {
    const text = `SELECT 1 FROM customers WHERE a = '${'x'.repeat(SQL_LIMITS.bytes / 2 - 40)}'`;
    expect((await validate({ sqls: [text, text] })).statusCode).toBe(200);
    const answer = await validate({ sqls: [text, text, text] });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      { message: expect.stringMatching(/the texts in `sqls` have \d+ bytes together, more than 262144/) },
    ]);
    expect(sent()).toHaveLength(1);
  });

  it('gets the recorded answer for the recorded request, and the engine gets only printed texts', async () => {
    const answer = await validate(JSON.parse(recorded.requestBody as string));
    expect([answer.statusCode, answer.body]).toEqual([200, recorded.body]);
    expect(sent()).toEqual([
      {
        sql: 'SELECT 1',
        sqls: ['SELECT "customerId" FROM "customers" LIMIT 1', 'SELECT "nosuch" FROM "secret"'],
      },
    ]);
  });

  it('of a list alone has no other text', async () => {
    expect((await validate({ sqls: ['SELECT a FROM customers'], ignoreCase: true })).statusCode).toBe(200);
    expect(sent()).toEqual([{ sqls: ['SELECT "a" FROM "customers"'], ignoreCase: true }]);
  });

  it.each([
    ['the first text of the list', { sqls: ['SELECT a FROM secret', 'SELECT 1'] }],
    ['the last text of the list', { sql: 'SELECT 1', sqls: ['SELECT 1', 'SELECT a FROM secret'] }],
    ['`sql`, which the engine ignores beside a list', { sql: 'SELECT a FROM secret', sqls: ['SELECT 1'] }],
    ['a query within a string', { sqls: ["SELECT a FROM customers WHERE in_subquery(a, 'SELECT a FROM secret') = 1"] }],
  ])('is forbidden where a table of %s is', async (_, body) => {
    readable = new Set(['srn2:table#customers']);
    const answer = await validate(body);
    expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
      403,
      expect.stringContaining('secret'),
    ]);
    expect(sent()).toEqual([]);
  });

  it.each([
    [{ sqls: ['SELECT 1', 'SELECT FROM'] }, '`sqls[1]` is rejected: line 1, column 8'],
    [{ sqls: ['SET colour=1; SELECT 1'] }, '`sqls[0]` is rejected: line 1, column 5: unknown query option `colour`'],
    [{}, 'the body must have the field `sql`, or a list of texts in `sqls`'],
    [{ sqls: [] }, 'sqls'],
    [{ sqls: ['SELECT 1', 5] }, 'sqls'],
    [{ sqls: Array.from({ length: 101 }, () => 'SELECT 1') }, 'sqls'],
    [{ sql: 'SELECT 1', tableConfigs: [] }, 'tableConfigs'],
  ])('is refused: %#', async (body, message) => {
    const answer = await validate(body);
    expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
      400,
      expect.stringContaining(message),
    ]);
    expect(sent()).toEqual([]);
  });

  it('has a list only on its own path', async () => {
    const answer = await app.inject({
      method: 'POST',
      url: '/query/sql',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify({ sql: 'SELECT 1', sqls: ['SELECT 1'] }),
    });
    expect(answer.statusCode).toBe(400);
  });
});
