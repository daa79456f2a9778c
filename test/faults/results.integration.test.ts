import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { named, NOT_ROOT } from '../support/documents/obstacle.ts';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type S3Server, startS3 } from '../support/s3.ts';
import { FAULT_MS, Figures } from './support/figures.ts';
import { type Fault, FaultyProxy } from './support/faulty-proxy.ts';
import { Client, longest, type Outcome, send, statuses } from './support/load.ts';
import { execute } from '../support/execute.ts';

// A gateway that stores results, with faults of the object store, the disk and the engine, while clients submit queries and read pages.

const ROW_COUNT = 2_000;
const ROWS = Array.from({ length: ROW_COUNT }, (_, i) => [i, `city ${i}`]);
const DATA_SCHEMA = { columnNames: ['id', 'city'], columnDataTypes: ['LONG', 'STRING'] };
const ANSWER = JSON.stringify({
  resultTable: { dataSchema: DATA_SCHEMA, rows: ROWS },
  exceptions: [],
  tablesQueried: ['orders'],
  numDocsScanned: ROW_COUNT,
});
const PAGE_ROWS = 500;
/** Of a fault after which the gateway leaves another process: longer than the two probes that it takes. */
const HANG_MS = Math.max(FAULT_MS, 8_000);

const figures = new Figures('results');
let engine: FakeEngine;
let enginePath: FaultyProxy;
let gateway: GatewayProcess | undefined;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-faults-'));
  engine = new FakeEngine();
  await engine.listen();
  enginePath = await FaultyProxy.start(engine.url);
  engine.serve(['orders_OFFLINE'], ANSWER);
  // The gateway calls the broker through the proxy.
  const broker = { host: '127.0.0.1', port: Number(new URL(enginePath.url).port), instanceName: 'Broker_1' };
  engine.json('GET /tables/livebrokers', { orders_OFFLINE: [broker] });
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});
afterAll(async () => {
  await enginePath?.close();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
  await figures.write();
});

async function start(properties: readonly string[]): Promise<GatewayProcess> {
  gateway = await GatewayProcess.start({ controllers: engine.url, properties });
  return gateway;
}

function call({ url, token }: GatewayProcess, method: string, path: string, body?: unknown): Promise<Outcome> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return send(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

const submit = (to: GatewayProcess): Promise<Outcome> =>
  call(to, 'POST', '/query/sql?doPaginate=true&numRows=2', { sql: 'SELECT id, city FROM orders LIMIT 2000' });
const page = (of: GatewayProcess, requestId: string, offset: number): Promise<Outcome> =>
  call(of, 'GET', `/query/${requestId}/results?offset=${offset}&numRows=${PAGE_ROWS}`);

interface Page {
  readonly requestId: string;
  readonly resultTable: { readonly rows: unknown };
}

async function accepted(ask: () => Promise<Outcome>): Promise<Page> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const outcome = await ask();
    if (outcome.status === 200) return JSON.parse(outcome.text) as Page;
    if (Date.now() > deadline) throw new Error(`not served: ${outcome.status} ${outcome.text}`);
    await delay(50);
  }
}

/** A 200 has exactly the rows that were asked for. */
function check({ status, text }: Outcome, from: number, count: number): void {
  if (status === 'closed') return;
  const body = JSON.parse(text) as Page;
  if (status === 200) expect(body.resultTable.rows).toEqual(ROWS.slice(from, from + count));
}

interface Allowed {
  readonly submissions: readonly number[];
  readonly pages: readonly number[];
}

/**
 * Clients submit and read for the time of a fault, until both are served again. Each acknowledged result must be complete afterwards.
 * @returns the responses to submissions
 */
async function observe(
  to: GatewayProcess,
  fault: { readonly name: string; readonly ms?: number; readonly begin: () => unknown; readonly end: () => unknown },
  allowed: Allowed,
): Promise<readonly Outcome[]> {
  const { requestId } = await accepted(() => submit(to));
  const acknowledged: string[] = [];
  let offset = 0;
  const submissions = new Client(async () => {
    const outcome = await submit(to);
    check(outcome, 0, 2);
    if (outcome.status === 200) acknowledged.push((JSON.parse(outcome.text) as Page).requestId);
    return outcome;
  }, 50);
  const pages = new Client(async () => {
    const outcome = await page(to, requestId, offset);
    check(outcome, offset, PAGE_ROWS);
    offset = (offset + PAGE_ROWS) % ROW_COUNT;
    return outcome;
  }, 50);
  await fault.begin();
  await delay(fault.ms ?? FAULT_MS);
  await fault.end();
  const endedAt = performance.now();
  const isGood = (): boolean => submissions.lastGoodAt >= endedAt && pages.lastGoodAt >= endedAt;
  await expect.poll(isGood, { timeout: WAIT_LIMIT_MS, interval: 20 }).toBe(true);
  const recoveredMs = performance.now() - endedAt;
  const [submitted, read] = [await submissions.stop(), await pages.stop()];
  for (const id of acknowledged) {
    for (let at = 0; at < ROW_COUNT; at += PAGE_ROWS) check(await page(to, id, at), at, PAGE_ROWS);
    expect((await page(to, id, 0)).status).toBe(200);
  }
  const seen = `submissions ${statuses(submitted)}; pages ${statuses(read)}`;
  figures.add({ fault: fault.name, seen, longest: longest([...submitted, ...read]), recoveredMs });
  const others = (outcomes: readonly Outcome[], statuses: readonly number[]): string[] =>
    outcomes
      .filter(({ status }) => status === 'closed' || !statuses.includes(status))
      .map(({ status, text }) => `${status} ${text}`);
  expect(others(submitted, allowed.submissions)).toEqual([]);
  expect(others(read, allowed.pages)).toEqual([]);
  return submitted;
}

describe('a gateway with results in S3 serves only complete results while', () => {
  let s3: S3Server;
  let s3Path: FaultyProxy;
  let properties: readonly string[];
  beforeAll(async () => {
    s3 = await startS3();
    s3Path = await FaultyProxy.start(s3.url);
    const bucket = await s3.bucket('faults');
    properties = [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=s3://${bucket.bucket}/${bucket.prefix}`,
      `olap.broker.pagination.s3.endpoint=${s3Path.url}`,
      'olap.broker.pagination.s3.path.style=true',
      `olap.broker.pagination.s3.access.key=${bucket.accessKeyId}`,
      `olap.broker.pagination.s3.secret.key=${bucket.secretAccessKey}`,
      `olap.broker.storage.factory.s3.region=${bucket.region}`,
    ];
  });
  afterAll(async () => {
    await s3Path?.close();
    await s3?.stop();
  });

  const byProxy = (fault: Fault) => ({ begin: () => s3Path.set(fault), end: () => s3Path.set('none') });
  const faults = [
    ['the bucket answers 503', () => byProxy(503)],
    ['the bucket takes 2 s for each response', () => byProxy('slow')],
    ['the bucket does not respond', () => byProxy('silent')],
    ['the bucket resets all connections', () => byProxy('reset')],
    ['responses of the bucket are lost', () => byProxy('lost-answer')],
    ['responses of the bucket end early', () => byProxy('half-answer')],
    ['the server of the bucket is frozen', () => ({ begin: () => s3.pause(), end: () => s3.resume() })],
  ] as const;
  it.each(faults)('%s', async (name, fault) => {
    const to = await start(properties);
    await observe(to, { name, ...fault() }, { submissions: [200, 502, 503, 504], pages: [200, 502, 503, 504] });
  });
});

describe('a gateway with results in a folder serves only complete results while', () => {
  const properties = (directory: string): string[] => [
    'olap.broker.pagination.protocol=file',
    `olap.broker.pagination.file.data.dir=${directory}`,
  ];

  it.each([
    ['the broker resets all connections', 'reset'],
    ['the broker does not respond', 'silent'],
    ['the broker ends in the middle of a response', 'half-answer'],
    ['the broker answers 500', 500],
  ] as const)('%s, and pages do not depend on it', async (name, fault) => {
    const to = await start(properties(join(folder, name)));
    const cut = { name, begin: () => enginePath.set(fault), end: () => enginePath.set('none') };
    await observe(to, cut, { submissions: [200, 500, 502, 503, 504], pages: [200] });
  });

  it('one of two brokers accepts connections and responds to nothing, and no query fails', async () => {
    const name = 'one of two brokers accepts connections and does not respond';
    const brokers = [enginePath.url, engine.url].map((url) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }));
    const listed = engine.answers.get('GET /tables/livebrokers');
    engine.json('GET /tables/livebrokers', { orders_OFFLINE: brokers });
    try {
      const to = await start(properties(join(folder, name)));
      const silent = { name, ms: HANG_MS, begin: () => enginePath.set('silent'), end: () => enginePath.set('none') };
      const submitted = await observe(to, silent, { submissions: [200], pages: [200] });
      // The first ones wait until the broker was probed, and the others do not.
      expect(submitted.length).toBeGreaterThan(10);
    } finally {
      if (listed !== undefined) engine.answers.set('GET /tables/livebrokers', listed);
    }
  });

  it.skipIf(NOT_ROOT)(named('the disk is full (mounts a tmpfs)', NOT_ROOT), async () => {
    const disk = join(folder, 'disk');
    await mkdir(disk);
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]);
    try {
      const to = await start(properties(join(disk, 'results')));
      const ballast = join(disk, 'ballast');
      const fill = (): Promise<void> => writeFile(ballast, Buffer.alloc(32 * 1024 * 1024)).catch(() => undefined);
      const fault = { name: 'the disk of the results is full', begin: fill, end: () => rm(ballast) };
      await observe(to, fault, { submissions: [200, 503, 507], pages: [200] });
    } finally {
      await gateway?.stop();
      gateway = undefined;
      await execute('umount', ['-l', disk]);
    }
  });
});

describe('a gateway that reads results of another one serves only complete results while', () => {
  let holder: GatewayProcess;
  let peerPath: FaultyProxy;
  const properties = (name: string): string[] => [
    'olap.broker.pagination.protocol=file',
    `olap.broker.pagination.file.data.dir=${join(folder, name)}`,
  ];
  beforeAll(async () => {
    holder = await GatewayProcess.start({
      controllers: engine.url,
      flags: { 'broker-id': 'holder', 'advertise-host': '127.0.0.1' },
      properties: properties('holder'),
    });
    peerPath = await FaultyProxy.start(`http://127.0.0.1:${holder.port}`);
  });
  afterAll(async () => {
    await peerPath?.close();
    await holder?.stop();
  });

  const byProxy = (fault: Fault) => ({
    ms: FAULT_MS,
    hangs: false,
    begin: () => peerPath.set(fault),
    end: () => peerPath.set('none'),
  });
  const frozen = {
    ms: HANG_MS,
    hangs: true,
    begin: () => holder.program.signalGroup('SIGSTOP'),
    end: () => holder.program.signalGroup('SIGCONT'),
  };

  it.each([
    ['the other gateway resets all connections', byProxy('reset'), [200, 502, 503, 504]],
    ['the other gateway does not respond', { ...byProxy('silent'), ms: HANG_MS, hangs: true }, [200, 502, 503, 504]],
    // A page that has begun cannot become an error: its connection is aborted.
    ['responses of the other gateway end early', byProxy('half-answer'), [200, 502, 503, 504, 'closed']],
    ['the other gateway is frozen', frozen, [200, 503, 'closed']],
  ] as const)('%s', async (name, fault, allowed) => {
    const reader = await GatewayProcess.start({
      controllers: engine.url,
      flags: { 'broker-id': 'reader', peers: `127.0.0.1:${new URL(peerPath.url).port}` },
      properties: properties(name),
      tokensOf: holder,
    });
    gateway = reader;
    const { requestId } = await accepted(() => submit(holder));
    // The reader has found the holder.
    await accepted(() => page(reader, requestId, 0));
    let offset = 0;
    const pages = new Client(async () => {
      const outcome = await page(reader, requestId, offset);
      check(outcome, offset, PAGE_ROWS);
      offset = (offset + PAGE_ROWS) % ROW_COUNT;
      return outcome;
    }, 50);
    // What the reader stores itself does not depend on the other one.
    const submissions = new Client(() => submit(reader), 50);
    const listings = new Client(() => call(reader, 'GET', '/query/mine'), 50);
    fault.begin();
    await delay(fault.ms);
    fault.end();
    const endedAt = performance.now();
    await expect.poll(() => pages.lastGoodAt >= endedAt, { timeout: WAIT_LIMIT_MS, interval: 20 }).toBe(true);
    const recoveredMs = performance.now() - endedAt;
    const [read, submitted, listed] = [await pages.stop(), await submissions.stop(), await listings.stop()];
    if (fault.hangs) {
      expect(read.filter(({ status }) => status === 503).length).toBeGreaterThan(1);
      expect(listed.filter(({ text }) => text.includes('"incomplete":true')).length).toBeGreaterThan(1);
    }
    expect(listed.filter(({ status }) => status !== 200)).toEqual([]);
    const seen = `submissions ${statuses(submitted)}; pages ${statuses(read)}`;
    figures.add({ fault: name, seen, longest: longest([...submitted, ...read]), recoveredMs });
    expect(submitted.filter(({ status }) => status !== 200)).toEqual([]);
    const unexpected = read.filter(({ status }) => !(allowed as readonly unknown[]).includes(status));
    expect(unexpected.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
  });
});
