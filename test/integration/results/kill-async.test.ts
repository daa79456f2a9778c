import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import type { TestBucket } from '../../support/result-stores.ts';
import { StandaloneGateway } from '../../support/standalone-gateway.ts';
import { until } from '../../support/until.ts';
import { answerText } from '../../unit/results/answers.ts';

const ROWS = Array.from({ length: 2000 }, (_, i) => `[${i},"${'x'.repeat(1000)}"]`);
const ANSWER = answerText(ROWS);
const STATES = ['queued', 'running', 'storing', 'done'] as const;

interface Status {
  readonly requestId: string;
  readonly state: string;
  readonly numRowsResultSet: number;
  readonly error?: { readonly status: number; readonly message: string };
}

let s3: S3Server;
let bucket: TestBucket;
let engine: FakeEngine;
let folder: string;
/** Queries that the engine has not answered. */
let waiting: ServerResponse[];
let gateways: StandaloneGateway[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-kill-'));
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
  engine.answers.set('POST /query/sql', (_request, response) => waiting.push(response));
  s3 = await startS3();
  bucket = await s3.bucket('killed-async');
  waiting = [];
  gateways = [];
});
afterAll(async () => {
  await s3?.stop();
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

const start = (id: string, properties: readonly string[]): StandaloneGateway => {
  const flags = { controllers: engine.url, brokers: engine.url, 'broker-id': id };
  const gateway = new StandaloneGateway(join(folder, id), flags, [
    'olap.broker.pagination.async.max.running=1',
    ...properties,
  ]);
  gateways.push(gateway);
  return gateway;
};
const inBucket = (): string[] => [
  'olap.broker.pagination.protocol=s3',
  `olap.broker.pagination.s3.bucket=${bucket.bucket}`,
  `olap.broker.pagination.s3.prefix=${bucket.prefix}`,
  `olap.broker.pagination.s3.endpoint=${s3.url}`,
  'olap.broker.pagination.s3.path.style=true',
  `olap.broker.pagination.s3.access.key=${bucket.accessKeyId}`,
  `olap.broker.pagination.s3.secret.key=${bucket.secretAccessKey}`,
  `olap.broker.pagination.s3.region=${bucket.region}`,
];
const onDisk = (): string[] => [
  'olap.broker.pagination.protocol=file',
  `olap.broker.pagination.file.data.dir=${join(folder, 'data')}`,
  `olap.broker.pagination.temp.dir=${join(folder, 'temp')}`,
];

/** Repeats a call as a client does after 503: a gateway on a busy machine may be overloaded, or wait too long for the store. */
async function call(gateway: StandaloneGateway, path: string, body?: object): Promise<Response> {
  let answer: Response | undefined;
  await until(`a response to ${path}`, async () => {
    answer = await gateway.call(path, body);
    return answer.status !== 503;
  });
  return answer!;
}

async function submit(gateway: StandaloneGateway): Promise<string> {
  const sql = 'SELECT * FROM orders LIMIT 5000';
  const answer = await call(gateway, '/query/sql?doPaginate=true&async=true', { sql });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as Status).requestId;
}

async function status(gateway: StandaloneGateway, id: string): Promise<Status> {
  const answer = await call(gateway, `/query/${id}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Status;
}

const reaches = (gateway: StandaloneGateway, id: string, state: string): Promise<void> =>
  until(`${id} is ${state}`, async () => (await status(gateway, id)).state === state);

/** Brings a new query into a state. */
async function queryIn(state: (typeof STATES)[number], gateway: StandaloneGateway): Promise<string> {
  waiting = [];
  const first = await submit(gateway);
  await until('a query at the engine', () => waiting.length === 1);
  const [response] = waiting;
  const id = state === 'queued' ? await submit(gateway) : first;
  response!.setHeader('content-type', 'application/json');
  if (state === 'storing') response!.write(ANSWER.slice(0, ANSWER.length / 2));
  if (state === 'done') response!.end(ANSWER);
  await reaches(gateway, id, state);
  return id;
}

async function expectState(gateway: StandaloneGateway, id: string, state: (typeof STATES)[number]): Promise<void> {
  const found = await status(gateway, id);
  const page = await call(gateway, `/query/${id}/results?offset=${ROWS.length - 1}`);
  if (state === 'done') {
    expect(found).toMatchObject({ state: 'done', numRowsResultSet: ROWS.length });
    expect(await page.text()).toContain(`"rows":[${ROWS.at(-1)}]`);
    return;
  }
  expect(found).toMatchObject({ state: 'failed', error: { status: 503 } });
  expect(found.error!.message).toContain('ended or restarted before the result was complete');
  expect(page.status).toBe(410);
  expect((await page.json()) as object).toMatchObject({ message: expect.stringContaining('ended or restarted') });
}

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
});

describe('a gateway that is killed while it runs asynchronous queries', () => {
  it.each(STATES)('on a disk: a query that was %s is done or has failed after the restart', async (state) => {
    let gateway = start('disk', onDisk());
    const id = await queryIn(state, gateway);
    await gateway.kill();
    gateway = start('disk', onDisk());
    await expectState(gateway, id, state);
    // Nothing of an incomplete result is left.
    const names = await readdir(join(folder, 'data'));
    expect(names.filter((name) => name.startsWith(id)).sort()).toEqual(
      state === 'done' ? expect.arrayContaining([`${id}.json`, `${id}.rows`]) : [`${id}.run`],
    );
    expect(await readdir(join(folder, 'temp'))).toEqual([]);
  });

  it.each(STATES)('in a bucket: a query that was %s is done or has failed for all gateways', async (state) => {
    let gateway = start('bucket-0', inBucket());
    const other = start('bucket-1', inBucket());
    const id = await queryIn(state, gateway);
    await until('the state at the other gateway', async () => (await status(other, id)).state === state);
    await gateway.kill();
    gateway = start('bucket-0', inBucket());
    await expectState(gateway, id, state);
    // Other gateways wait for a sign of life of the killed process: once is enough.
    if (state === 'queued' || state === 'storing') return;
    await until('the end at the other gateway', async () =>
      ['done', 'failed'].includes((await status(other, id)).state),
    );
    await expectState(other, id, state);
  });
});
