import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { installed } from '../../tools/pinot/jvm.ts';
import { type ObjectServer, startObjectServer } from './object-servers.ts';
import type { TestBucket } from './result-stores.ts';
import { WAIT_LIMIT_MS } from './limits.ts';
import { execute } from './execute.ts';

export interface S3Server extends ObjectServer {
  /** Creates a bucket. */
  bucket(name: string, prefix?: string): Promise<TestBucket>;
  /** A client that bypasses the result store. The caller destroys it. */
  client(): S3Client;
  /** Creates an account whose only permissions are those of bucket policies. @returns its keys */
  account(name: string): Promise<{ accessKeyId: string; secretAccessKey: string }>;
}

const KEY = { accessKeyId: 'warden-test', secretAccessKey: 'warden-test-secret' };
const REGION = 'us-east-1';

/** Starts versitygw, an S3 server, with its data in a folder. */
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
      await execute(program, ['admin', ...admin, 'create-user', ...user], { timeout: WAIT_LIMIT_MS });
      return keys;
    },
    async bucket(bucket, prefix = 'results/') {
      const s3 = client();
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
      s3.destroy();
      return { bucket, prefix, endpoint: server.url, region: REGION, ...KEY };
    },
  };
}
