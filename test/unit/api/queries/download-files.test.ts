import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PropertyValues } from '../../../../src/platform/setting-schema.ts';
import { TEST_HEADERS } from '../../../support/app.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { fileProperties, memoryProperties, storeProperties } from '../../../support/result-stores.ts';
import { answerText, responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

// Files of results in formats of columns: made at the first download, kept beside the rows, read by any part.

/** Texts that cannot be compressed much. */
const text = (row: number): string =>
  Math.imul(row + 1, 0x9e37_79b1)
    .toString(16)
    .repeat(3);
const ROWS = Array.from({ length: 3000 }, (_, i) => `[${i},"${text(i)}"]`);
const COLUMN_FORMATS = ['parquet', 'arrow'] as const;

let gateways: TestGateway[] = [];
let endpoint: StubEndpoint;
let folder: string;
let now: number;
let retention: (() => void)[];

beforeEach(async () => {
  endpoint = new StubEndpoint();
  endpoint.answer = () => responseOf(answerText(ROWS));
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-downloads-'));
  now = Date.now();
  retention = [];
});
afterEach(async () => {
  await stopGateways(gateways);
  gateways = [];
  await rm(folder, { recursive: true, force: true });
});

async function start(store: PropertyValues, count = 1): Promise<void> {
  const every = (call: () => void): void => void retention.push(call);
  gateways = await startGateways(count, { engine: engineOf(endpoint), store: () => store, now: () => now, every });
}

interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

const call = (path: string, { headers, ...init }: Init = {}, gateway = 0): Promise<Response> =>
  fetch(gateways[gateway]!.url + path, {
    ...init,
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    headers: { ...TEST_HEADERS, 'accept-encoding': 'identity', 'content-type': 'application/json', ...headers },
  });
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

async function submitted(): Promise<string> {
  const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
  const response = await call('/query/sql?doPaginate=true&numRows=1', { method: 'POST', body });
  expect([response.status, response.status === 200 || (await response.text())]).toEqual([200, true]);
  return ((await response.json()) as { requestId: string }).requestId;
}

/** The files of the store, without the index and the state of queries. */
const stored = async (): Promise<string[]> =>
  (await readdir(join(folder, 'data'))).map((name) => name.replace(/^[^.]*/, '')).sort();

describe.each(COLUMN_FORMATS)('a download as %s', (format) => {
  it('is served with its length and any part of it, from the file that the first request made', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const path = `/query/${id}/results?format=${format}`;
    const head = await call(path, { method: 'HEAD' });
    const length = Number(head.headers.get('content-length'));
    expect([head.status, head.headers.get('accept-ranges'), await head.text()]).toEqual([200, 'bytes', '']);
    const whole = await call(path);
    const etag = whole.headers.get('etag')!;
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(head.headers.get('etag')).toBe(etag);
    expect(whole.headers.get('content-length')).toBe(String(length));
    const bytes = await bytesOf(whole);
    expect(bytes.length).toBe(length);
    if (format === 'parquet') {
      const compressors = { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) };
      const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
      expect(rows.map(({ id: value }) => value)).toEqual(ROWS.map((_, i) => BigInt(i)));
    }

    for (const [range, from, to] of [
      ['bytes=0-0', 0, 1],
      ['bytes=-8', length - 8, length],
      [`bytes=-${'9'.repeat(400)}`, 0, length],
      [`bytes=100-${'9'.repeat(400)}`, 100, length],
      ['Bytes= 5-70000', 5, 70_001],
      [`bytes=${length - 1}-`, length - 1, length],
    ] as const) {
      const part = await call(path, { headers: { range, 'if-range': etag } });
      expect([range, part.status, part.headers.get('content-range')]).toEqual([
        range,
        206,
        `bytes ${from}-${Math.min(length, to) - 1}/${length}`,
      ]);
      expect((await bytesOf(part)).equals(bytes.subarray(from, to))).toBe(true);
    }
    for (const range of [`bytes=${length}-`, `bytes=${'9'.repeat(400)}-`, 'bytes=-0']) {
      const beyond = await call(path, { headers: { range } });
      expect([range, beyond.status, beyond.headers.get('content-range')]).toEqual([range, 416, `bytes */${length}`]);
      await beyond.arrayBuffer();
    }
    for (const headers of [
      { range: 'bytes=0-1,5-9' },
      { range: 'bytes=0-9,0-9,0-9,0-9' },
      { range: 'bytes=9-5' },
      { range: 'bytes=-' },
      { range: 'bytes=--5' },
      { range: 'rows=1-2' },
      { range: 'bytes=5-9', 'if-range': '"other"' },
    ])
      expect([headers, (await bytesOf(await call(path, { headers }))).equals(bytes)]).toEqual([headers, true]);
    expect(await stored()).toEqual(['.json', `.${format}`, '.rows'].sort());
  });

  it('has conditions', async () => {
    await start(fileProperties(folder));
    const path = `/query/${await submitted()}/results?format=${format}`;
    const etag = (await call(path, { method: 'HEAD' })).headers.get('etag')!;
    const statusOf = async (headers: Record<string, string>, method = 'GET'): Promise<number> => {
      const response = await call(path, { method, headers });
      await response.arrayBuffer();
      return response.status;
    };
    for (const tags of [etag, `"other", W/${etag}`, '*'])
      for (const method of ['GET', 'HEAD'])
        expect([tags, await statusOf({ 'if-none-match': tags }, method)]).toEqual([tags, 304]);
    expect(await statusOf({ 'if-none-match': '"other"' })).toBe(200);
    expect(await statusOf({ 'if-match': `"other", ${etag}` })).toBe(200);
    expect(await statusOf({ 'if-match': etag, range: 'bytes=0-1' })).toBe(206);
    // Tags of `If-Match` must be strong.
    for (const tags of ['"other"', `W/${etag}`])
      expect(await statusOf({ 'if-match': tags, range: 'bytes=0-1' })).toBe(412);
  });

  it('of a result without rows is a file, too', async () => {
    endpoint.answer = () => responseOf(answerText([]));
    await start(fileProperties(folder));
    const path = `/query/${await submitted()}/results?format=${format}`;
    const bytes = await bytesOf(await call(path));
    const tail = await call(path, { headers: { range: 'bytes=-8' } });
    expect([tail.status, await bytesOf(tail)]).toEqual([206, bytes.subarray(-8)]);
  });

  it('is made once for requests at the same time, and beside the other format', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const all = await Promise.all(
      [...COLUMN_FORMATS, ...COLUMN_FORMATS, ...COLUMN_FORMATS].map(async (each) => {
        const response = await call(`/query/${id}/results?format=${each}`, { headers: { range: 'bytes=-40' } });
        return [each, response.headers.get('content-range'), (await bytesOf(response)).toString('hex')].join();
      }),
    );
    expect(new Set(all).size).toBe(2);
    expect(await stored()).toEqual(['.arrow', '.json', '.parquet', '.rows']);
    expect(await readdir(join(folder, 'temp'))).toEqual([]);
  });

  it('is made anew where its file was damaged, which is not a damage of the result', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const path = `/query/${id}/results?format=${format}`;
    const bytes = await bytesOf(await call(path, { headers: { range: 'bytes=0-' } }));
    const file = join(folder, 'data', `${id}.${format}`);
    for (const at of [bytes.length >> 1, -1]) {
      const content = await readFile(file);
      content[(at + content.length) % content.length]! ^= 1;
      await writeFile(file, content);
      const first = await call(path, { headers: { range: 'bytes=0-' } });
      // A damage of the seal is found when the file is opened, one of the content when it is read.
      expect(first.status).toBe(at < 0 ? 206 : 503);
      await first.arrayBuffer();
      expect((await bytesOf(await call(path, { headers: { range: 'bytes=0-' } }))).equals(bytes)).toBe(true);
    }
    const list = (await (await call('/query/resultStore')).json()) as { resultMetadataList: { damaged?: string }[] };
    expect(list.resultMetadataList.map(({ damaged }) => damaged)).toEqual([undefined]);
  });

  it('is sent without a length where the store has no space for its file', async () => {
    // Room for the rows, their index and their record.
    await start(storeProperties('memory', { 'memory.max.bytes': ROWS.join(',').length + 40_000 }));
    const path = `/query/${await submitted()}/results?format=${format}`;
    const { usedBytes } = (await (await call('/query/resultStore/usage')).json()) as { usedBytes: number };
    const whole = await call(path, { headers: { range: 'bytes=0-9' } });
    expect([whole.status, whole.headers.get('content-length')]).toEqual([200, null]);
    expect((await bytesOf(whole)).length).toBeGreaterThan(16_000);
    const head = await call(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, null]);
    expect(await (await call('/query/resultStore/usage')).json()).toMatchObject({ usedBytes });
  });
});

describe('the file of a download', () => {
  const parquet = (id: string): string => `/query/${id}/results?format=parquet`;

  it('counts for the quota, and is deleted with its result', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const usage = async (): Promise<number> =>
      ((await (await call('/query/resultStore/usage')).json()) as { usedBytes: number }).usedBytes;
    const before = await usage();
    await (await call(parquet(id))).arrayBuffer();
    const { size } = await stat(join(folder, 'data', `${id}.parquet`));
    expect((await usage()) - before).toBe(size);
    expect((await call(`/query/resultStore/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect(await stored()).toEqual([]);
    expect((await call(parquet(id))).status).toBe(404);
  });

  it('is read to its end where the result expires meanwhile, and no further part is', async () => {
    endpoint.answer = () =>
      responseOf(answerText(Array.from({ length: 40 }, (_, i) => `[${i},"${text(i).repeat(40_000)}"]`)));
    await start(fileProperties(folder));
    const path = `/query/${await submitted()}/results?format=arrow`;
    const response = await call(path, { headers: { range: 'bytes=0-' } });
    const reader = response.body!.getReader();
    let read = (await reader.read()).value!.length;
    now += 2 * 3_600_000;
    expect((await call(path, { headers: { range: 'bytes=5-9' } })).status).toBe(404);
    for (let part = await reader.read(); !part.done; part = await reader.read()) read += part.value.length;
    expect(read).toBe(Number(response.headers.get('content-length')));
  });

  it('is served by any gateway, with the conditions of the client', async () => {
    await start(memoryProperties(), 2);
    const id = await submitted();
    const own = await call(parquet(id));
    const bytes = await bytesOf(own);
    const etag = own.headers.get('etag')!;
    const part = await call(parquet(id), { headers: { range: 'bytes=-9', 'if-match': etag } }, 1);
    expect([part.status, await bytesOf(part)]).toEqual([206, bytes.subarray(-9)]);
    expect((await call(parquet(id), { headers: { 'if-none-match': etag } }, 1)).status).toBe(304);
    const head = await call(parquet(id), { method: 'HEAD' }, 1);
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
  });

  it('is another one with `types=text`', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const etags = await Promise.all(
      ['', '&types=text'].map(async (types) => {
        const head = await call(parquet(id) + types, { method: 'HEAD' });
        return [head.status, head.headers.get('etag')].join();
      }),
    );
    expect(new Set(etags).size).toBe(2);
    expect(await stored()).toEqual(['.json', '.parquet', '.parquet-text', '.rows']);
    expect((await call(`${parquet(id)}&types=json`)).status).toBe(400);
  });

  it('is not made for some rows, nor for a format that does not exist', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const some = await call(`${parquet(id)}&offset=1`, { headers: { range: 'bytes=0-9' } });
    expect([some.status, some.headers.get('accept-ranges'), some.headers.get('content-length')]).toEqual([
      200,
      'none',
      null,
    ]);
    await some.arrayBuffer();
    const head = await call(`/query/${id}/results?format=orc`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([400, '']);
    expect(await stored()).toEqual(['.json', '.rows']);
  });

  it('that a killed process was writing is never served, and is removed', async () => {
    await start(fileProperties(folder));
    const id = await submitted();
    const bytes = await bytesOf(await call(parquet(id)));
    const file = join(folder, 'data', `${id}.parquet`);
    const content = await readFile(file);
    // As a disk may have it after a power failure: the name is there, and not all of the bytes.
    await writeFile(file, content.subarray(0, content.length - 100));
    expect((await bytesOf(await call(parquet(id)))).equals(bytes)).toBe(true);
    await rm(join(folder, 'data', `${id}.json`));
    await stopGateways(gateways);
    await start(fileProperties(folder));
    expect(await stored()).toEqual([]);
  });
});

it('the length of CSV is found for a HEAD', async () => {
  await start(fileProperties(folder));
  const path = `/query/${await submitted()}/results?format=csv`;
  const head = await call(path, { method: 'HEAD' });
  const { length } = await bytesOf(await call(path));
  expect(head.headers.get('content-length')).toBe(String(length));
});
