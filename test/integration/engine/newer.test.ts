import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { DecisionEngine } from '../../../src/access/policy/decision.ts';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../src/pinot/types.ts';
import { QUERY_OPTIONS } from '../../../src/access/sql/query-options.ts';
import { authorizerOf, dataPlaneOf, testApp } from '../../support/app.ts';
import { forVersions } from '../../support/for-versions.ts';
import { sharedPinot } from '../../support/pinot.ts';

// What only Pinot 1.x has, live: on a cluster of that version in TEST_CONTROLLER.
const from1 = await forVersions('>=1.0');
const from13 = await forVersions('>=1.3');
const from15 = await forVersions('>=1.5');
const before15 = await forVersions('<1.5');

let engine: Engine & KnownTables;
let app: FastifyInstance;
let decisions: DecisionEngine;

beforeAll(async () => {
  const { controllerUrl } = await sharedPinot();
  engine = createEngine({ controllerUrls: [controllerUrl] });
  decisions = new DecisionEngine(
    { environment: 'e', cluster: 'c' },
    { heldRoles: () => ({ roles: ['r'], validFrom: -Infinity, validUntil: Infinity }) },
  );
  decisions.setPolicy('p', {
    statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#customers'] }],
  });
  decisions.setRole('r', ['p']);
  app = await testApp({
    authorizer: authorizerOf(decisions),
    register: async () => undefined,
    parts: { dataPlane: dataPlaneOf(engine) },
  });
});

afterAll(async () => {
  await app?.close();
  await engine?.close();
});

interface Answer {
  readonly resultTable?: { readonly rows: unknown[][] } | null;
  readonly exceptions?: readonly { readonly errorCode: number; readonly message: string }[];
  readonly message?: string;
}

async function ask(url: string, payload: object): Promise<{ status: number; answer: Answer }> {
  const headers = { 'content-type': 'application/json' };
  const response = await app.inject({ method: 'POST', url, headers, payload });
  return { status: response.statusCode, answer: response.json<Answer>() };
}

const JOIN =
  'SET useMultistageEngine=true; SELECT COUNT(*) FROM customers a JOIN customers b ON a.customerId = b.customerId';

describe('a Pinot of this version', () => {
  from1('answers a join of the multi-stage engine, and not one with a forbidden table', async () => {
    const { status, answer } = await ask('/query/sql', { sql: JOIN });
    expect([status, answer.exceptions, answer.resultTable?.rows]).toEqual([200, [], [[20_000]]]);
    expect((await ask('/query/sql', { sql: JOIN.replace('JOIN customers', 'JOIN orders') })).status).toBe(403);
  });

  from15('validates several texts, each of them judged', async () => {
    const texts = ['SELECT customerId FROM customers LIMIT 1', 'SELECT nosuch FROM customers LIMIT 1'];
    const { status, answer } = await ask('/validateMultiStageQuery', { sqls: texts });
    expect([status, answer]).toEqual([
      200,
      [
        expect.objectContaining({ compiledSuccessfully: true }),
        expect.objectContaining({ compiledSuccessfully: false }),
      ],
    ]);
    expect((await ask('/validateMultiStageQuery', { sqls: [...texts, 'SELECT 1 FROM orders'] })).status).toBe(403);
  });

  from1('stores the result of a query and serves its pages', async () => {
    const { status, answer } = await ask('/query/sql?doPaginate=true&numRows=3', {
      sql: 'SELECT name FROM customers LIMIT 10',
    });
    const { requestId } = answer as { requestId: string };
    expect([status, answer.resultTable?.rows.length]).toEqual([200, 3]);
    const page = await app.inject(`/query/${requestId}/results?offset=8&numRows=3`);
    expect([page.statusCode, page.json<Answer>().resultTable?.rows.length]).toEqual([200, 2]);
  });

  from13('makes no cursor by an option in the text', async () => {
    const { status, answer } = await ask('/query/sql', { sql: 'SET getCursor=true; SELECT name FROM customers' });
    expect([status, answer.message]).toEqual([400, expect.stringContaining('`getCursor` is not supported')]);
  });

  from13('takes every option that is passed, in both engines', async () => {
    // Without a value that fits the cluster they are errors of the query.
    const NEED_VALUES = new Set([
      'skipindexes',
      'orderedpreferredpools',
      'orderedpreferredreplicas',
      'sampler',
      'workloadname',
    ]);
    const passed = QUERY_OPTIONS.filter(
      ({ name, handling }) => handling === 'passed' && !NEED_VALUES.has(name.toLowerCase()),
    );
    const sets = passed.map(({ name }) => {
      if (name.endsWith('OverflowMode')) return `SET ${name}='BREAK'; `;
      const value = /^(?:use|skip|is|enable|run|infer)|[a-z](?:Verbose|Servers)$/.test(name) ? 'false' : '10000';
      return `SET ${name}='${value}'; `;
    });
    for (const multistage of [false, true]) {
      const sql = `SET useMultistageEngine=${multistage}; ${sets.join('')}SELECT COUNT(*) FROM customers LIMIT 1`;
      const { status, answer } = await ask('/query/sql', { sql });
      expect([multistage, status, answer.message, answer.exceptions]).toEqual([multistage, 200, undefined, []]);
    }
  });

  before15('answers that it has no path for validation', async () => {
    const { status } = await ask('/validateMultiStageQuery', { sqls: ['SELECT 1'] });
    expect(status).toBeGreaterThanOrEqual(400);
  });
});
