import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { S3ObjectClient, type S3Settings } from '../../../../../src/results/stores/s3/s3-client.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { collect } from '../../answers.ts';
import { once } from '../../../../support/once.ts';

// What the client sends for each call, and what it makes of the responses.

const MB = 1024 * 1024;
const AT = new Date('2026-01-02T03:04:05.000Z');
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

interface Sent {
  readonly request: string;
  readonly range?: string;
  readonly body?: string;
}

interface Response {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const ABSENT: Response = { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' };

let server: Server;
let url: string;
let sent: Sent[];
/** By the beginning of method and path. */
let responses: Map<string, Response>;
let clients: S3ObjectClient[];

beforeEach(async () => {
  [sent, responses, clients] = [[], new Map(), []];
  server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      const { searchParams, pathname } = new URL(request.url ?? '', url);
      searchParams.delete('x-id');
      const text = `${request.method} ${pathname}${searchParams.size === 0 ? '' : `?${searchParams.toString()}`}`;
      const body = bytes.length > 1000 ? `${bytes.length} bytes from ${bytes[0]}` : partsOf(bytes.toString());
      const { range } = request.headers;
      sent.push({ request: text, ...(range !== undefined && { range }), ...(body !== '' && { body }) });
      const [, found] = [...responses].find(([start]) => text.startsWith(start)) ?? [];
      response.writeHead(found?.status ?? 200, { 'content-type': 'application/xml', ...found?.headers });
      response.end(found?.body);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const client of clients) await client.close();
  server.closeAllConnections();
  server.close();
});

/** Number and ETag of each part in the request that completes an upload; other texts as they are. */
function partsOf(text: string): string {
  const parts = [...text.matchAll(/<ETag>&quot;(\w+)&quot;<\/ETag><PartNumber>(\d+)</g)];
  return parts.length === 0 ? text : parts.map(([, tag, number]) => `${number} ${tag}`).join(' ');
}

function clientOf(more: Partial<S3Settings> = {}): S3ObjectClient {
  const client = new S3ObjectClient({
    bucket: 'results',
    prefix: 'team/',
    endpoint: url,
    region: 'us-east-1',
    pathStyle: true,
    accessKeyId: 'access',
    secretAccessKey: 'secret',
    ...more,
  });
  clients.push(client);
  return client;
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

describe('an object', () => {
  it('is written, read and deleted by its name with the prefix', async () => {
    const client = clientOf();
    responses.set('GET', { body: 'bytes of it' });
    await client.put('r1.json', Buffer.from('record'), signal());
    expect(String(await client.get('r1.json', signal()))).toBe('bytes of it');
    expect(await collect((await client.range('r1.json', 3, 7, signal()))!)).toBe('bytes of it');
    await client.delete('r1.json', signal());
    await client.abortUpload({ key: 'r1.json', uploadId: 'u1', modifiedMs: 1 }, signal());
    expect(sent).toEqual([
      { request: 'PUT /results/team/r1.json', body: 'record' },
      { request: 'GET /results/team/r1.json' },
      { request: 'GET /results/team/r1.json', range: 'bytes=3-6' },
      { request: 'DELETE /results/team/r1.json' },
      { request: 'DELETE /results/team/r1.json?uploadId=u1' },
    ]);
  });

  it('has the size of the response', async () => {
    responses.set('HEAD', { headers: { 'content-length': '1234' } });
    expect(await clientOf().size('r1.rows', signal())).toBe(1234);
    expect(sent).toEqual([{ request: 'HEAD /results/team/r1.rows' }]);
  });

  it('is undefined where it does not exist', async () => {
    const client = clientOf();
    responses.set('GET', ABSENT);
    responses.set('HEAD', { status: 404 });
    expect(await client.get('r1.json', signal())).toBeUndefined();
    expect(await client.range('r1.json', 0, 1, signal())).toBeUndefined();
    expect(await client.size('r1.json', signal())).toBeUndefined();
  });
});

describe('a listing', () => {
  it('has one page where the bucket does not say that it is truncated', async () => {
    const next = '<NextContinuationToken>t1</NextContinuationToken><NextKeyMarker>team/r1</NextKeyMarker>';
    responses.set('GET', { body: `<Listing>${next}</Listing>` });
    const client = clientOf();
    expect([...(await all(client.list('r1', signal()))), ...(await all(client.uploads('r1', signal())))]).toEqual([]);
    expect(sent.map(({ request }) => request)).toEqual([
      'GET /results/?delimiter=%2F&list-type=2&prefix=team%2Fr1',
      'GET /results/?prefix=team%2Fr1&uploads=',
    ]);
  });

  it('ends with a page that is truncated and does not name the next one', async () => {
    responses.set('GET', { body: '<Listing><IsTruncated>true</IsTruncated></Listing>' });
    const client = clientOf();
    expect([...(await all(client.list('', signal()))), ...(await all(client.uploads('', signal())))]).toEqual([]);
    expect(sent.length).toBe(2);
  });
});

describe('an upload', () => {
  /** Writes pieces of 1 MB and the rest. */
  async function upload(bytes: number, end: 'complete' | 'abort' = 'complete'): Promise<void> {
    responses.set('POST /results/team/r1.rows?uploads', {
      body: '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>',
    });
    responses.set('POST', { body: '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>' });
    for (const part of [1, 2, 3])
      responses.set(`PUT /results/team/r1.rows?partNumber=${part}&`, { headers: { etag: `"e${part}"` } });
    const object = await clientOf().upload('r1.rows', signal());
    for (let at = 0; at < bytes; at += MB) await object.write(Buffer.alloc(Math.min(MB, bytes - at), at / MB));
    await object[end]();
  }

  const BEGIN = { request: 'POST /results/team/r1.rows?uploads=' };
  const part = (number: number, body: string): Sent => ({
    request: `PUT /results/team/r1.rows?partNumber=${number}&uploadId=u1`,
    body,
  });
  const end = (...parts: readonly string[]): Sent => ({
    request: 'POST /results/team/r1.rows?uploadId=u1',
    body: parts.join(' '),
  });

  it.each([
    [0, [{ request: 'PUT /results/team/r1.rows' }]],
    [8 * MB - 1, [{ request: 'PUT /results/team/r1.rows', body: `${8 * MB - 1} bytes from 0` }]],
    [8 * MB, [BEGIN, part(1, `${8 * MB} bytes from 0`), end('1 e1')]],
    [16 * MB, [BEGIN, part(1, `${8 * MB} bytes from 0`), part(2, `${8 * MB} bytes from 8`), end('1 e1', '2 e2')]],
    [
      16 * MB + 3,
      [
        BEGIN,
        part(1, `${8 * MB} bytes from 0`),
        part(2, `${8 * MB} bytes from 8`),
        part(3, '\u0010'.repeat(3)),
        end('1 e1', '2 e2', '3 e3'),
      ],
    ],
  ] as const)('of %i bytes has the fewest requests with parts of 8 MiB', async (bytes, requests) => {
    await upload(bytes);
    expect(sent).toEqual(requests);
  });

  it('is aborted by its id, and sends nothing where it has not begun', async () => {
    await upload(8 * MB, 'abort');
    expect(sent.at(-1)).toEqual({ request: 'DELETE /results/team/r1.rows?uploadId=u1' });
    sent.length = 0;
    await upload(8 * MB - 1, 'abort');
    expect(sent).toEqual([]);
  });
});

describe('settings', () => {
  const signedBy = async (more: Partial<S3Settings>): Promise<URL> =>
    new URL((await clientOf(more).link('r1.rows', { from: AT, seconds: 60 }, signal())).url);

  it.each([
    ['both keys', 'access', 'secret', 'access'],
    ['no secret key', 'access', undefined, 'other'],
    ['no access key', undefined, 'secret', 'other'],
    ['no keys', undefined, undefined, 'other'],
  ])('with %s: those of the environment sign where one is missing', async (_what, access, secret, signer) => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'other');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret of the other');
    const { searchParams } = await signedBy({ accessKeyId: access, secretAccessKey: secret });
    expect(searchParams.get('X-Amz-Credential')).toBe(`${signer}/20260102/us-east-1/s3/aws4_request`);
  });

  it('without an endpoint, links are to Amazon S3; with a public one, only links are to it', async () => {
    expect((await signedBy({ endpoint: undefined, pathStyle: false })).host).toBe('results.s3.us-east-1.amazonaws.com');
    const publicEndpoint = 'https://public.example';
    expect((await signedBy({ publicEndpoint })).origin).toBe(publicEndpoint);
    expect((await signedBy({})).origin).toBe(url);
    await clientOf({ publicEndpoint }).delete('r1.rows', signal());
    expect(sent).toEqual([{ request: 'DELETE /results/team/r1.rows' }]);
  });

  it.each([
    ['', 's3://results'],
    ['team/', 's3://results/team'],
  ])('with the prefix `%s`, the bucket is %s', (prefix, base) => {
    expect(clientOf({ prefix }).base).toBe(base);
  });
});
