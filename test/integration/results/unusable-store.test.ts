import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { readPage } from '../../../src/results/rows/page.ts';
import { newRequestId } from '../../../src/results/request-id.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { createResultStore } from '../../../src/results/stores/result-stores.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { fileProperties, gcsProperties, s3Properties, type TestBucket } from '../../support/result-stores.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { answerText, responseOf, rowTexts, submission } from '../../unit/results/answers.ts';
import { once } from '../../support/once.ts';
import { execute } from '../../support/execute.ts';

const ROOT = join(import.meta.dirname, '../../..');
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

let s3: S3Server;
let gcs: GcsServer;
let bucket: TestBucket;
let gcsBucket: TestBucket;
let folder: string;
let closedEndpoint: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-unusable-'));
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  [bucket, gcsBucket] = await Promise.all([s3.bucket('unusable'), gcs.bucket('unusable')]);
  const [port] = await freePorts(1);
  closedEndpoint = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

function create(properties: PropertyValues): Promise<ResultStore> {
  return createResultStore(properties, { gatewayId: 'gateway-0', clock: systemClock, onProblem: () => undefined });
}

describe('the start of a store that cannot be used', () => {
  it.each<[string, () => Promise<PropertyValues>, RegExp]>([
    [
      'the secret of S3',
      async () => s3Properties({ ...bucket, secretAccessKey: 'wrong-secret' }),
      /^the result store `s3:\/\/unusable\/results` cannot be used: the secret key is wrong \(SignatureDoesNotMatch\)$/,
    ],
    [
      'the access key of S3',
      async () => s3Properties({ ...bucket, accessKeyId: 'NOBODY' }),
      /: the access key is unknown \(InvalidAccessKeyId\)$/,
    ],
    [
      'the bucket of S3',
      async () => s3Properties({ ...bucket, bucket: 'absent' }),
      /^the result store `s3:\/\/absent\/results` cannot be used: the bucket does not exist \(NoSuchBucket\)$/,
    ],
    [
      'the endpoint of S3',
      async () => s3Properties({ ...bucket, endpoint: closedEndpoint }),
      /: nothing listens at the endpoint \(ECONNREFUSED\)$/,
    ],
    [
      'the permission of S3',
      async () => s3Properties({ ...bucket, ...(await s3.account('guest')) }),
      /: the credentials lack the permission `s3:ListBucket` \(AccessDenied\)$/,
    ],
    [
      'the bucket of GCS',
      async () => gcsProperties({ ...gcsBucket, bucket: 'absent' }),
      /^the result store `gs:\/\/absent\/results` cannot be used: the bucket does not exist \(404\)$/,
    ],
    [
      'the endpoint of GCS',
      async () => gcsProperties({ ...gcsBucket, endpoint: closedEndpoint }),
      // The SDK of Google waits between its attempts.
      /: the endpoint does not respond \(TimeoutError\)$/,
    ],
    [
      'the folder',
      async () => {
        await writeFile(join(folder, 'data'), 'a file');
        return fileProperties(folder);
      },
      /^the folder `.*\/data` of the result store cannot be used \(EEXIST\): `olap\.broker\.pagination\.file\.data\.dir` and/,
    ],
  ])('names what is wrong: %s', async (_what, properties, message) => {
    const store = await create(await properties());
    await expect(store.start(signal())).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringMatching(message) as string,
    });
    await store.close();
  });

  it('is one line of the program, without a credential', async () => {
    const properties = Object.entries(s3Properties({ ...bucket, secretAccessKey: 'wrong-secret' }));
    const ofS3 = properties.filter(([key]) => key.includes('.s3.'));
    const sets = ofS3.flatMap(([key, value]) =>
      typeof value === 'boolean' || (typeof value === 'string' && value !== '')
        ? [`--set=${key}=${String(value)}`]
        : [],
    );
    const flags = ['--host=127.0.0.1', '--port=0', '--metrics-port=0', '--controllers=http://127.0.0.1:9'];
    const ended = await execute(
      process.execPath,
      [
        ...['bin/olap-warden.js', 'standalone', ...flags, `--data-dir=${join(folder, 'standalone')}`],
        ...['--set=olap.broker.pagination.protocol=s3', ...sets],
      ],
      { cwd: ROOT, env: { PATH: process.env['PATH'] }, timeout: WAIT_LIMIT_MS },
    ).catch((error: unknown) => error as { readonly code: number; readonly stderr: string });
    expect(ended).toMatchObject({
      code: 1,
      stderr:
        'the result store `s3://unusable/results` cannot be used: the secret key is wrong (SignatureDoesNotMatch)\n',
    });
  });
});

describe('the start of a store in GCS whose credentials lack a permission', () => {
  // fake-gcs-server has no permissions: a proxy in front of it responds as Google does.
  it.each([
    ['POST', 'storage.objects.create', 'cannot be used: '],
    ['GET', 'storage.objects.get', 'cannot be used: '],
    ['DELETE', 'storage.objects.delete', ': '],
  ])('names it: %s needs `%s`', async (method, right, says) => {
    const proxy = await denying(gcsBucket.endpoint, (at, url) => at === method && url.includes('.check'));
    const problems: string[] = [];
    const store = await createResultStore(gcsProperties({ ...gcsBucket, endpoint: proxy.url }), {
      gatewayId: 'gateway-0',
      clock: systemClock,
      onProblem: (message) => problems.push(message),
    });
    const failure = await store.start(signal()).then(
      () => undefined,
      (error: Error) => error.message,
    );
    await store.close();
    await proxy.close();
    expect([...problems, ...(failure === undefined ? [] : [failure])]).toEqual([
      expect.stringMatching(
        new RegExp(`^(the )?result store \\S+ ?${says}the credentials lack the permission \`${right}\` \\(403\\)$`),
      ),
    ]);
    expect(failure === undefined).toBe(method === 'DELETE');
  });
});

describe('a page of a bucket that stands still', () => {
  it.each<[string, () => PropertyValues, () => { pause(): void; resume(): void }]>([
    ['S3', () => s3Properties(bucket), () => s3],
    ['GCS', () => gcsProperties(gcsBucket), () => gcs],
  ])('fails, and is read when the bucket responds again: %s', async (_name, properties, server) => {
    const store = await create(properties());
    await store.start(signal());
    const requestId = newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, 'still'));
    await storeResponse(responseOf(answerText(rowTexts(100))), store, submission({ requestId }), signal());
    const cold = await create(properties());
    const page = async (): Promise<number> => {
      const reader = await cold.open(requestId, signal());
      if (reader === undefined) throw new Error('the result is not there');
      try {
        return (await readPage(reader, { offset: 50, numRows: 7 }, {}, signal())).numRows;
      } finally {
        await reader.close();
      }
    };
    const impatient = new AbortController();
    server().pause();
    try {
      const left = cold.open(requestId, impatient.signal).catch((error: unknown) => error);
      setTimeout(() => impatient.abort(), 100);
      expect(await left).toMatchObject({ code: 'aborted' });
      await expect(page()).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringContaining('did not respond within 12 s') as string,
      });
    } finally {
      server().resume();
    }
    // Also the responses to those requests arrive now, for which nobody waits any more.
    expect(await page()).toBe(7);
    await cold.close();
    await store.close();
  });
});

/** Forwards requests to a server, except for those that it denies. The name of an object to create is in the URL or at the beginning of the body. */
async function denying(
  target: string,
  denies: (method: string, url: string) => boolean,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    const forward = async (): Promise<void> => {
      const body = await buffer(incoming);
      const { method = '', url = '' } = incoming;
      if (denies(method, method === 'POST' ? url + body.toString('latin1', 0, 500) : url)) {
        outgoing
          .writeHead(403, { 'content-type': 'application/json' })
          .end('{"error":{"code":403,"message":"denied"}}');
        return;
      }
      const headers = Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.has(name)) as [string, string][];
      const sent = method === 'GET' || method === 'DELETE' ? {} : { body };
      const answer = await fetch(target + url, { method, headers, ...sent, signal: signal() });
      outgoing.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
      outgoing.end(Buffer.from(await answer.arrayBuffer()));
    };
    forward().catch(() => outgoing.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
]);
