// @module-tag slow
import { afterAll, beforeAll, describe, vi } from 'vitest';
import { S3ObjectClient } from '../../src/results/stores/s3/s3-client.ts';
import { hostileBucketTests } from './support/bucket-attacks.ts';
import { BUCKET, HostileS3 } from './support/hostile-bucket.ts';

describe('a bucket of S3 with any responses', () => {
  const bucket = new HostileS3();
  // The SDK waits between attempts: up to a second by chance, and up to five by the number of the attempt.
  beforeAll(() => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { setTimeout: set } = globalThis;
    const impatient = (callback: () => void, ms = 0, ...rest: []): unknown =>
      set(callback, ms >= 1_000 && ms < 5_000 ? 0 : ms, ...rest);
    vi.stubGlobal('setTimeout', Object.assign(impatient, set));
  });
  afterAll(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
  hostileBucketTests(
    bucket,
    () =>
      new S3ObjectClient({
        bucket: BUCKET,
        prefix: '',
        endpoint: bucket.url,
        region: 'us-east-1',
        pathStyle: true,
        accessKeyId: 'access',
        secretAccessKey: 'SECRET',
      }),
  );
});
