import type { FairQueue } from '../../../src/platform/fair-queue.ts';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request as ask } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryQueue } from '../../../src/api/server/admission/memory.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../src/results/settings.ts';
import { TEST_HEADERS } from '../../support/app.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { fileProperties, gcsProperties, memoryProperties, s3Properties } from '../../support/result-stores.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { until } from '../../support/until.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { answerText, responseOf, StubEndpoint } from '../../unit/results/answers.ts';

// A result that is deleted while it is read: each reader gets all of it or a broken connection, never a shorter result that looks complete.

/** About 24 MB: more than the gateway, the sockets and the client keep. */
const ROWS = Array.from({ length: 24_000 }, (_, i) => `[${i},"${'x'.repeat(1000)}"]`);
const READS = {
  page: 'offset=0&numRows=24000',
  'JSON lines': 'format=jsonl',
  CSV: 'format=csv',
  Arrow: 'format=arrow',
  Parquet: 'format=parquet',
} as const;
type Read = keyof typeof READS;

let s3: S3Server;
let gcs: GcsServer;
let folder: string;
let gateway: TestGateway;
let memory: FairQueue;

beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
});

const bucketName = (): string => `deleted-${crypto.randomUUID()}`;
const STORES: Readonly<Record<string, () => Promise<PropertyValues>>> = {
  memory: async () => memoryProperties(),
  file: async () => fileProperties(folder),
  s3: async () => s3Properties(await s3.bucket(bucketName())),
  gcs: async () => gcsProperties(await gcs.bucket(bucketName())),
};

describe.each(Object.entries(STORES))('a result in the store `%s` that is deleted', (_name, open) => {
  let agent: Agent;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-deleted-'));
    const properties = await open();
    memory = memoryQueue();
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(ROWS));
    [gateway] = (await startGateways(1, {
      engine: engineOf(endpoint),
      store: () => properties,
      settings: () => DEFAULT_PAGINATION_SETTINGS,
      isSingle: true,
      memory,
    })) as [TestGateway];
    agent = new Agent({ headersTimeout: WAIT_LIMIT_MS, bodyTimeout: WAIT_LIMIT_MS });
  });
  afterEach(async () => {
    await agent?.destroy();
    await stopGateways([gateway]);
    await rm(folder, { recursive: true, force: true });
  });

  type Method = 'GET' | 'POST' | 'DELETE';
  const call = (method: Method, path: string, body: string | null = null) =>
    ask(gateway.url + path, {
      method,
      dispatcher: agent,
      headers: { ...TEST_HEADERS, ...(body !== null && { 'content-type': 'application/json' }) },
      body,
    });

  async function submit(): Promise<string> {
    const body = JSON.stringify({ sql: 'SELECT * FROM orders LIMIT 24000' });
    const answer = await call('POST', '/query/sql?doPaginate=true&numRows=1', body);
    expect(answer.statusCode).toBe(200);
    return ((await answer.body.json()) as { requestId: string }).requestId;
  }

  /** Reads a result; `meanwhile` runs after the first piece. @returns the digest of the response, or undefined where its connection broke */
  async function read(id: string, how: Read, meanwhile?: () => Promise<void>): Promise<string | undefined> {
    const { statusCode, body } = await call('GET', `/query/${id}/results?${READS[how]}`);
    expect(statusCode).toBe(200);
    const hash = createHash('sha256');
    let isFirst = true;
    try {
      for await (const piece of body) {
        if (isFirst) await meanwhile?.();
        isFirst = false;
        hash.update(piece as Buffer);
      }
    } catch (error) {
      expect((error as { code?: unknown }).code).toMatch(
        /^(?:UND_ERR_SOCKET|ECONNRESET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/,
      );
      return undefined;
    }
    // The times of a page differ; nothing else does.
    return hash.digest('hex');
  }

  async function openFiles(): Promise<string[]> {
    const all = await readdir('/proc/self/fd');
    const targets = await Promise.all(all.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    return targets.filter((target) => target.startsWith(folder));
  }

  it.each(Object.keys(READS) as Read[])('while a %s is read is complete, or the connection breaks', async (how) => {
    const id = await submit();
    const whole = await read(id, how);
    expect(whole).toBeDefined();
    const again = await read(id, how);
    expect(again).toBe(whole);
    const seen = await read(id, how, async () => {
      const deleted = await call('DELETE', `/query/resultStore/${id}`);
      expect([deleted.statusCode, await deleted.body.text()]).toEqual([200, expect.any(String)]);
    });
    expect([whole, undefined]).toContain(seen);
    const gone = await call('GET', `/query/${id}/results?${READS[how]}`);
    expect([gone.statusCode, ((await gone.body.json()) as { status: number }).status]).toEqual([404, 404]);
    await until('the memory is returned', () => memory.used === 0);
    await until('no file is open', async () => (await openFiles()).length === 0);
  });
});
