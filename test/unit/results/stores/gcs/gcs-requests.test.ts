import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { Crc32c } from '../../../../../src/results/stores/gcs/crc32c.ts';
import { GcsObjectClient, type GcsSettings } from '../../../../../src/results/stores/gcs/gcs-client.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { once } from '../../../../support/once.ts';

// What the client sends for each call, and what it makes of the responses.

const OBJECT = '/storage/v1/b/results/o/team%2Fr1.rows';
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

interface Response {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

let server: Server;
let url: string;
let sent: string[];
/** In the order of the requests. */
let responses: Response[];
let client: GcsObjectClient;

const settings = (): GcsSettings => ({ bucket: 'results', prefix: 'team/', endpoint: url, clock: systemClock });

beforeEach(async () => {
  [sent, responses] = [[], []];
  server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      const { pathname, searchParams } = new URL(request.url ?? '', url);
      const { range = request.headers['content-range'] } = request.headers;
      const query = searchParams.size === 0 ? '' : `?${searchParams.toString()}`;
      sent.push([request.method, pathname + query, range, bytes.toString()].filter(Boolean).join(' '));
      const { status = 200, headers, body } = responses.shift() ?? {};
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new GcsObjectClient(settings());
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await client.close();
  server.closeAllConnections();
  server.close();
});

it('an object is uploaded by its name with the prefix', async () => {
  responses.push({ headers: { location: `${url}/session` } }, {});
  const upload = await client.upload('r1.rows', signal());
  await upload.write(Buffer.from('the bytes'));
  await upload.complete();
  expect(sent).toEqual([
    'POST /upload/storage/v1/b/results/o?name=team%2Fr1.rows&uploadType=resumable {}',
    'PUT /session bytes 0-8/9 the bytes',
  ]);
});

it.each([
  ['503', 503, 'backendError'],
  ['500', 500, 'internalError'],
  ['403 for too many requests', 403, 'rateLimitExceeded'],
])('an upload is opened again after a %s', { tags: 'slow' }, async (_what, status, reason) => {
  const body = { error: { code: status, message: 'later', errors: [{ reason }] } };
  responses.push({ status, body }, { status, body: '' }, { headers: { location: `${url}/session` } }, {});
  if (status === 403) responses.splice(1, 1);
  const upload = await client.upload('r1.rows', signal());
  await upload.write(Buffer.from('the bytes'));
  await upload.complete();
  expect(sent.at(-1)).toBe('PUT /session bytes 0-8/9 the bytes');
});

it('an upload is not opened again after a 403 for a missing permission', async () => {
  responses.push({ status: 403, body: { error: { code: 403, message: 'no', errors: [{ reason: 'forbidden' }] } } });
  const upload = await client.upload('r1.rows', signal());
  await expect(upload.complete()).rejects.toMatchObject({ code: 'store-unavailable', cause: { status: 403 } });
  expect(sent).toHaveLength(1);
});

it('other requests are still retried after an upload', { tags: 'slow' }, async () => {
  responses.push({ headers: { location: `${url}/session` } }, {});
  const upload = await client.upload('r1.rows', signal());
  await upload.complete();
  responses.push({ status: 503 }, { body: { name: 'team/r1.rows', size: '9' } });
  expect(await client.size('r1.rows', signal())).toBe(9);
});

it('a small object is written at once, by its name with the prefix', async () => {
  const checksum = new Crc32c();
  checksum.update(Buffer.from('record'));
  responses.push({ body: { name: 'team/r1.json', crc32c: checksum.toString() } });
  await client.put('r1.json', Buffer.from('record'), signal());
  expect(sent[0]).toMatch(/^POST \/upload\/storage\/v1\/b\/results\/o\?.*name=team%2Fr1\.json/);
  expect(sent[0]).toContain('\r\nrecord\r\n');
});

it('an object is read and deleted by its name with the prefix', async () => {
  responses.push({ body: 'whole' }, { status: 204 });
  expect(String(await client.get('r1.rows', signal()))).toBe('whole');
  await client.delete('r1.rows', signal());
  expect(sent).toEqual([`GET ${OBJECT}?alt=media`, `DELETE ${OBJECT}`]);
});

describe('the size of an object', () => {
  it.each([
    [{ body: { size: '1234' } }, 1234],
    [{ body: {} }, 0],
    [{ status: 404, body: { error: { code: 404 } } }, undefined],
  ])('for %j is %s', async (response, size) => {
    responses.push(response);
    expect(await client.size('r1.rows', signal())).toBe(size);
    expect(sent).toEqual([`GET ${OBJECT}`]);
  });

  it.each(['null', '5'])('is an error for the response `%s`', async (body) => {
    responses.push({ body });
    await expect(client.size('r1.rows', signal())).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});

it('each page of a listing is requested with the token of the one before', async () => {
  responses.push(
    { body: { items: [{ name: 'team/r1.rows', size: '7' }], nextPageToken: 't1' } },
    { body: { items: [{ name: 'team/r2.rows' }] } },
  );
  const found: unknown[] = [];
  for await (const { key, bytes } of client.list('r', signal())) found.push([key, bytes]);
  expect(found).toEqual([
    ['r1.rows', 7],
    ['r2.rows', 0],
  ]);
  const first = 'GET /storage/v1/b/results/o?prefix=team%2Fr&delimiter=%2F';
  expect(sent).toEqual([first, `${first}&pageToken=t1`]);
});

describe('a link', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gcs-'));
    const file = join(folder, 'account.json');
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const account = { type: 'service_account', client_email: 'gateway@test.example', private_key: privateKey };
    await writeFile(file, JSON.stringify(account));
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', file);
  });
  afterEach(() => rm(folder, { recursive: true }));

  // The SDK signs no links that have ended.
  const FROM = new Date('2100-01-02T03:04:05.000Z');

  it.each([undefined, 'https://public.example'])(
    'is valid for the requested time, at the address %s',
    { tags: 'slow' },
    async (host) => {
      const signing = new GcsObjectClient({ ...settings(), publicEndpoint: host });
      const link = await signing.link('r1.rows', { from: FROM, seconds: 90 }, signal());
      await signing.close();
      expect(link.expirationTimeMs).toBe(FROM.getTime() + 90_000);
      const { origin, pathname, searchParams } = new URL(link.url);
      expect([origin, pathname]).toEqual([host ?? url, '/results/team/r1.rows']);
      expect([searchParams.get('X-Goog-Date'), searchParams.get('X-Goog-Expires')]).toEqual(['21000102T030405Z', '90']);
    },
  );
});

it.each([
  ['', 'gs://results'],
  ['team/', 'gs://results/team'],
])('with the prefix `%s`, the bucket is %s', async (prefix, base) => {
  const other = new GcsObjectClient({ ...settings(), prefix });
  expect(other.base).toBe(base);
  await other.close();
});
