import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { type RawAnswer, RawClient, type RawRequest, requestBytes } from '../../support/raw-client.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { StubEngine } from '../../support/stub-engine.ts';
import { afterEnd, digest, type EngineFraming, failure, FRAMINGS, noise } from './answers.ts';

// Pages contain the bytes of the engine's rows, from every store, for every kind of client and in every size.

/** Each has 1,024 bytes including the comma after it. Its id cannot be represented as a double. */
const ROWS = Array.from({ length: 51_200 }, (_, i) => {
  const id = `[${9007199254740993n + BigInt(i)},"`;
  return `${id}${noise(`row ${i}`, 1023 - id.length - 2)}"]`;
});
const SCHEMA = '{"columnNames":["id","text"],"columnDataTypes":["LONG","STRING"]}';
/** Rows of a page: 1, 63, 64, 65, 100 KB and 1 MB. */
const PAGES = [1, 63, 64, 65, 100, 1024];

function answerText(rows: readonly string[]): string {
  return `{"resultTable":{"dataSchema":${SCHEMA},"rows":[${rows.join(',')}]},"exceptions":[],"tablesQueried":["orders"],"timeUsedMs":7,"traceInfo":{}}`;
}

interface Page {
  readonly offset: number;
  readonly numRows: number;
}

/** @returns what is wrong with a page */
function wrongs(answer: RawAnswer, { offset, numRows }: Page, total = ROWS.length): string[] {
  const what = `rows ${offset} to ${offset + numRows}`;
  if (answer.status !== 200) return [`${what}: ${answer.status} ${answer.body.subarray(0, 200).toString()}`];
  const text = (answer.headers.get('content-encoding') === 'gzip' ? gunzipSync(answer.body) : answer.body).toString();
  const head = `{"resultTable":{"dataSchema":${SCHEMA},"rows":[`;
  const rows = `${ROWS.slice(offset, Math.min(total, offset + numRows)).join(',')}]}`;
  if (!text.startsWith(head)) return [`${what}: another head: ${text.slice(0, 200)}`];
  const received = text.slice(head.length, head.length + rows.length);
  if (received !== rows) return [`${what}: ${text.length} bytes, rows ${digest(received)}, not ${digest(rows)}`];
  const rest = JSON.parse(`{${text.slice(head.length + rows.length + 1)}`) as Record<string, unknown>;
  const expected = { offset, numRows: Math.min(numRows, total - offset), numRowsResultSet: total, timeUsedMs: 7 };
  return Object.entries(expected).flatMap(([name, value]) =>
    rest[name] === value ? [] : [`${what}: \`${name}\` is ${JSON.stringify(rest[name])}, not ${value}`],
  );
}

interface PageFields {
  readonly requestId: string;
  readonly brokerHost: string;
  readonly brokerPort: number;
}

interface Result {
  readonly requestId: string;
  readonly forward: readonly (readonly [string, string])[];
}

const pageOf = (result: Result, { offset, numRows }: Page): RawRequest => ({
  target: `/query/${result.requestId}/results?offset=${offset}&numRows=${numRows}`,
  headers: result.forward,
});

let engine: StubEngine;
let s3: S3Server;
let gcs: GcsServer;
let folder: string;
/** Framing and rows of the engine's next response. */
let framing: EngineFraming = 'length';
let engineRows: readonly string[] = ROWS;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-pages-'));
  engine = new StubEngine(['orders_OFFLINE']);
  engine.responder = () => ({ body: answerText(engineRows), framing });
  [s3, gcs] = await Promise.all([startS3(), startGcs(), engine.listen()]);
});
afterAll(async () => {
  await engine?.close();
  await s3?.stop();
  await gcs?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The most that a connection may send at once. */
const MAX_PIPELINED = 17;
const PREFIX = 'olap.broker.pagination';

/** Settings of each store. */
const STORES: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  memory: async () => [`${PREFIX}.protocol=memory`],
  file: async () => [`${PREFIX}.protocol=file`, `${PREFIX}.file.data.dir=${join(folder, 'file')}`],
  s3: async () => {
    const bucket = await s3.bucket('pages');
    return [
      `${PREFIX}.protocol=s3`,
      `${PREFIX}.s3.bucket=${bucket.bucket}`,
      `${PREFIX}.s3.endpoint=${bucket.endpoint}`,
      `${PREFIX}.s3.region=${bucket.region}`,
      `${PREFIX}.s3.path.style=true`,
      `${PREFIX}.s3.access.key=${bucket.accessKeyId}`,
      `${PREFIX}.s3.secret.key=${bucket.secretAccessKey}`,
    ];
  },
  gcs: async () => {
    const bucket = await gcs.bucket('pages');
    return [
      `${PREFIX}.protocol=gcs`,
      `${PREFIX}.gcs.bucket=${bucket.bucket}`,
      `${PREFIX}.gcs.endpoint=${bucket.endpoint}`,
    ];
  },
};

/** The gateway that gets the requests and the one that stores the results; different ones if pages are forwarded. */
interface Gateways {
  readonly asked: GatewayProcess;
  readonly holder: GatewayProcess;
  stop(): Promise<void>;
}

async function oneGateway(store: string): Promise<Gateways> {
  const properties = (await STORES[store]?.()) ?? [];
  const gateway = await GatewayProcess.start({ controllers: engine.url, properties });
  return { asked: gateway, holder: gateway, stop: () => gateway.stop() };
}

async function twoGateways(store: string): Promise<Gateways> {
  const ports = (await freePorts(2)) as [number, number];
  const peers = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const flags = (index: 0 | 1) => ({
    ...{ port: ports[index], peers, 'advertise-host': '127.0.0.1', 'broker-id': `gateway-${index}` },
    'admin-subject': 'user-email:admin@localhost',
  });
  const properties = (await STORES[store]?.()) ?? [];
  const holder = await GatewayProcess.start({ controllers: engine.url, properties, flags: flags(0) });
  const asked = await GatewayProcess.start({
    ...{ controllers: engine.url, flags: flags(1), tokensOf: holder },
    properties: properties.map((property) => property.replace(join(folder, 'file'), join(folder, 'file-1'))),
  });
  return {
    asked,
    holder,
    async stop() {
      await holder.stop();
      await asked.stop();
    },
  };
}

const WAYS: readonly (readonly [string, () => Promise<Gateways>])[] = [
  ['from memory', () => oneGateway('memory')],
  ['from files', () => oneGateway('file')],
  ['from s3', () => oneGateway('s3')],
  ['from gcs', () => oneGateway('gcs')],
  ['from memory of another gateway', () => twoGateways('memory')],
  ['from files of another gateway', () => twoGateways('file')],
];

describe.each(WAYS)('pages %s', (_name, start) => {
  let gateways: Gateways;
  let stored: Result;

  beforeAll(async () => {
    gateways = await start();
    stored = await submit(1);
  });
  afterAll(() => gateways?.stop());

  const authorized = (request: RawRequest, ...more: readonly (readonly [string, string])[]): RawRequest => ({
    ...request,
    headers: [gateways.asked.authorization(), ...(request.headers ?? []), ...more],
  });

  /** Submits the query to the gateway that stores results. @throws {Error} if its first page is wrong */
  async function submit(numRows: number): Promise<Result> {
    const answer = await gateways.holder.once(submission(numRows));
    const wrong = wrongs(answer, { offset: 0, numRows }, engineRows.length);
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
    const page = JSON.parse(answer.body.toString()) as PageFields;
    const forward =
      gateways.holder === gateways.asked
        ? []
        : ([
            ['FORWARD_HOST', page.brokerHost],
            ['FORWARD_PORT', String(page.brokerPort)],
          ] as const);
    return { requestId: page.requestId, forward };
  }

  const submission = (numRows: number): RawRequest =>
    authorized({
      target: `/query/sql?doPaginate=true&numRows=${numRows}`,
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
    });

  const pages: readonly Page[] = [...PAGES, ...PAGES.toReversed()].flatMap((numRows, turn) => [
    { offset: (turn * 7919) % (ROWS.length - numRows), numRows },
    { offset: ROWS.length - numRows, numRows },
  ]);

  interface How {
    readonly version?: '1.0' | '1.1';
    readonly headers?: readonly (readonly [string, string])[];
    readonly slow?: boolean;
    readonly closes?: boolean;
  }

  /** Requests one page after the other. */
  async function ask(how: How, wanted: readonly Page[]): Promise<string[]> {
    const { version = '1.1', headers = [], slow = false, closes = false } = how;
    const wrong: string[] = [];
    let connection = await RawClient.open(gateways.asked.port, { slow });
    for (const page of wanted) {
      const request = { version, ...authorized(pageOf(stored, page), ...headers) };
      try {
        wrong.push(...wrongs(await connection.request(request), page));
        if (closes) wrong.push(...(await afterEnd(connection)));
      } catch (error) {
        wrong.push(...failure(`rows ${page.offset} to ${page.offset + page.numRows}`, error));
      }
      if (!closes && wrong.length === 0) continue;
      connection.destroy();
      connection = await RawClient.open(gateways.asked.port, { slow });
    }
    if (connection.unread > 0) wrong.push(`${connection.unread} bytes after the last page`);
    connection.destroy();
    return wrong;
  }

  it('are compressed for a client that accepts gzip', async () => {
    const page = { offset: 0, numRows: 64 };
    const answer = await gateways.asked.once(authorized(pageOf(stored, page), ['Accept-Encoding', 'gzip, deflate']));
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(wrongs(answer, page)).toEqual([]);
  });

  it.each([
    ['keeps its connection', {}],
    ['closes its connection', { headers: [['Connection', 'close']], closes: true }],
    ['speaks HTTP/1.0', { version: '1.0', closes: true }],
    ['speaks HTTP/1.0 and keeps its connection', { version: '1.0', headers: [['Connection', 'keep-alive']] }],
    ['accepts gzip', { headers: [['Accept-Encoding', 'gzip, deflate']] }],
    ['reads slowly', { slow: true }],
  ] as const satisfies readonly (readonly [string, How])[])(
    'are complete for a client that %s',
    async (_client, how) => {
      expect(await ask(how, pages)).toEqual([]);
    },
  );

  it('are complete for a client that sends all requests at once', async () => {
    const wrong: string[] = [];
    for (let at = 0; at < pages.length; at += MAX_PIPELINED) {
      const part = pages.slice(at, at + MAX_PIPELINED);
      const connection = await RawClient.open(gateways.asked.port);
      connection.send(Buffer.concat(part.map((page) => requestBytes(authorized(pageOf(stored, page))))));
      for (const page of part) wrong.push(...wrongs(await connection.answer(), page));
      expect(connection.unread).toBe(0);
      connection.destroy();
    }
    expect(wrong).toEqual([]);
  });

  it('of 50 MB are complete, and the connection can be reused', async () => {
    const all = { offset: 0, numRows: ROWS.length };
    expect(await ask({}, [all, { offset: 9, numRows: 3 }, { offset: 7, numRows: 64 }])).toEqual([]);
  });

  it.each(FRAMINGS)('of a submission are complete when the engine’s response ends by %s', async (by) => {
    framing = by;
    engineRows = ROWS.slice(0, 2_000);
    try {
      for (const numRows of PAGES) await submit(numRows);
      engineRows = [];
      const answer = await gateways.asked.once(submission(10));
      expect(answer.status).toBe(200);
      const empty = JSON.parse(answer.body.toString()) as object;
      expect(empty).toMatchObject({ resultTable: { rows: [] }, numRows: 0, numRowsResultSet: 0 });
    } finally {
      framing = 'length';
      engineRows = ROWS;
    }
  });

  it('can be mixed with metadata and errors on one connection', async () => {
    const connection = await RawClient.open(gateways.asked.port);
    const page = { offset: 100, numRows: 65 };
    // With several gateways, the one that the id names may be about to start again.
    const unknown = gateways.asked === gateways.holder ? 404 : 503;
    const requests: readonly (readonly [RawRequest, number])[] = [
      [{ target: `/query/${stored.requestId}/metadata`, headers: stored.forward }, 200],
      [{ target: `/query/${stored.requestId}/results?offset=51200`, headers: stored.forward }, 400],
      [{ target: '/query/00000000-000000000000000000000000000001/results?offset=0' }, unknown],
      [{ target: '/query/resultStore' }, 200],
    ];
    for (const [request, status] of requests) {
      const answer = await connection.request(authorized(request));
      expect([request.target, answer.status]).toEqual([request.target, status]);
      expect(() => JSON.parse(answer.body.toString()) as unknown).not.toThrow();
      expect(wrongs(await connection.request(authorized(pageOf(stored, page))), page)).toEqual([]);
    }
    connection.destroy();
  });
});
