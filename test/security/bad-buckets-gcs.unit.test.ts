// @module-tag slow
import { describe, expect, it } from 'vitest';
import { QueryError } from '../../src/results/errors.ts';
import { GcsObjectClient } from '../../src/results/stores/gcs/gcs-client.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { hostileBucketTests, impatientClock } from './support/bucket-attacks.ts';
import { BUCKET, HostileGcs } from './support/hostile-bucket.ts';

describe('a bucket of GCS with any responses', () => {
  const bucket = new HostileGcs();
  hostileBucketTests(
    bucket,
    () => new GcsObjectClient({ bucket: BUCKET, prefix: '', endpoint: bucket.url, clock: impatientClock }),
  );

  // The SDK would throw for these where nothing can catch it.
  it.each([
    [204, ''],
    [200, 'null'],
    [200, '{"items":{}}'],
    [200, '{"items":[null]}'],
    [200, '{"items":[{"size":"1"}]}'],
    [200, '{"items":[{"name":"a","updated":1}]}'],
    [200, '{"items":[{"name":"a","size":"many"}]}'],
    [200, '{"items":[],"nextPageToken":{}}'],
  ])('reports listings and metadata of another form: %i %s', async (status, insert) => {
    const client = new GcsObjectClient({ bucket: BUCKET, prefix: '', endpoint: bucket.url, clock: impatientClock });
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
    const headers = status === 204 ? { 'content-type': undefined } : {};
    const other = { status, headers, edits: [{ at: 0, removed: 1e9, insert }], keepsLength: false };
    bucket.plan = Array.from({ length: 50 }, () => other);
    await expect(client.list('', signal)[Symbol.asyncIterator]().next()).rejects.toThrow(QueryError);
    bucket.objects.set('known', Buffer.from('bytes'));
    bucket.plan = Array.from({ length: 50 }, () => other);
    const size = await client.size('known', signal).catch((error: unknown) => error);
    if (typeof size !== 'number') expect(size).toBeInstanceOf(QueryError);
    bucket.plan = [];
    await client.close();
  });
});
