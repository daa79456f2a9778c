import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListMultipartUploadsCommand, ListPartsCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { gcsProperties, s3Properties, type TestBucket } from '../../support/result-stores.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { EngineResponse } from '../../../src/pinot/types.ts';
import { CHECKSUM_BLOCK_BYTES } from '../../../src/results/rows/checksums.ts';
import { readPage } from '../../../src/results/rows/page.ts';
import { newRequestId } from '../../../src/results/request-id.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { createResultStore } from '../../../src/results/stores/result-stores.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { CutProxy } from '../../support/cut-proxy.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { TcpCut } from '../../support/tcp-cut.ts';
import { answerText, collect, submission } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const ROWS = Array.from({ length: 4500 }, (_, i) => `[${i},"${'x'.repeat(2000)}"]`);
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);
let seed = 0;
const newId = (): string => newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, `streams-${++seed}`));

/** A response whose last bytes arrive only when `finish` is called. */
class SlowAnswer {
  readonly body: Readable;
  readonly #rest: Buffer;

  constructor() {
    const all = Buffer.from(answerText(ROWS));
    const most = all.length - 10_000;
    this.#rest = all.subarray(most);
    this.body = new Readable({ read: () => undefined });
    this.body.push(all.subarray(0, most));
  }

  get response(): EngineResponse {
    return { status: 200, headers: {}, body: this.body };
  }

  finish(): void {
    this.body.push(this.#rest);
    this.body.push(null);
  }
}

let s3: S3Server;
let gcs: GcsServer;
let client: S3Client;

beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  client = s3.client();
});
afterAll(async () => {
  client?.destroy();
  await s3?.stop();
  await gcs?.stop();
});

async function open(properties: PropertyValues): Promise<ResultStore> {
  const store = await createResultStore(properties, {
    gatewayId: 'gateway-0',
    clock: systemClock,
    onProblem: (message) => {
      throw new Error(message);
    },
  });
  await store.start(signal());
  return store;
}

describe('a bucket of S3', () => {
  let store: ResultStore;
  let bucket: TestBucket;
  let proxy: CutProxy;

  beforeAll(async () => {
    proxy = new CutProxy(s3.url);
    await proxy.listen();
    bucket = await s3.bucket('streams');
    store = await open(s3Properties({ ...bucket, endpoint: proxy.url }));
  });
  afterAll(async () => {
    await store?.close();
    await proxy?.close();
  });
  afterEach(() => vi.unstubAllEnvs());

  /** Number of stored parts of the only upload in progress; undefined if there is none. */
  async function partsUnderWay(): Promise<number | undefined> {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket.bucket }));
    const [{ Key, UploadId } = {}] = Uploads;
    if (Uploads.length === 0) return undefined;
    const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket: bucket.bucket, Key, UploadId }));
    return Parts.length;
  }

  it('receives parts of a result while the engine still sends', async () => {
    const answer = new SlowAnswer();
    const outcome = storeResponse(answer.response, store, submission({ requestId: newId() }), signal());
    await expect.poll(partsUnderWay).toBe(1);
    answer.finish();
    expect((await outcome).kind).toBe('stored');
    expect(await partsUnderWay()).toBeUndefined();
  });

  it.each([
    ['aborted by the client', (_answer: SlowAnswer, leave: () => void) => leave(), 'aborted'],
    ['that ends unexpectedly', ({ body }: SlowAnswer) => body.destroy(new Error('reset')), 'bad-response'],
    ['that is not JSON', ({ body }: SlowAnswer) => body.push('}]') && body.push(null), 'bad-response'],
  ] as const)('keeps no part of a response %s', async (_what, end, code) => {
    const answer = new SlowAnswer();
    const caller = new AbortController();
    const outcome = storeResponse(answer.response, store, submission({ requestId: newId() }), caller.signal);
    await expect.poll(partsUnderWay).toBe(1);
    end(answer, () => caller.abort());
    await expect(outcome).rejects.toMatchObject({ code });
    expect(await partsUnderWay()).toBeUndefined();
  });

  it('reads only the bytes of a page', async () => {
    const answer = new SlowAnswer();
    answer.finish();
    const requestId = newId();
    // The record of a result that has not expired is not read again.
    const expirationTimeMs = Number.MAX_SAFE_INTEGER;
    await storeResponse(answer.response, store, submission({ requestId, expirationTimeMs }), signal());
    proxy.arm(-1, 'before', async () => undefined);
    const reader = await store.open(requestId, signal());
    const { rows } = await readPage(reader!, { offset: 4000, numRows: 10 }, {}, signal());
    expect(await collect(rows)).toBe(ROWS.slice(4000, 4010).join(','));
    const ranges = proxy.seen.map(({ range }) => range).filter((range) => range !== undefined);
    // The index, and the blocks of ten rows.
    expect(ranges).toHaveLength(2);
    expect(proxy.seen.filter(({ method, range }) => method === 'GET' && range === undefined)).toEqual([]);
    expect(Math.max(...proxy.seen.map(({ answerBytes }) => answerBytes))).toBeLessThanOrEqual(2 * CHECKSUM_BLOCK_BYTES);
    await reader!.close();
  });

  it('uses the credentials of the environment without configured ones', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', bucket.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', bucket.secretAccessKey);
    const bare = { ...bucket, accessKeyId: undefined, secretAccessKey: undefined };
    const another = await open(s3Properties(bare));
    let results = 0;
    for await (const { record } of another.list(signal())) results += Number(record.rowCount === ROWS.length);
    expect(results).toBe(2);
    await another.close();
  });
});

describe('a bucket of GCS', () => {
  let store: ResultStore;
  let proxy: CutProxy;

  beforeAll(async () => {
    proxy = new CutProxy(gcs.url);
    await proxy.listen();
    const bucket = await gcs.bucket('streams');
    store = await open(gcsProperties({ ...bucket, endpoint: proxy.url }));
  });
  afterAll(async () => {
    await store?.close();
    await proxy?.close();
  });

  const methods = (): string[] => proxy.seen.map(({ method }) => method);

  it('receives parts while the engine still sends, and reads only the bytes of a page', async () => {
    const answer = new SlowAnswer();
    const requestId = newId();
    proxy.arm(-1, 'before', async () => undefined);
    const outcome = storeResponse(answer.response, store, submission({ requestId }), signal());
    await expect.poll(methods).toEqual(['POST', 'PUT']);
    answer.finish();
    const stored = await outcome;
    if (stored.kind !== 'stored') throw new Error('not stored');
    proxy.arm(-1, 'before', async () => undefined);
    const { rows } = await readPage(stored.reader, { offset: 4000, numRows: 10 }, {}, signal());
    expect(await collect(rows)).toBe(ROWS.slice(4000, 4010).join(','));
    expect(proxy.seen.map(({ method, range }) => [method, range])).toEqual([
      ['GET', expect.stringMatching(/^bytes=\d+-\d+$/)],
      ['GET', expect.stringMatching(/^bytes=\d+-\d+$/)],
    ]);
    expect(Math.max(...proxy.seen.map(({ answerBytes }) => answerBytes))).toBeLessThanOrEqual(2 * CHECKSUM_BLOCK_BYTES);
    await stored.reader.close();
  });

  it('deletes an upload when the client aborts', async () => {
    const answer = new SlowAnswer();
    const caller = new AbortController();
    proxy.arm(-1, 'before', async () => undefined);
    const outcome = storeResponse(answer.response, store, submission({ requestId: newId() }), caller.signal);
    await expect.poll(methods).toEqual(['POST', 'PUT']);
    caller.abort();
    await expect(outcome).rejects.toMatchObject({ code: 'aborted' });
    expect(methods()).toEqual(['POST', 'PUT', 'DELETE']);
  });
});

/** A response that is sent as fast as it is read, with a count of the sent bytes. */
class FastAnswer {
  sentBytes = 0;
  readonly response: EngineResponse;

  constructor(rows: number) {
    const [head = '', tail = ''] = answerText(['']).split('"rows":[]');
    this.response = { status: 200, headers: {}, body: Readable.from(this.#pieces(head, rows, tail)) };
  }

  *#pieces(head: string, rows: number, tail: string): Iterable<Buffer> {
    const row = `[1,"${'x'.repeat(2000)}"]`;
    yield Buffer.from(`${head}"rows":[${row}`);
    const piece = Buffer.from(`,${row}`.repeat(30));
    for (let i = 0; i < rows; i += 30) {
      this.sentBytes += piece.length;
      yield piece;
    }
    yield Buffer.from(`]${tail}`);
  }
}

/** Whether a number does not change within half a second. */
async function staysAt(number: () => number): Promise<boolean> {
  const before = number();
  await sleep(500);
  return number() === before;
}

describe('a connection that the bucket closes while the reader waits', () => {
  it.each([
    ['S3', async (endpoint: string) => open(s3Properties({ ...(await s3.bucket('closed')), endpoint })), () => s3],
    ['GCS', async (endpoint: string) => open(gcsProperties({ ...(await gcs.bucket('closed')), endpoint })), () => gcs],
  ] as const)('is replaced by another one for the rest of the rows (%s)', async (_name, make, server) => {
    const proxy = await TcpCut.start(server().url);
    const store = await make(proxy.url);
    const answer = new SlowAnswer();
    answer.finish();
    const stored = await storeResponse(answer.response, store, submission({ requestId: newId() }), signal());
    if (stored.kind !== 'stored') throw new Error('not stored');
    const { reader } = stored;
    proxy.sent = '';
    proxy.holdAfter(4_000_000, /^GET /u);
    const pieces: Uint8Array[] = [];
    let closed = 0;
    for await (const piece of reader.stream(0, reader.record.rowBytes, signal())) {
      pieces.push(piece);
      if (pieces.length > 1) continue;
      await sleep(1_200);
      closed = proxy.cutHeld();
    }
    expect(closed).toBe(1);
    expect(Buffer.concat(pieces).toString() === ROWS.join(',')).toBe(true);
    expect(proxy.sent.match(/^GET /gmu)).toHaveLength(2);
    await reader.close();
    await store.close();
    await proxy.close();
  });
});

describe('a bucket that stops responding for a while', () => {
  it.each([
    ['S3', async () => open(s3Properties(await s3.bucket('paused'))), () => s3],
    ['GCS', async () => open(gcsProperties(await gcs.bucket('paused'))), () => gcs],
  ] as const)('applies backpressure to the engine (%s) and continues afterwards', async (_name, make, server) => {
    const store = await make();
    const answer = new FastAnswer(30_000);
    server().pause();
    const outcome = storeResponse(answer.response, store, submission({ requestId: newId() }), signal());
    try {
      await expect.poll(() => answer.sentBytes).toBeGreaterThan(8_000_000);
      await expect.poll(() => staysAt(() => answer.sentBytes)).toBe(true);
      // Two parts in memory, and the buffers of the streams.
      expect(answer.sentBytes).toBeLessThan(24_000_000);
    } finally {
      server().resume();
    }
    const stored = await outcome;
    if (stored.kind !== 'stored') throw new Error('not stored');
    expect(stored.reader.record.rowCount).toBe(30_001);
    expect(answer.sentBytes).toBeGreaterThan(60_000_000);
    await stored.reader.close();
    await store.close();
  });
});
