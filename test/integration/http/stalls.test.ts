import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { RawClient, type RawRequest, requestBytes } from '../../support/raw-client.ts';
import { StubEngine } from '../../support/stub-engine.ts';

// A request whose cost is too high for its size is rejected with 400, and other requests are served meanwhile, above all probes.

/** Seconds of the processor for a rejected request and its probes. The stalls that this test detects took 15 to 200. */
const CPU_LIMIT_SECONDS = 5;
const KB = 1024;

let engine: StubEngine;
let gateway: GatewayProcess;

beforeAll(async () => {
  engine = new StubEngine(['orders_OFFLINE']);
  await engine.listen();
  gateway = await GatewayProcess.start({ controllers: engine.url });
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
});

// A gateway rejects requests with 503 for some time after a stall.
beforeEach(async () => {
  const ask = async () => (await gateway.once(query('SELECT a FROM orders'))).status;
  await expect.poll(ask).toBe(200);
});

/** Calls `/livez` on a new connection. @throws {Error} without a response */
async function probe(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const url = `http://127.0.0.1:${gateway.metricsPort}/livez`;
  const asked = httpRequest(url, { agent: false, timeout: WAIT_LIMIT_MS }, (answer) => {
    answer.resume().on('end', () => resolve(answer.statusCode));
  });
  const stalled = new Error(`\`/livez\` did not answer within ${WAIT_LIMIT_MS} ms`);
  asked
    .on('timeout', () => asked.destroy(stalled))
    .on('error', reject)
    .end();
  expect(await promise).toBe(200);
}

const JSON_TYPE = ['Content-Type', 'application/json'] as const;

function query(sql: string, target = '/query/sql'): RawRequest {
  return { target, headers: [gateway.authorization(), JSON_TYPE], body: JSON.stringify({ sql }) };
}

/** The number of pieces that fit in `bytes`. */
function repeat(bytes: number, piece: (index: number) => string, between = ''): string {
  const pieces: string[] = [];
  for (let length = 0; ;) {
    const next = piece(pieces.length);
    length += next.length + between.length;
    if (length > bytes) return pieces.join(between);
    pieces.push(next);
  }
}

/** Below the limit of a text, so that another limit must apply. */
const TEXT = 250 * KB;
const nested = (open: string, close: string, depth: number, middle = ''): string =>
  open.repeat(depth) + middle + close.repeat(depth);

const STATEMENTS: Readonly<Record<string, () => string>> = {
  'thousands of CTEs': () =>
    `WITH ${repeat(TEXT, (i) => `c${i} AS (SELECT a FROM ${i === 0 ? 'orders' : `c${i - 1}`})`, ',')} SELECT a FROM c1`,
  'thousands of CTEs of one table': () =>
    `WITH ${repeat(TEXT, (i) => `c${i} AS (SELECT a FROM orders)`, ',')} SELECT a FROM orders`,
  'nested CTEs': () => nested('WITH c AS (', ') SELECT a FROM c', 5_000, 'SELECT a FROM orders'),
  'many databases for many tables': () =>
    `${repeat(42 * KB, (i) => `SET database='d${i}';`)} SELECT a FROM ${repeat(42 * KB, (i) => `t${i}`, ',')}`,
  'thousands of tables': () => `SELECT a FROM ${repeat(TEXT, (i) => `t${i}`, ',')}`,
  'thousands of joins': () => `SELECT a FROM orders ${repeat(TEXT, (i) => `JOIN t${i} ON a = b`, ' ')}`,
  'thousands of SET': () => `${repeat(TEXT, (i) => `SET o${i}=1;`)} SELECT a FROM orders`,
  'deep brackets': () => `SELECT a FROM orders WHERE ${nested('(', ')', 100_000, 'a = 1')}`,
  'deep queries': () => `SELECT a FROM ${nested('(SELECT a FROM ', ')', 10_000, 'orders')}`,
  'brackets that do not close': () => `SELECT a FROM orders WHERE ${'('.repeat(TEXT)}`,
  'deep functions': () => `SELECT ${nested('f(', ')', 60_000, 'a')} FROM orders`,
  'thousands of CASE': () => `SELECT ${nested('CASE WHEN a THEN ', ' END', 10_000, 'b')} FROM orders`,
  'thousands of NOT': () => `SELECT a FROM orders WHERE ${'NOT '.repeat(60_000)} a`,
  'thousands of UNION': () => `SELECT a FROM orders ${repeat(TEXT, () => 'UNION SELECT a FROM orders', ' ')}`,
  'comments that do not close': () => `SELECT a FROM orders ${repeat(TEXT, () => '/* ')}`,
  'quotes that do not close': () => `SELECT a FROM orders WHERE a = '${repeat(TEXT - 1, () => "''")}`,
  'more than 256 KiB': () => `SELECT a FROM orders WHERE a = '${'x'.repeat(256 * KB)}'`,
};

const OTHERS: Readonly<Record<string, () => RawRequest>> = {
  'a body nested 5,000 deep': () => ({
    ...query(''),
    body: `{"sql":"SELECT a FROM orders","queryOptions":${nested('[', ']', 5_000)}}`,
  }),
  'a body nested 100,000 deep': () => ({ ...query(''), body: `{"sql":${nested('{"a":', '}', 100_000, '1')}}` }),
  'a simulation of a long pattern': () => simulation([stars(30_000)], ['a'.repeat(900)]),
  'a simulation of a long name': () => simulation([stars(100)], ['a'.repeat(60 * KB)]),
  'a simulation of many patterns and names': () => {
    const patterns = Array.from({ length: 58 }, (_, i) => `${stars(450)}${i}`);
    return simulation(
      patterns,
      Array.from({ length: 900 }, (_, i) => `${'a'.repeat(900)}${i}`),
    );
  },
  'a stored policy of a long pattern': () => ({
    target: '/api/v1/rbac-manager/policies',
    headers: [gateway.authorization(), JSON_TYPE],
    body: JSON.stringify({ name: 'long-pattern', policyDocument: policy([stars(30_000)]) }),
  }),
  'a pattern in a SQL function': () => ({
    ...query(`SELECT a FROM orders WHERE REGEXP_LIKE(a, '${'(a*)*'.repeat(40 * KB)}b')`),
    target: '/query/sql',
  }),
};
/** Requests that may be accepted or rejected: they are cheap. */
const MAY_PASS = new Set([
  'a pattern in a SQL function',
  'a simulation of many patterns and names',
  'thousands of NOT',
]);

/** A pattern that names of the letter `a` match in many ways, except for their end. */
function stars(count: number): string {
  return `${'*a'.repeat(count)}*b`;
}

function policy(patterns: readonly string[]): object {
  const resources = patterns.map((pattern) => `srn2:table#${pattern}`);
  return { version: 'v1', statements: [{ effect: 'allow', actions: ['Query'], resources }] };
}

function simulation(patterns: readonly string[], tables: readonly string[]): RawRequest {
  return {
    target: '/api/v1/rbac-manager/simulate-access',
    headers: [gateway.authorization(), JSON_TYPE],
    body: JSON.stringify({
      policyDocumentJson: JSON.stringify(policy(patterns)),
      subjectTypeToSubject: { 'user-email': 'ada@example.com' },
      requests: tables.map((table) => ({ resourceSrn2String: `srn2:table#${table}`, action: 'Query' })),
    }),
  };
}

/** Sends a request, and probes until its response. The gateway must not have used much of the processor. */
async function expectRefusedMeanwhile(request: RawRequest, statuses: readonly number[]): Promise<void> {
  const client = await RawClient.open(gateway.port);
  const before = await gateway.cpuSeconds();
  try {
    client.send(requestBytes(request));
    const answer = client.answer();
    // Its failure is reported below, after that of the probes.
    const answered = answer.then(
      () => true,
      () => true,
    );
    do await probe();
    while (!(await Promise.race([answered, Promise.resolve(false)])));
    const { status, body } = await answer;
    const message = body.subarray(0, 300).toString();
    expect({ status: statuses.includes(status) ? statuses : status, message }).toEqual({ status: statuses, message });
    if (status === 400) expect(JSON.parse(body.toString())).toMatchObject({ status: 400 });
    expect((await gateway.cpuSeconds()) - before).toBeLessThan(CPU_LIMIT_SECONDS);
  } finally {
    client.destroy();
  }
}

/** The following tests cannot use a stalled gateway. */
async function restartIfStalled(): Promise<void> {
  const alive = await probe().then(
    () => true,
    () => false,
  );
  if (alive) return;
  await gateway.stop();
  gateway = await GatewayProcess.start({ controllers: engine.url });
}

it.each(Object.entries(STATEMENTS))('%s are rejected', async (name, sql) => {
  try {
    const text = sql();
    const statuses = MAY_PASS.has(name) ? [200, 400] : [400];
    await expectRefusedMeanwhile(query(text), statuses);
    await expectRefusedMeanwhile(query(text, '/query/sql?doPaginate=true'), statuses);
  } finally {
    await restartIfStalled();
  }
});

it.each(Object.entries(OTHERS))('%s is rejected', async (name, request) => {
  try {
    await expectRefusedMeanwhile(request(), MAY_PASS.has(name) ? [200, 400] : [400]);
  } finally {
    await restartIfStalled();
  }
});

it('a long name of a table is compared with a policy of many stars', async () => {
  const { bearerToken } = await gateway.tokenFor('stars', [
    { effect: 'allow', actions: ['Query', 'GetSchema'], resources: [`srn2:table#${stars(450)}`] },
  ]);
  const headers = [gateway.authorization(bearerToken), JSON_TYPE];
  const table = 'a'.repeat(12 * KB);
  const refused = [400, 403, 404, 414, 431];
  try {
    await expectRefusedMeanwhile({ target: `/tables/${table}/schema`, headers }, refused);
    const body = JSON.stringify({ sql: `SELECT a FROM ${table}` });
    await expectRefusedMeanwhile({ target: '/query/sql', headers, body }, refused);
  } finally {
    await restartIfStalled();
  }
});
