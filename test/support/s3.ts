import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStoreSettings } from '../../src/results/settings.ts';
import { installed } from '../../tools/pinot/jvm.ts';
import { type ObjectServer, startObjectServer } from './object-servers.ts';

export interface S3Server extends ObjectServer {
  /** Makes a bucket, and tells how to reach it. */
  bucket(name: string, prefix?: string): Promise<ObjectStoreSettings>;
  /** A client of the test's own, to look behind the store. */
  client(): S3Client;
  /** Makes an account that may do only what policies of buckets allow it. @returns its keys */
  account(name: string): Promise<{ accessKeyId: string; secretAccessKey: string }>;
}

const KEY = { accessKeyId: 'warden-test', secretAccessKey: 'warden-test-secret' };
const REGION = 'us-east-1';

/** A real S3 server (versitygw over a folder). */
export async function startS3(): Promise<S3Server> {
  const server = await startObjectServer('s3', 'versitygw', ({ host, port, data, accounts }) => [
    ...['--port', `${host}:${port}`, '--access', KEY.accessKeyId, '--secret', KEY.secretAccessKey],
    ...['--region', REGION, '--iam-dir', accounts, '--quiet', '--keep-alive', 'posix', data],
  ]);
  const client = (): S3Client =>
    new S3Client({ endpoint: server.url, region: REGION, forcePathStyle: true, credentials: KEY });
  return {
    ...server,
    client,
    async account(name) {
      const keys = { accessKeyId: name, secretAccessKey: `secret-of-${name}` };
      const admin = ['--access', KEY.accessKeyId, '--secret', KEY.secretAccessKey, '--endpoint-url', server.url];
      const user = ['--access', keys.accessKeyId, '--secret', keys.secretAccessKey, '--role', 'user'];
      const program = join(await installed('s3'), 'versitygw');
      await promisify(execFile)(program, ['admin', ...admin, 'create-user', ...user], { timeout: 10_000 });
      return keys;
    },
    async bucket(bucket, prefix = 'results/') {
      const s3 = client();
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
      s3.destroy();
      return { bucket, prefix, endpoint: server.url, region: REGION, pathStyle: true, ...KEY };
    },
  };
}
