import type { FairQueue } from '../../../src/platform/fair-queue.ts';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ListMultipartUploadsCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryQueue } from '../../../src/api/server/admission/memory.ts';
import type { EngineRequest, EngineResponse } from '../../../src/pinot/types.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../src/results/settings.ts';
import { TEST_HEADERS, TEST_TOKEN } from '../../support/app.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { fileProperties, s3Properties } from '../../support/result-stores.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { until } from '../../support/until.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { answerText, responseOf, StubEndpoint } from '../../unit/results/answers.ts';
import { once } from '../../support/once.ts';

// Clients that disconnect at each phase of a request: nothing of it stays behind.

/** As many as there are places for submissions and downloads of one caller: one that stays occupied fails the next round. */
const CLIENTS = 4;
const ROUNDS = 2;
const BODY = JSON.stringify({ sql: 'SELECT * FROM orders' });
/** About 12 MB: several parts of an upload, and more than the buffers of a connection keep. */
const ROWS = Array.from({ length: 12_000 }, (_, i) => `[${i},"${'x'.repeat(1000)}"]`);

let s3: S3Server;
let client: S3Client;
let folder: string;
let gateway: TestGateway;
let endpoint: StubEndpoint;
let memory: FairQueue;
/** Of the engine: requests and bodies that have not ended. */
const asked = new Set<EngineRequest>();
const bodies = new Set<Readable>();

beforeAll(async () => {
  s3 = await startS3();
  client = s3.client();
});
afterAll(async () => {
  client?.destroy();
  await s3?.stop();
});

interface StoreCase {
  readonly name: string;
  /** Makes an empty store. */
  readonly open: () => Promise<void>;
  /** Names of everything in it. */
  readonly content: () => Promise<string[]>;
  properties?: PropertyValues;
}

const bucketName = (): string => `leaving-${crypto.randomUUID()}`;

function stores(): StoreCase[] {
  const file: StoreCase = {
    name: 'file',
    open: async () => void (file.properties = fileProperties(folder)),
    content: async () => (await Promise.all(['data', 'temp'].map((name) => readdir(join(folder, name))))).flat(),
  };
  let Bucket = '';
  const s3Case: StoreCase = {
    name: 's3',
    open: async () => {
      Bucket = bucketName();
      s3Case.properties = s3Properties(await s3.bucket(Bucket));
    },
    content: async () => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return [...Contents, ...Uploads].map(({ Key = '' }) => Key);
    },
  };
  return [file, s3Case];
}

/** Notes a response of the engine until its body ends. */
function noted(response: EngineResponse): EngineResponse {
  bodies.add(response.body);
  response.body.once('close', () => bodies.delete(response.body));
  return response;
}

/** An engine that does not respond to queries until they are aborted. */
async function silent(request: EngineRequest): Promise<EngineResponse> {
  // The gateway cancels queries at the engine, too.
  if (request.method !== 'POST') return responseOf('{}');
  asked.add(request);
  return new Promise((_resolve, reject) => {
    const end = (): void => {
      asked.delete(request);
      reject(new Error('aborted'));
    };
    if (request.signal?.aborted === true) end();
    else request.signal?.addEventListener('abort', end, { once: true });
  });
}

/** A response whose end never comes. */
function unending(): EngineResponse {
  const text = Buffer.from(answerText(ROWS));
  const body = new Readable({ read: () => undefined });
  body.push(text.subarray(0, text.length - 100));
  return noted({ status: 200, headers: {}, body });
}

/** Sends a request. */
async function send(request: string): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const [line, body] = request.split('\n') as [string, string | undefined];
  const length = body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  socket.write(`${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_TOKEN}\r\n${length}\r\n${body ?? ''}`);
  return socket;
}

/** Sends requests, waits until each is ready, and only then disconnects. */
async function leave(requests: readonly string[], ready: (socket: Socket) => Promise<unknown>): Promise<void> {
  const sockets = await Promise.all(requests.map(send));
  await Promise.all(sockets.map(ready));
  for (const socket of sockets) socket.destroy();
}

/** Waits for the first bytes of the response. */
const firstBytes = async (socket: Socket): Promise<void> => {
  await once(socket, 'data');
  socket.pause();
};
const sent = (socket: Socket): Promise<void> => new Promise((resolve) => socket.write('', () => resolve()));

function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...TEST_HEADERS, 'content-type': 'application/json', connection: 'close' };
  return fetch(gateway.url + path, { ...init, headers, signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
}

async function submit(): Promise<string> {
  endpoint.answer = () => noted(responseOf(answerText(ROWS)));
  const answer = await call('/query/sql?doPaginate=true&numRows=1', { method: 'POST', body: BODY });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { requestId: string }).requestId;
}

async function openFiles(): Promise<string[]> {
  const all = await readdir('/proc/self/fd');
  const targets = await Promise.all(all.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(folder));
}

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => {
    gateway.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

const SUBMISSION = `POST /query/sql?doPaginate=true\n${BODY}`;
const ASYNC = `POST /query/sql?doPaginate=true&async=true\n${BODY}`;

/** The caller's queries. */
async function mine(): Promise<readonly { requestId: string; state: string }[]> {
  const answer = (await (await call('/query/mine')).json()) as { queries: { requestId: string; state: string }[] };
  return answer.queries;
}

describe.each(stores())('clients that leave a gateway with results in $name', (store) => {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-leaving-'));
    await store.open();
    endpoint = new StubEndpoint();
    memory = memoryQueue();
    [gateway] = (await startGateways(1, {
      engine: engineOf(endpoint),
      store: () => store.properties as PropertyValues,
      settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, maxSubmissions: CLIENTS }),
      isSingle: true,
      memory,
    })) as [TestGateway];
  });
  afterEach(async () => {
    await stopGateways([gateway]);
    await rm(folder, { recursive: true, force: true });
  });

  /** @param before names of what was in the store */
  async function expectNothingLeft(before: readonly string[]): Promise<void> {
    await until('the engine is free', () => asked.size + bodies.size === 0);
    await until('the memory is returned', () => memory.used === 0);
    await until('the connections are closed', async () => (await connections()) === 0);
    await until('the store has nothing new', async () => (await store.content()).length === before.length);
    // A reader keeps one file as a cache.
    await until('no file is open', async () => (await openFiles()).length <= 1);
  }

  async function leaveOften(request: string, ready: (socket: Socket) => Promise<unknown>): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const before = await endedSubmissions();
      await leave(
        Array.from({ length: CLIENTS }, () => request),
        ready,
      );
      if (request !== SUBMISSION) continue;
      await until('the submissions have ended', async () => (await endedSubmissions()) === before + CLIENTS);
    }
  }

  /** Their places are free. */
  async function endedSubmissions(): Promise<number> {
    const metric = await gateway.registry.getSingleMetric('olap_warden_pagination_submissions_total')?.get();
    return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
  }

  it('before and while the engine responds leave nothing, and all places are free', async () => {
    const before = await store.content();
    endpoint.answer = silent;
    await leaveOften(SUBMISSION, () => until('the engine has the queries', () => asked.size === CLIENTS));
    await expectNothingLeft(before);
    endpoint.answer = unending;
    await leaveOften(SUBMISSION, () => until('the engine responds', () => bodies.size === CLIENTS));
    await expectNothingLeft(before);
    await Promise.all(Array.from({ length: CLIENTS }, submit));
  });

  it('during a page and a download leave nothing but the result', async () => {
    const id = await submit();
    const before = await store.content();
    for (const path of ['offset=0&numRows=12000', 'format=csv', 'format=arrow']) {
      await leaveOften(`GET /query/${id}/results?${path}`, firstBytes);
      await leaveOften(`GET /query/${id}/results?${path}`, sent);
    }
    await expectNothingLeft(before);
    const open = await Promise.all(Array.from({ length: CLIENTS }, () => call(`/query/${id}/results?format=csv`)));
    expect(open.map(({ status }) => status)).toEqual(Array.from({ length: CLIENTS }, () => 200));
    await Promise.all(open.map((answer) => answer.arrayBuffer()));
  });

  it('during an asynchronous submission leave queries that are listed and can be cancelled', async () => {
    endpoint.answer = silent;
    for (let round = 0; round < ROUNDS; round++) {
      await leave(
        Array.from({ length: CLIENTS }, () => ASYNC),
        round === 0 ? firstBytes : sent,
      );
      await until('the submissions have ended', async () => (await connections()) === 0);
      const listed = await mine();
      expect(asked.size).toBeLessThanOrEqual(listed.length);
      for (const { requestId } of listed) await (await call(`/query/${requestId}`, { method: 'DELETE' })).arrayBuffer();
      await until('the engine is free', () => asked.size === 0);
    }
    const states = (await mine()).map(({ state }) => state);
    expect(states.length).toBeGreaterThanOrEqual(CLIENTS);
    expect(new Set(states)).toEqual(new Set(['cancelled']));
    await until('the memory is returned', () => memory.used === 0);
  });
});
