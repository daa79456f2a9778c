import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { S3ObjectClient, type S3Settings } from '../../../../../src/results/stores/s3/s3-client.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { once } from '../../../../support/once.ts';

// What the contract of the stores on a real server does not reach: several pages of a listing, and credentials that end.

const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  vi.unstubAllEnvs();
});

/** A server that responds with these XML texts in turn. @returns its URL and the query parameters of its requests */
async function serverOf(...answers: string[]): Promise<{ url: string; queries: Record<string, string>[] }> {
  const queries: Record<string, string>[] = [];
  const server = createServer((request, response) => {
    queries.push(Object.fromEntries(new URL(request.url ?? '', 'http://localhost').searchParams));
    response.setHeader('content-type', 'application/xml');
    response.end(answers[queries.length - 1] ?? '<Error><Code>Unexpected</Code></Error>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ends.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries };
}

function clientOf(endpoint: string, more: Partial<S3Settings> = {}): S3ObjectClient {
  const client = new S3ObjectClient({
    bucket: 'results',
    prefix: 'team/',
    endpoint,
    region: 'us-east-1',
    pathStyle: true,
    accessKeyId: 'access',
    secretAccessKey: 'secret',
    ...more,
  });
  ends.push(() => client.close());
  return client;
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

const AT = '2026-01-02T03:04:05.000Z';

describe('a listing of several pages', () => {
  it('of objects: each page is requested with the token of the one before', async () => {
    const page = (key: string, more: string): string =>
      `<ListBucketResult>${more}<Contents><Key>team/${key}</Key><Size>7</Size><LastModified>${AT}</LastModified></Contents></ListBucketResult>`;
    const { url, queries } = await serverOf(
      page('r1.rows', '<IsTruncated>true</IsTruncated><NextContinuationToken>t1</NextContinuationToken>'),
      // A server may name a token although nothing follows.
      page('r2.rows', '<IsTruncated>false</IsTruncated><NextContinuationToken>t2</NextContinuationToken>'),
    );
    const modifiedMs = Date.parse(AT);
    expect(await all(clientOf(url).list('r', signal()))).toEqual([
      { key: 'r1.rows', bytes: 7, modifiedMs },
      { key: 'r2.rows', bytes: 7, modifiedMs },
    ]);
    expect(queries.map(({ prefix, 'continuation-token': token }) => [prefix, token])).toEqual([
      ['team/r', undefined],
      ['team/r', 't1'],
    ]);
  });

  it('of unfinished uploads: each page is requested with the markers of the one before', async () => {
    const page = (id: string, more: string): string =>
      `<ListMultipartUploadsResult>${more}<Upload><Key>team/r1.rows</Key><UploadId>${id}</UploadId><Initiated>${AT}</Initiated></Upload></ListMultipartUploadsResult>`;
    const next = (key: string, id: string): string =>
      `<IsTruncated>true</IsTruncated><NextKeyMarker>${key}</NextKeyMarker>${id && `<NextUploadIdMarker>${id}</NextUploadIdMarker>`}`;
    const { url, queries } = await serverOf(
      page('u1', next('team/r1.rows', 'u1')),
      page('u2', next('team/r1.rows', '')),
      page('u3', '<IsTruncated>false</IsTruncated><NextKeyMarker>team/r9</NextKeyMarker>'),
    );
    const found = await all(clientOf(url).uploads('r', signal()));
    expect(found.map(({ key, uploadId, modifiedMs }) => [key, uploadId, modifiedMs])).toEqual(
      ['u1', 'u2', 'u3'].map((id) => ['r1.rows', id, Date.parse(AT)]),
    );
    expect(queries.map(({ prefix, 'key-marker': key, 'upload-id-marker': id }) => [prefix, key, id])).toEqual([
      ['team/r', undefined, undefined],
      ['team/r', 'team/r1.rows', 'u1'],
      ['team/r', 'team/r1.rows', undefined],
    ]);
  });
});

describe('a listing that repeats a page', () => {
  it.each([
    [
      'objects',
      '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t1</NextContinuationToken></ListBucketResult>',
    ],
    [
      'uploads',
      '<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker></ListMultipartUploadsResult>',
    ],
  ])('fails, because it would never end: %s', async (kind, page) => {
    const { url, queries } = await serverOf(page, page, page);
    const client = clientOf(url);
    const listing: AsyncIterable<unknown> =
      kind === 'objects' ? client.list('r', signal()) : client.uploads('r', signal());
    await expect(all(listing)).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(queries).toHaveLength(2);
  });
});

describe('a link', () => {
  const from = new Date(AT);
  const link = async (more: Partial<S3Settings>, seconds: number): Promise<[string | null, number]> => {
    const client = clientOf('http://bucket.example', more);
    const { url, expirationTimeMs } = await client.link('r1.rows', { from, seconds }, signal());
    expect(url).toContain('http://bucket.example/results/team/r1.rows?');
    return [new URL(url).searchParams.get('X-Amz-Expires'), (expirationTimeMs - from.getTime()) / 1000];
  };

  it('is valid for the requested time', async () => {
    expect(await link({}, 3600)).toEqual(['3600', 3600]);
  });

  it.each([
    ['eu-north-1', 'eu-central-1', 'eu-north-1'],
    [undefined, 'eu-central-1', 'eu-central-1'],
    [undefined, undefined, 'us-east-1'],
  ])('with the setting %s and AWS_REGION=%s is signed for %s', async (region, variable, signed) => {
    vi.stubEnv('AWS_REGION', variable);
    const { url } = await clientOf('http://bucket.example', { region }).link('r', { from, seconds: 60 }, signal());
    expect(new URL(url).searchParams.get('X-Amz-Credential')).toBe(`access/20260102/${signed}/s3/aws4_request`);
  });

  it.each([
    [600, 600],
    [7200, 3600],
    // S3 accepts no shorter time.
    [0.5, 1],
  ])('ends with temporary credentials that are valid for %d s', async (left, seconds) => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'temporary');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    vi.stubEnv('AWS_CREDENTIAL_EXPIRATION', new Date(from.getTime() + left * 1000).toISOString());
    const keys = { accessKeyId: undefined, secretAccessKey: undefined };
    expect(await link(keys, 3600)).toEqual([String(seconds), seconds]);
  });
});
