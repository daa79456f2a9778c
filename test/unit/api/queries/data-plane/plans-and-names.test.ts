import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatSrn } from '../../../../../src/access/policy/srn.ts';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import { tableNameOf } from '../../../../../src/pinot/table-name.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { MAX_PLAN_BYTES, planTables } from '../../../../../src/api/engine/plan-tables.ts';
import { authorizerBy, dataPlaneOf, TEST_HEADERS, testApp } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';

let fake: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let body = '';

beforeAll(async () => {
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['events_OFFLINE'], '');
  fake.answers.set('POST /query/sql', ({ headers }, response) => {
    const gzip = /gzip/.test(String(headers['accept-encoding']));
    const sent = gzip ? gzipSync(body) : Buffer.from(body);
    const coding = gzip ? { 'content-encoding': 'gzip' } : {};
    response.writeHead(200, { ...coding, 'content-type': 'application/json', 'content-length': sent.length }).end(sent);
  });
  engine = createEngine({ controllerUrls: [fake.url] });
  await engine.actualTables([tableNameOf('events')]);
  app = await testApp({
    authorizer: authorizerBy((_who, _action, resource) => formatSrn(resource) === 'srn2:table#events'),
    register: () => Promise.resolve(),
    parts: { dataPlane: dataPlaneOf(engine) },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await app.close();
  await engine.close();
  await fake.close();
});

async function query(way: string, sql: string, coding: string): Promise<{ status: number; text: string }> {
  const { port } = app.server.address() as { port: number };
  const response = await fetch(`http://127.0.0.1:${port}/query/sql${way}`, {
    method: 'POST',
    headers: { ...TEST_HEADERS, 'content-type': 'application/json', 'accept-encoding': coding },
    body: JSON.stringify({ sql }),
  });
  return { status: response.status, text: await response.text() };
}

const WAYS = ['', '?doPaginate=true'].flatMap((way) => ['identity', 'gzip'].map((coding) => [way, coding] as const));

/** As recorded from 1.5.1. */
const planned = (plan: string) =>
  JSON.stringify({
    resultTable: {
      dataSchema: { columnNames: ['SQL', 'PLAN'], columnDataTypes: ['STRING', 'STRING'] },
      rows: [["EXPLAIN PLAN FOR SELECT 'table=[quoted]' FROM events", `Execution Plan\n${plan}\n`]],
    },
    exceptions: [],
    tablesQueried: [],
  });

describe.each(WAYS)('EXPLAIN with `%s`, %s', (way, coding) => {
  const explain = (plan: string) => {
    body = planned(plan);
    return query(way, 'EXPLAIN PLAN FOR SELECT a FROM events', coding);
  };

  it.each([
    'PinotLogicalTableScan(table=[[default, events]])',
    'LeafStageCombineOperator(table=[events])',
    'LeafStageCombineOperator(table=[events_OFFLINE])',
    'TABLE SCAN (events) null',
    'LogicalValues(tuples=[[{ 1 }]])',
    '{"id": "0", "relOp": "LogicalTableScan", "table": [\n  "default",\n  "events"\n]}',
    '<Property name="table">\n\t[default, events]\n</Property>',
    '{"id": "0", "relOp": "LeafStageCombineOperator", "table": "events"}',
    '<Property name="table">\n\tevents\n</Property>',
    String.raw`"LogicalTableScan\ntable = [default, eve\nnts]\n"`,
  ])('returns a plan of the judged tables: %s', async (plan) => {
    const { status, text } = await explain(plan);
    expect(status).toBe(200);
    expect(text).toContain(JSON.stringify(plan).slice(1, -1));
  });

  it.each([
    'PinotLogicalTableScan(table=[[default, salaries]])',
    'PinotLogicalTableScan(table=[[sales, events]])',
    'LeafStageCombineOperator(table=[salaries])',
    'LogicalTableScan(table=[[salaries]])',
    'TABLE SCAN (salaries) null',
    '{"id": "0", "relOp": "LogicalTableScan", "table": [\n  "default",\n  "salaries"\n]}',
    '<Property name="table">\n\t[default, salaries]\n</Property>',
    '{"id": "0", "relOp": "LeafStageCombineOperator", "table": "salaries"}',
    '<Property name="table">\n\tsalaries\n</Property>',
    String.raw`"LogicalTableScan\ntable = [default, salaries]\n"`,
  ])('does not return a plan of another table: %s', async (plan) => {
    const { status, text } = await explain(plan);
    expect(status).toBe(403);
    expect(text).not.toContain('salaries');
  });

  // It arrives in several pieces, and the last one has `tablesQueried`.
  it('does not return a long plan of another table', async () => {
    const { status, text } = await explain(`PinotLogicalTableScan(table=[[default, salaries]]) ${'x'.repeat(500_000)}`);
    expect(status).toBe(403);
    expect(text).not.toContain('salaries');
  });

  it('does not return a plan that is too long to be checked', async () => {
    const { status, text } = await explain(`TABLE SCAN (events) ${'x'.repeat(2 * MAX_PLAN_BYTES)}`);
    expect(status).toBe(502);
    expect(text).toContain('so the tables in it cannot be checked');
  });
});

// Quadratic work would take minutes. The limit is for a busy machine.
it.each(['table=[', 'TABLE SCAN (', '"table":[', '"table" ', '"table":"', 'name="table">', String.raw`\ntable = [`])(
  'a plan of %s many times is read in linear time',
  (begin) => {
    const plan = planned(begin.repeat(MAX_PLAN_BYTES / begin.length));
    const start = performance.now();
    planTables(Buffer.from(plan));
    expect(performance.now() - start).toBeLessThan(10_000);
  },
);

describe.each(WAYS)('a message of the engine with `%s`, %s', (way, coding) => {
  it('has the written name of a common table expression', async () => {
    body = JSON.stringify({
      exceptions: [
        { errorCode: 700, message: `QueryValidationError: Object 'cte 2' not found in 'WITH "cte 1" AS …'` },
      ],
    });
    const sql = `WITH "ä""1" AS (SELECT a FROM events), c AS (SELECT a FROM events) SELECT a FROM c`;
    const { status, text } = await query(way, sql, coding);
    expect(status).toBe(200);
    expect((JSON.parse(text) as { exceptions: { message: string }[] }).exceptions[0]?.message).toBe(
      `QueryValidationError: Object 'c' not found in 'WITH "ä"1" AS …'`,
    );
  });

  it('does not grow by a long name that it has thousands of times', async () => {
    body = JSON.stringify({ exceptions: [{ errorCode: 700, message: 'cte 1 '.repeat(10_000) }] });
    const { status, text } = await query(
      way,
      `WITH "${'n'.repeat(1024)}" AS (SELECT a FROM events) SELECT a FROM events`,
      coding,
    );
    expect(status).toBe(200);
    expect(text.length).toBeLessThan(2 * body.length);
    expect(JSON.parse(text)).toMatchObject(JSON.parse(body) as object);
  });

  it('leaves rows as they are', async () => {
    const rows = [['cte 1']];
    body = JSON.stringify({
      resultTable: { dataSchema: { columnNames: ['a'], columnDataTypes: ['STRING'] }, rows },
      exceptions: [],
      tablesQueried: ['events'],
    });
    const { status, text } = await query(way, 'WITH c AS (SELECT a FROM events) SELECT a FROM c', coding);
    expect(status).toBe(200);
    expect((JSON.parse(text) as { resultTable: { rows: unknown } }).resultTable.rows).toEqual(rows);
  });
});
