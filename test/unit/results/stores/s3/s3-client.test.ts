import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { S3ObjectClient, type S3Settings } from '../../../../../src/results/stores/s3/s3-client.ts';

const signal = new AbortController().signal;
const MODIFIED = '2026-01-02T03:04:05.000Z';

let server: Server;
let client: S3ObjectClient;
/** Bodies of the next responses. */
let pages: string[];
/** Parameters of the requests, without those of the SDK. */
let requests: Record<string, string>[];

beforeEach(async () => {
  [pages, requests] = [[], []];
  server = createServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://localhost');
    searchParams.delete('x-id');
    requests.push(Object.fromEntries(searchParams));
    response.writeHead(200, { 'content-type': 'application/xml' }).end(pages.shift());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = open({ accessKeyId: 'key', secretAccessKey: 'secret' });
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await client.close();
  server.closeAllConnections();
  server.close();
});

function open(more: Partial<S3Settings>): S3ObjectClient {
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const base = { bucket: 'b', prefix: 'results/', endpoint, region: 'us-east-1', pathStyle: true };
  return new S3ObjectClient({ ...base, accessKeyId: undefined, secretAccessKey: undefined, ...more });
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('a listing', () => {
  const page = (key: string, token: string | undefined): string =>
    `<ListBucketResult><IsTruncated>${token !== undefined}</IsTruncated>${token === undefined ? '' : `<NextContinuationToken>${token}</NextContinuationToken>`}` +
    `<Contents><Key>${key}</Key><Size>7</Size><LastModified>${MODIFIED}</LastModified></Contents></ListBucketResult>`;

  it('of objects has those of all pages, with their keys below the prefix', async () => {
    pages = [page('results/q1.json', 'more'), page('results/q2.json', undefined)];
    const modifiedMs = Date.parse(MODIFIED);
    expect(await all(client.list('q', signal))).toEqual([
      { key: 'q1.json', bytes: 7, modifiedMs },
      { key: 'q2.json', bytes: 7, modifiedMs },
    ]);
    const asked = { 'list-type': '2', delimiter: '/', prefix: 'results/q' };
    expect(requests).toEqual([asked, { ...asked, 'continuation-token': 'more' }]);
  });

  it('of unfinished uploads has those of all pages, with their keys below the prefix', async () => {
    const upload = (key: string, id: string): string =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${MODIFIED}</Initiated></Upload>`;
    const markers = '<NextKeyMarker>results/q1.rows</NextKeyMarker><NextUploadIdMarker>u1</NextUploadIdMarker>';
    pages = [
      `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>${markers}${upload('results/q1.rows', 'u1')}</ListMultipartUploadsResult>`,
      `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${upload('results/q2.rows', 'u2')}</ListMultipartUploadsResult>`,
    ];
    const modifiedMs = Date.parse(MODIFIED);
    expect(await all(client.uploads('q', signal))).toEqual([
      { key: 'q1.rows', uploadId: 'u1', modifiedMs },
      { key: 'q2.rows', uploadId: 'u2', modifiedMs },
    ]);
    const asked = { uploads: '', prefix: 'results/q' };
    expect(requests).toEqual([asked, { ...asked, 'key-marker': 'results/q1.rows', 'upload-id-marker': 'u1' }]);
  });
});

describe('a link', () => {
  /** Asks for 600 seconds. */
  const lifetimes = async (from: Date): Promise<[inUrl: number, reported: number]> => {
    const { url, expirationTimeMs } = await client.link('q.rows', { from, seconds: 600 }, signal);
    return [Number(new URL(url).searchParams.get('X-Amz-Expires')), (expirationTimeMs - from.getTime()) / 1000];
  };

  it('is valid as long as is asked', async () => {
    expect(await lifetimes(new Date('2026-01-02T03:04:05Z'))).toEqual([600, 600]);
  });

  it.each([
    ['eu-north-1', 'eu-central-1', 'eu-north-1'],
    [undefined, 'eu-central-1', 'eu-central-1'],
    [undefined, undefined, 'us-east-1'],
  ])('with the setting %s and AWS_REGION=%s is signed for %s', async (region, variable, signed) => {
    await client.close();
    vi.stubEnv('AWS_REGION', variable);
    client = open({ region, accessKeyId: 'key', secretAccessKey: 'secret' });
    const { url } = await client.link('q.rows', { from: new Date('2026-01-02T03:04:05Z'), seconds: 60 }, signal);
    expect(new URL(url).searchParams.get('X-Amz-Credential')).toBe(`key/20260102/${signed}/s3/aws4_request`);
  });

  it('is not valid longer than the credentials that sign it', async () => {
    await client.close();
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'temporary');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    vi.stubEnv('AWS_SESSION_TOKEN', 'token');
    // The SDK renews credentials that end within five minutes of its own time.
    const end = Date.now() + 3_600_000;
    vi.stubEnv('AWS_CREDENTIAL_EXPIRATION', new Date(end).toISOString());
    client = open({});
    const lifetimesBefore = (ms: number): Promise<unknown> => lifetimes(new Date(end - ms));
    expect(await lifetimesBefore(700_000)).toEqual([600, 600]);
    expect(await lifetimesBefore(90_500)).toEqual([90, 90]);
    expect(await lifetimesBefore(500)).toEqual([1, 1]);
  });
});
