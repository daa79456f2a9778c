import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestBucket } from '../../support/result-stores.ts';
import { CutProxy } from '../../support/cut-proxy.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { StandaloneGateway } from '../../support/standalone-gateway.ts';
import { answerText } from '../../unit/results/answers.ts';

const ROWS = Array.from({ length: 4500 }, (_, i) => `[${i},"${'x'.repeat(2000)}"]`);

/** The requests of one submission in order. The process is killed after the server has executed one and before it responds. */
const REQUESTS = ['begin an upload', 'first part', 'last part', 'complete the upload', 'put the record'];

describe('a gateway process that is killed while it stores a result with protocol `file` in S3', () => {
  let s3: S3Server;
  let client: S3Client;
  let bucket: TestBucket;
  let proxy: CutProxy;
  let engine: FakeEngine;
  let folder: string;
  let running: StandaloneGateway;
  let killed: StandaloneGateway;

  const gateway = (id: string, endpoint = s3.url): StandaloneGateway =>
    new StandaloneGateway(join(folder, id), { controllers: engine.url, brokers: engine.url, 'broker-id': id }, [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=s3://${bucket.bucket}/${bucket.prefix}`,
      `olap.broker.pagination.s3.endpoint=${endpoint}`,
      'olap.broker.pagination.s3.path.style=true',
      `olap.broker.pagination.s3.access.key=${bucket.accessKeyId}`,
      `olap.broker.pagination.s3.secret.key=${bucket.secretAccessKey}`,
      `olap.broker.storage.factory.s3.region=${bucket.region}`,
      // Set in existing configurations; ignored.
      'olap.broker.storage.factory.class.s3=org.apache.pinot.plugin.filesystem.S3PinotFS',
    ]);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-kill-'));
    engine = new FakeEngine();
    await engine.listen();
    engine.serve(['orders_OFFLINE'], answerText(ROWS));
    s3 = await startS3();
    client = s3.client();
    bucket = await s3.bucket('killed');
    proxy = new CutProxy(s3.url);
    await proxy.listen();
    running = gateway('gateway-1');
    killed = gateway('gateway-0', proxy.url);
    await running.listed();
  });
  afterAll(async () => {
    await killed?.kill();
    await running?.kill();
    await proxy?.close();
    client?.destroy();
    await s3?.stop();
    await engine?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function left(): Promise<{ objects: number; uploads: number }> {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket.bucket }));
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket.bucket }));
    return { objects: Contents.length, uploads: Uploads.length };
  }

  it.each(REQUESTS.map((name, at) => [name, at] as const))(
    'has a complete result or none after the request: %s, and no leftovers',
    async (_name, at) => {
      await killed.listed();
      const earlier = (await running.listed()).length;
      const death = Promise.withResolvers<void>();
      proxy.arm(at, 'after', () => killed.kill().then(death.resolve));
      const answer = killed.call('/query/sql?doPaginate=true&numRows=1', { sql: 'SELECT * FROM orders' });
      await expect(answer).rejects.toThrow();
      await death.promise;
      await proxy.disarm();
      expect((await left()).uploads).toBe(at < 3 ? 1 : 0);

      // The running gateway at once, and the killed one after its restart.
      const complete = at === REQUESTS.length - 1;
      const listed = await running.listed();
      expect(listed).toHaveLength(earlier + (complete ? 1 : 0));
      killed = gateway('gateway-0', proxy.url);
      expect(await killed.listed()).toEqual(listed);
      expect(await left()).toEqual({ objects: 2 * listed.length, uploads: 0 });
      for (const { requestId, responseMetadata } of listed) {
        expect(responseMetadata).toMatchObject([{ numRows: ROWS.length }]);
        const last = await running.call(`/query/${requestId}/results?offset=${ROWS.length - 1}`);
        expect(await last.text()).toContain(`"rows":[${ROWS.at(-1)}]`);
      }
    },
  );
});
