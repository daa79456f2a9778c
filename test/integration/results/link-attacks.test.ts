import { createHash, createVerify, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/access/principal.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../src/results/settings.ts';
import { ALICE, authorizerBy, TEST_HEADERS } from '../../support/app.ts';
import { startGcs } from '../../support/gcs.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { gcsProperties, s3Properties } from '../../support/result-stores.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { until } from '../../support/until.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from '../../unit/api/queries/gateways.ts';
import { answerText, responseOf, rowTexts, StubEndpoint } from '../../unit/results/answers.ts';

// A hostile caller with links to results in real buckets.

const MALLORY: Principal = { ...ALICE, srn: 'srn2:user#mallory@example.com', id: 'mallory@example.com' };
const LIFETIME_MS = 60_000;
const ROWS = rowTexts(1000);

interface Links {
  readonly url: string;
  readonly expirationTimeMs: number;
  readonly numRows: number;
  readonly parts: readonly { readonly headers: Readonly<Record<string, string>>; readonly bytes: number }[];
}

let s3: S3Server;
let endpoint: StubEndpoint;
let gateway: TestGateway;
let buckets = 0;
let principal = ALICE;
let denied: ReadonlySet<string> = new Set();
let now: () => number = Date.now;

beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3?.stop());
beforeEach(async () => {
  principal = ALICE;
  denied = new Set();
  now = Date.now;
  endpoint = new StubEndpoint();
  endpoint.answer = () => responseOf(answerText(ROWS));
  const store = s3Properties(await s3.bucket(`link-attacks-${++buckets}`));
  [gateway] = (await startGateways(1, {
    engine: engineOf(endpoint),
    store: () => store,
    settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, linkLifetimeMs: LIFETIME_MS }),
    authorizer: authorizerBy((who, action) => !denied.has(`${who.id} ${action}`)),
    principal: () => principal,
    now: () => now(),
  })) as [TestGateway];
});
afterEach(() => stopGateways([gateway]));

function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...TEST_HEADERS, 'content-type': 'application/json' };
  return fetch(gateway.url + path, { ...init, headers, signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
}

async function submit(parameters = ''): Promise<string> {
  const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
  const answer = await call(`/query/sql?doPaginate=true${parameters}`, { method: 'POST', body });
  return ((await answer.json()) as { requestId: string }).requestId;
}

const linksAnswer = (id: string, more = ''): Promise<Response> => call(`/query/${id}/results?links=true${more}`);

async function linksTo(id: string, more = ''): Promise<Links> {
  const answer = await linksAnswer(id, more);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Links;
}

/** What the bucket answers without any credential but the URL. */
async function bucketStatus(url: string | URL, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
  await answer.arrayBuffer();
  return answer.status;
}

/** Sets a parameter of the signed URL, or removes it. */
function changed(url: string, name: string, value: string | undefined): URL {
  const to = new URL(url);
  if (value === undefined) to.searchParams.delete(name);
  else to.searchParams.set(name, value);
  return to;
}

describe('a signed URL of S3', () => {
  it.each<[string, (url: string) => URL]>([
    ['a longer time', (url) => changed(url, 'X-Amz-Expires', '3600')],
    ['a later time', (url) => changed(url, 'X-Amz-Date', '20990101T000000Z')],
    ['no time', (url) => changed(url, 'X-Amz-Expires', undefined)],
    ['no signature', (url) => changed(url, 'X-Amz-Signature', undefined)],
    ['an empty signature', (url) => changed(url, 'X-Amz-Signature', '')],
    ['another access key', (url) => changed(url, 'X-Amz-Credential', 'x/20260101/us-east-1/s3/aws4_request')],
    ['fewer signed headers', (url) => changed(url, 'X-Amz-SignedHeaders', '')],
    ['another type of the response', (url) => changed(url, 'response-content-type', 'text/html')],
    ['another operation', (url) => changed(url, 'acl', '')],
    ['the listing of the bucket', (url) => changed(url.replace(/\/results\/[^?]+/, '/'), 'list-type', '2')],
    ['a path that climbs', (url) => new URL(url.replace('.rows?', '.rows/../x.rows?'))],
  ])('is refused with %s', async (_what, change) => {
    const { url } = await linksTo(await submit());
    expect(await bucketStatus(url, { headers: { Range: 'bytes=0-0' } })).toBe(206);
    expect([400, 403]).toContain(await bucketStatus(change(url)));
  });

  it('does not fit another result, neither as it is nor with the parameters of its link', async () => {
    const [first, second] = [await submit(), await submit()];
    const urls = [(await linksTo(first)).url, (await linksTo(second)).url] as const;
    expect(await bucketStatus(urls[0].replace(first, second))).toBe(403);
    const mixed = new URL(urls[0]);
    mixed.search = new URL(urls[1]).search;
    expect(await bucketStatus(mixed)).toBe(403);
  });

  it('gives with another range other bytes of the same result at most, and none beyond its end', async () => {
    const { url, parts } = await linksTo(await submit(), '&offset=500&numRows=1');
    const stored = await fetch(url);
    const size = (await stored.arrayBuffer()).byteLength;
    // Documented: a link is a credential for all rows of its result.
    expect(size).toBeGreaterThan(parts[0]?.bytes ?? 0);
    expect(await bucketStatus(url, { headers: { Range: `bytes=${size}-` } })).toBe(416);
    expect(await bucketStatus(url, { method: 'HEAD' })).toBe(403);
    expect(await bucketStatus(url, { method: 'POST', body: 'x' })).not.toBeLessThan(400);
  });

  it('ends with the deletion of the result, also one that another caller may delete', async () => {
    const id = await submit();
    const { url } = await linksTo(id);
    principal = MALLORY;
    expect((await call(`/query/resultStore/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect(await bucketStatus(url)).toBe(404);
    principal = ALICE;
    expect((await linksAnswer(id)).status).toBe(404);
  });
});

describe('a link', () => {
  it('is not signed for another caller, by owner or by right', async () => {
    const id = await submit();
    principal = MALLORY;
    denied = new Set(['mallory@example.com GetResponseStore']);
    const refused = await linksAnswer(id);
    expect([refused.status, await refused.text()]).toEqual([403, expect.not.stringContaining('X-Amz')]);
    denied = new Set(['mallory@example.com Query']);
    expect((await linksAnswer(id)).status).toBe(403);
    denied = new Set();
    expect((await linksAnswer(id)).status).toBe(200);
  });

  it('works until it expires where its caller lost the right, as documented, and no new one is signed', async () => {
    const id = await submit();
    const { url } = await linksTo(id);
    denied = new Set(['alice@example.com Query']);
    expect((await linksAnswer(id)).status).toBe(403);
    expect(await bucketStatus(url)).toBe(200);
  });

  it('ends before its result', async () => {
    const submittedAt = Date.now();
    now = () => submittedAt;
    const id = await submit();
    const expiresAt = submittedAt + DEFAULT_PAGINATION_SETTINGS.expirationMs;
    now = () => expiresAt - 10_500;
    const { expirationTimeMs } = await linksTo(id);
    expect(expirationTimeMs).toBeLessThanOrEqual(expiresAt);
    expect(expirationTimeMs).toBeGreaterThan(expiresAt - 2000);
    for (const left of [999, 0, -1]) {
      now = () => expiresAt - left;
      expect((await linksAnswer(id)).status).toBe(404);
    }
  });

  it('is not signed for a query that runs, to its owner or others, and is for its result', async () => {
    let respond: () => void = () => undefined;
    endpoint.answer = () =>
      new Promise((resolve) => {
        respond = () => resolve(responseOf(answerText(ROWS)));
      });
    const id = await submit('&async=true');
    await until('the engine has the query', () => endpoint.requests.length > 0);
    expect((await linksAnswer(id)).status).toBe(409);
    principal = MALLORY;
    expect((await linksAnswer(id)).status).toBe(409);
    denied = new Set(['mallory@example.com GetResponseStore']);
    expect((await linksAnswer(id)).status).toBe(404);
    principal = ALICE;
    respond();
    await until('there are links', async () => (await linksAnswer(id)).status === 200);
  });

  it('is not signed for odd ids', async () => {
    const id = await submit();
    const odd = [
      `${id}.json`,
      `${id}.rows`,
      `${id}%00`,
      `${id}%2F..%2F${id}`,
      `..%2F${id}`,
      `%2e%2e`,
      `${id}%0a`,
      id.toUpperCase() === id ? id.toLowerCase() : id.toUpperCase(),
      id.slice(0, -1),
      ` ${id}`,
      '*',
      '0',
      '__proto__',
      'x'.repeat(201),
    ];
    for (const name of odd) {
      const answer = await linksAnswer(name);
      expect([400, 404], name).toContain(answer.status);
      expect(await answer.text(), name).not.toContain('X-Amz');
    }
  });

  it('is limited to the rows of the result', async () => {
    const id = await submit();
    const most = Number.MAX_SAFE_INTEGER;
    expect((await linksTo(id, `&numRows=${most}`)).numRows).toBe(1000);
    expect((await linksTo(id, `&offset=999&numRows=${most}`)).numRows).toBe(1);
    const refused = [
      '&offset=1000',
      `&offset=${most}`,
      '&offset=-1',
      '&offset=0.5',
      '&offset=1e400',
      '&offset=NaN',
      '&offset=',
      '&numRows=0',
      '&numRows=-1',
      '&numRows=x',
      '&offset=0&offset=1',
      '&links=false',
      '&format=csv',
      '&url=x',
    ];
    for (const parameters of refused) expect((await linksAnswer(id, parameters)).status, parameters).toBe(400);
    for (const value of ['TRUE', '1', 'yes', ''])
      expect((await call(`/query/${id}/results?links=${value}`)).status, value).toBe(400);
  });
});

describe('a signed URL of Google Cloud Storage', () => {
  // The server of the tests does not verify signatures, so the test does, as Google documents it ("V4 signing process"). The SDK signs the host without its port.
  it('has a signature of the object, the method, the host and the time', async () => {
    const gcs = await startGcs();
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-link-attacks-'));
    try {
      const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
      const account = { type: 'service_account', client_email: 'gateway@test.example', private_key: key };
      await writeFile(join(folder, 'account.json'), JSON.stringify(account));
      process.env['GOOGLE_APPLICATION_CREDENTIALS'] = join(folder, 'account.json');
      await stopGateways([gateway]);
      const store = gcsProperties(await gcs.bucket('link-attacks'));
      [gateway] = (await startGateways(1, {
        engine: engineOf(endpoint),
        store: () => store,
        settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, linkLifetimeMs: LIFETIME_MS }),
      })) as [TestGateway];
      const { url, expirationTimeMs } = await linksTo(await submit());
      const isSigned = (target: URL, method = 'GET'): boolean =>
        createVerify('RSA-SHA256')
          .update(stringToSign(target, method))
          .verify(publicKey, target.searchParams.get('X-Goog-Signature') ?? '', 'hex');
      expect(isSigned(new URL(url))).toBe(true);
      const others = [
        changed(url, 'X-Goog-Expires', '3600'),
        changed(url, 'X-Goog-Date', '20990101T000000Z'),
        changed(url, 'response-content-type', 'text/html'),
        new URL(url.replace('.rows?', '.json?')),
        new URL(url.replace('127.0.0.1', 'localhost')),
      ];
      for (const other of others) expect(isSigned(other), other.href).toBe(false);
      for (const method of ['PUT', 'DELETE', 'HEAD']) expect(isSigned(new URL(url), method)).toBe(false);
      const signedFor = Number(new URL(url).searchParams.get('X-Goog-Expires')) * 1000;
      expect(signedFor).toBeLessThanOrEqual(LIFETIME_MS);
      expect(expirationTimeMs).toBeLessThanOrEqual(Date.now() + LIFETIME_MS);
    } finally {
      delete process.env['GOOGLE_APPLICATION_CREDENTIALS'];
      await gcs.stop();
      await rm(folder, { recursive: true });
    }
  });
});

/** The text that a V4 signature of Google covers. */
function stringToSign(url: URL, method: string): string {
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Goog-Signature')
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .sort()
    .join('&');
  const request = [method, url.pathname, query, `host:${url.hostname}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const scope = (url.searchParams.get('X-Goog-Credential') ?? '').split('/').slice(1).join('/');
  const hash = createHash('sha256').update(request).digest('hex');
  return ['GOOG4-RSA-SHA256', url.searchParams.get('X-Goog-Date'), scope, hash].join('\n');
}
