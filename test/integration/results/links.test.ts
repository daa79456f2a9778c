import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, zstdDecompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Authorizer } from '../../../src/access/authorizer.ts';
import type { LinkedPart } from '../../../src/results/links/links.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../src/results/settings.ts';
import { ALICE, allowAll, authorizerBy, TEST_HEADERS, TEST_TOKEN } from '../../support/app.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { memoryProperties, s3Properties, gcsProperties } from '../../support/result-stores.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { until } from '../../support/until.ts';
import { pythonWithZstandard } from '../clients/install.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { answerText, responseOf, StubEndpoint } from '../../unit/results/answers.ts';
import { execute } from '../../support/execute.ts';

// Links to results in real buckets.
const DOCUMENT = join(import.meta.dirname, '../../../docs/paginated-queries.md');
const ROWS = Array.from({ length: 20_000 }, (_, i) => `[${9007199254740993n + BigInt(i)},"${'Zürich '.repeat(120)}"]`);

interface Links {
  readonly requestId: string;
  readonly url: string;
  readonly expirationTimeMs: number;
  readonly coding: string;
  readonly parts: readonly LinkedPart[];
}

let s3: S3Server;
let gcs: GcsServer;
let folder: string;
let gateway: TestGateway;
let principal = ALICE;
beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-links-'));
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const account = { type: 'service_account', client_email: 'gateway@test.example', private_key: privateKey };
  await writeFile(join(folder, 'account.json'), JSON.stringify(account));
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
  await rm(folder, { recursive: true, force: true });
});
afterEach(async () => {
  principal = ALICE;
  delete process.env['GOOGLE_APPLICATION_CREDENTIALS'];
  await stopGateways([gateway]);
});

async function start(
  store: PropertyValues,
  { linkLifetimeMs = 60_000, authorizer = allowAll }: { linkLifetimeMs?: number; authorizer?: Authorizer } = {},
): Promise<string> {
  const endpoint = new StubEndpoint();
  endpoint.answer = () => responseOf(answerText(ROWS));
  const settings = { ...DEFAULT_PAGINATION_SETTINGS, linkLifetimeMs };
  [gateway] = (await startGateways(1, {
    engine: engineOf(endpoint),
    store: () => store,
    settings: () => settings,
    authorizer,
    principal: () => principal,
  })) as [TestGateway];
  const answer = await call('/query/sql?doPaginate=true&numRows=3', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql: 'SELECT * FROM orders' }),
  });
  return ((await answer.json()) as { requestId: string }).requestId;
}

function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...TEST_HEADERS, ...(init.headers as Record<string, string> | undefined) };
  return fetch(`${gateway.url}${path}`, { ...init, headers, signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
}

async function linksTo(requestId: string, more = ''): Promise<Links> {
  const answer = await call(`/query/${requestId}/results?links=true${more}`);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.status).toBe(200);
  return (await answer.json()) as Links;
}

const fetchPart = (url: string, headers: Record<string, string>): Promise<Response> =>
  fetch(url, { headers, signal: AbortSignal.timeout(WAIT_LIMIT_MS) });

/** Reads all parts at once, and nothing from the gateway. */
async function textOf({ url, parts, coding }: Links): Promise<string> {
  const texts = await Promise.all(
    parts.map(async ({ headers, bytes, rowsStart, rowsEnd, crc32: sum }) => {
      const answer = await fetchPart(url, headers);
      expect(answer.status).toBe(206);
      const stored = Buffer.from(await answer.arrayBuffer());
      expect(stored.length).toBe(bytes);
      const blocks = coding === 'zstd' ? zstdDecompressSync(stored) : stored;
      expect(crc32(blocks)).toBe(Number.parseInt(sum ?? '', 16));
      return blocks.subarray(rowsStart, rowsEnd).toString();
    }),
  );
  return texts.join('');
}

const STORES: readonly [string, () => Promise<PropertyValues>][] = [
  ['s3', async () => s3Properties(await s3.bucket('links'))],
  [
    'compressed s3',
    async () => ({ ...s3Properties(await s3.bucket('links-zstd')), 'olap.broker.pagination.s3.compression': 'zstd' }),
  ],
  ['gcs', async () => gcsProperties(await gcs.bucket('links'))],
  [
    'compressed gcs',
    async () => ({
      ...gcsProperties(await gcs.bucket('links-zstd')),
      'olap.broker.pagination.gcs.compression': 'zstd',
    }),
  ],
];

describe.each(STORES)('links to a result in %s', (name, properties) => {
  it('give every byte of the rows, in parallel and without the gateway, until the result is deleted', async () => {
    if (name.endsWith('gcs')) process.env['GOOGLE_APPLICATION_CREDENTIALS'] = join(folder, 'account.json');
    const requestId = await start(await properties());
    const links = await linksTo(requestId);
    expect(links.coding).toBe(name.startsWith('compressed') ? 'zstd' : 'identity');
    expect(links.parts.length).toBeGreaterThan(1);
    expect((await textOf(links)) === ROWS.join(',')).toBe(true);
    const some = await linksTo(requestId, '&offset=19000&numRows=500');
    expect(await textOf(some)).toBe(ROWS.slice(19_000, 19_500).join(','));

    await call(`/query/resultStore/${requestId}`, { method: 'DELETE' });
    expect((await fetchPart(links.url, links.parts[0]?.headers ?? { Range: '' })).status).toBe(404);
  });
});

describe('a link to a result', () => {
  it('reads nothing else, and writes nothing', async () => {
    const requestId = await start(s3Properties(await s3.bucket('links-other')));
    const { url } = await linksTo(requestId);
    expect((await fetchPart(url.replace('.rows?', '.json?'), {})).status).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403);
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(403);
    expect((await fetchPart(url, { Range: 'bytes=0-9' })).status).toBe(206);
  });

  it('expires', async () => {
    const requestId = await start(s3Properties(await s3.bucket('links-expired')), { linkLifetimeMs: 1000 });
    const { url, expirationTimeMs, parts } = await linksTo(requestId);
    expect(expirationTimeMs).toBeLessThanOrEqual(Date.now() + 1000);
    await until('the link has expired', async () => {
      const answer = await fetchPart(url, parts[0]?.headers ?? { Range: '' });
      await answer.arrayBuffer();
      return answer.status === 403;
    });
  });

  it('has the address by which clients reach the bucket, and is signed for it', async () => {
    const inner = s3Properties(await s3.bucket('links-public'));
    const requestId = await start({
      ...inner,
      'olap.broker.pagination.s3.public.endpoint': s3.url.replace('127.0.0.1', 'localhost'),
    });
    const links = await linksTo(requestId);
    expect(new URL(links.url).hostname).toBe('localhost');
    expect((await textOf(links)) === ROWS.join(',')).toBe(true);
  });

  it('is not given to a caller without the right to read the result, nor for a result that is not there', async () => {
    let denied = '';
    const authorizer = authorizerBy((_principal, action) => action !== denied);
    const requestId = await start(s3Properties(await s3.bucket('links-denied')), { authorizer });
    denied = 'Query';
    const revoked = await call(`/query/${requestId}/results?links=true`);
    expect(revoked.status).toBe(403);
    expect(await revoked.text()).not.toContain('X-Amz');
    denied = 'GetResponseStore';
    expect((await call(`/query/${requestId}/results?links=true`)).status).toBe(200);
    principal = { ...ALICE, srn: 'srn2:user#mallory@example.com', id: 'mallory@example.com' };
    expect((await call(`/query/${requestId}/results?links=true`)).status).toBe(403);
    expect((await call('/query/1/results?links=true')).status).toBe(404);
  });

  it('is refused with the reason where it cannot be made', async () => {
    const requestId = await start(memoryProperties());
    const refused = await call(`/query/${requestId}/results?links=true`);
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain('only results in a bucket (`s3` or `gcs`) have them');
    expect((await call(`/query/${requestId}/results?links=true&format=csv`)).status).toBe(400);
    await stopGateways([gateway]);
    const off = await start(s3Properties(await s3.bucket('links-off')), { linkLifetimeMs: 0 });
    expect((await call(`/query/${off}/results?links=true`)).status).toBe(409);
    expect((await call(`/query/${off}/results?links=false&offset=0&numRows=1`)).status).toBe(200);
  });

  it('needs credentials that sign, and the error names the right', async () => {
    await writeFile(
      join(folder, 'user.json'),
      JSON.stringify({ type: 'authorized_user', client_id: 'a', client_secret: 'b', refresh_token: 'secret-c' }),
    );
    process.env['GOOGLE_APPLICATION_CREDENTIALS'] = join(folder, 'user.json');
    const requestId = await start(gcsProperties(await gcs.bucket('links-unsigned')));
    const answer = await call(`/query/${requestId}/results?links=true`);
    expect(answer.status).toBe(503);
    const text = await answer.text();
    expect(text).toContain('`iam.serviceAccounts.signBlob`');
    expect(text).not.toContain('secret-c');
  });
});

describe('the example in Python', () => {
  it.each(['none', 'zstd'])('reads all rows with compression %s', async (compression) => {
    const code = /### Python, from the bucket\n.*?```python\n(.*?)\n```/s.exec(await readFile(DOCUMENT, 'utf8'))?.[1];
    const requestId = await start({
      ...s3Properties(await s3.bucket(`links-python-${compression}`)),
      'olap.broker.pagination.s3.compression': compression,
    });
    const program = join(folder, 'links.py');
    await writeFile(program, `${code ?? ''}\nprint(len(rows), rows[0][0], rows[-1][0])\n`);
    const access = { GATEWAY: gateway.url, TOKEN: TEST_TOKEN, RESULT: requestId };
    const env = { ...process.env, ...access, PYTHONPATH: await pythonWithZstandard() };
    const { stdout } = await execute('python3', [program], { env, timeout: WAIT_LIMIT_MS });
    expect(stdout.trim()).toBe(`20000 9007199254740993 ${9007199254740993n + 19_999n}`);
  });
});
