import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStoreSettings } from '../../src/query/settings.ts';
import { type ObjectServer, startObjectServer } from './object-servers.ts';

export interface S3Server extends ObjectServer {
  /** Makes a bucket, and tells how to reach it. */
  bucket(name: string, prefix?: string): Promise<ObjectStoreSettings>;
  /** A client of the test's own, to look behind the store. */
  client(): S3Client;
}

const KEY = { accessKeyId: 'warden-test', secretAccessKey: 'warden-test-secret' };
const REGION = 'us-east-1';

/** A real S3 server (versitygw over a folder). */
export async function startS3(): Promise<S3Server> {
  const server = await startObjectServer('s3', 'versitygw', ({ host, port, data }) => [
    ...['--port', `${host}:${port}`, '--access', KEY.accessKeyId, '--secret', KEY.secretAccessKey],
    ...['--region', REGION, '--quiet', '--keep-alive', 'posix', data],
  ]);
  const client = (): S3Client =>
    new S3Client({ endpoint: server.url, region: REGION, forcePathStyle: true, credentials: KEY });
  return {
    ...server,
    client,
    async bucket(bucket, prefix = 'results/') {
      const s3 = client();
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
      s3.destroy();
      return { bucket, prefix, endpoint: server.url, region: REGION, pathStyle: true, ...KEY };
    },
  };
}
