import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type PinotClient, sharedPinot } from '../../support/pinot.ts';
import { type RawAnswer, RawClient, type RawRequest, requestBytes } from '../../support/raw-client.ts';
import { afterEnd, digest, failure } from './answers.ts';

// The gateway forwards the responses of a real Pinot unchanged, by every route to every kind of client; pages contain its rows.

let pinot: PinotClient;
let gateway: GatewayProcess;
/** The tables in the broker's own responses, by their limits. */
let expected: Map<number, string>;

beforeAll(async () => {
  pinot = await sharedPinot();
  gateway = await GatewayProcess.start({ controllers: pinot.controllerUrl });
  expected = await expectedTables();
});
afterAll(() => gateway?.stop());

/** Rows of responses of about 1 KB, 63 to 65 KB, 100 KB and 1 MB. */
const LIMITS = [0, 5, 610, 620, 630, 640, 1_000, 10_000];
/** Of about 4 MB. */
const MOST = 40_000;
const COLUMNS = 'orderId, city, status, tags, note, quantity, price, orderedAt';
const sqlOf = (limit: number): string => `SELECT ${COLUMNS} FROM orders ORDER BY orderedAt LIMIT ${limit}`;
const JSON_TYPE = ['Content-Type', 'application/json'] as const;

interface Way {
  readonly name: string;
  request(sql: string): RawRequest;
}
const WAYS: readonly Way[] = [
  ...['/query/sql', '/sql'].map((target): Way => ({
    name: `POST ${target}`,
    request: (sql) => ({ target, headers: [JSON_TYPE], body: JSON.stringify({ sql }) }),
  })),
  { name: 'GET /query/sql', request: (sql) => ({ target: `/query/sql?sql=${encodeURIComponent(sql)}` }) },
];

/** The parts that depend only on the table: the schema and the bytes of the rows. */
function resultTable(body: Buffer): string {
  const text = body.toString();
  const from = text.indexOf('{"dataSchema"');
  return text.slice(from, text.indexOf(',"exceptions"', from));
}

interface Client {
  readonly version?: '1.0' | '1.1';
  readonly headers?: readonly (readonly [string, string])[];
  readonly slow?: boolean;
  readonly closes?: boolean;
}
const CLIENTS: Readonly<Record<string, Client>> = {
  'keeps its connection': {},
  'closes its connection': { headers: [['Connection', 'close']], closes: true },
  'speaks HTTP/1.0': { version: '1.0', closes: true },
  'accepts gzip': { headers: [['Accept-Encoding', 'gzip']] },
};

/** @returns the engine's own responses, by limit */
async function expectedTables(): Promise<Map<number, string>> {
  const tables = new Map<number, string>();
  for (const limit of [...LIMITS, MOST]) tables.set(limit, resultTable(Buffer.from(await pinot.query(sqlOf(limit)))));
  return tables;
}

function wrongs(what: string, answer: RawAnswer, expected = ''): string[] {
  if (answer.status !== 200) return [`${what}: ${answer.status} ${answer.body.subarray(0, 300).toString()}`];
  const received = resultTable(answer.body);
  if (received === expected) return [];
  return [`${what}: ${received.length} bytes ${digest(received)}, not ${expected.length} bytes ${digest(expected)}`];
}

const authorized = (request: RawRequest, headers: Client['headers'] = []): RawRequest => ({
  ...request,
  headers: [gateway.authorization(), ...(request.headers ?? []), ...headers],
});

/** Requests each number of rows. @returns all differences */
async function ask(way: Way, how: Client, limits: readonly number[]): Promise<string[]> {
  const { version = '1.1', slow = false, closes = false } = how;
  const wrong: string[] = [];
  let client: RawClient | undefined;
  for (const limit of limits) {
    client ??= await RawClient.open(gateway.port, { slow });
    const request = { version, ...authorized(way.request(sqlOf(limit)), how.headers) };
    try {
      wrong.push(...wrongs(`${limit} rows`, await client.request(request), expected.get(limit)));
      if (closes) wrong.push(...(await afterEnd(client)));
    } catch (error) {
      wrong.push(...failure(`${limit} rows`, error));
    }
    if (!closes && wrong.length === 0) continue;
    client.destroy();
    client = undefined;
  }
  client?.destroy();
  return wrong;
}

describe('answers of the real Pinot', () => {
  it('have the sizes that this test needs', () => {
    const sizes = [...expected.values()].map((table) => table.length);
    expect(sizes.some((size) => size > 60_000 && size < 70_000)).toBe(true);
    expect(Math.max(...sizes)).toBeGreaterThan(3_000_000);
  });

  describe.each(WAYS)('to $name', (way) => {
    it.each(Object.entries(CLIENTS))('are complete for a client that %s', async (_name, how) => {
      expect(await ask(way, how, LIMITS)).toEqual([]);
    });

    it('are complete for a client that sends all requests at once', async () => {
      const client = await RawClient.open(gateway.port);
      const requests = LIMITS.map((limit) => requestBytes(authorized(way.request(sqlOf(limit)))));
      client.send(Buffer.concat(requests));
      const wrong: string[] = [];
      for (const limit of LIMITS) wrong.push(...wrongs(`${limit} rows`, await client.answer(), expected.get(limit)));
      client.destroy();
      expect(wrong).toEqual([]);
    });
  });

  it('of 4 MB are complete, also for a client that reads slowly', async () => {
    const [post] = WAYS as [Way];
    for (const how of [{}, { slow: true }]) expect(await ask(post, how, [MOST, 5])).toEqual([]);
  });

  it('of the controller are complete', async () => {
    const client = await RawClient.open(gateway.port);
    for (const target of [
      '/schemas/orders',
      '/tables/orders',
      '/segments/orders',
      '/tables/orders/externalview',
      '/instances',
    ]) {
      const direct = Buffer.from(await (await fetch(pinot.controllerUrl + target)).arrayBuffer());
      const passed = await client.request(authorized({ target }));
      expect([target, passed.status, digest(passed.body)]).toEqual([target, 200, digest(direct)]);
    }
    client.destroy();
  });

  it('have the rows of the pages', async () => {
    const total = MOST;
    const client = await RawClient.open(gateway.port);
    const body = JSON.stringify({ sql: sqlOf(total) });
    const target = '/query/sql?doPaginate=true&numRows=100';
    const first = await client.request(authorized({ target, headers: [JSON_TYPE], body }));
    expect(first.status).toBe(200);
    const { requestId } = JSON.parse(first.body.toString()) as { requestId: string };
    const rows: string[] = [];
    for (const [offset, numRows] of [
      [0, 1],
      [1, 399],
      [400, 402],
      [802, 6_500],
      [7_302, total],
    ] as const) {
      const page = await client.request(
        authorized({ target: `/query/${requestId}/results?offset=${offset}&numRows=${numRows}` }),
      );
      expect(page.status).toBe(200);
      const text = page.body.toString();
      const from = text.indexOf('"rows":[') + '"rows":['.length;
      rows.push(text.slice(from, text.indexOf(']},"requestId"', from)));
    }
    client.destroy();
    const engine = expected.get(total) ?? '';
    const engineRows = engine.slice(engine.indexOf('"rows":[') + '"rows":['.length, engine.lastIndexOf(']}'));
    expect(rows.join(',').length).toBe(engineRows.length);
    expect(rows.join(',') === engineRows).toBe(true);
  });
});
