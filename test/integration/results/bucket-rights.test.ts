import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { s3Properties, type TestBucket } from '../../support/result-stores.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { readPage } from '../../../src/results/rows/page.ts';
import { newRequestId } from '../../../src/results/request-id.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { createResultStore } from '../../../src/results/stores/result-stores.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { answerText, collect, responseOf, submission } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const DOCUMENT = join(import.meta.dirname, '../../../docs/paginated-queries.md');
const GATEWAY = 'gateway-0';
const ROWS = Array.from({ length: 4500 }, (_, i) => `[${i},"${'x'.repeat(2000)}"]`);
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

interface Statement {
  readonly Effect: string;
  readonly Resource: string;
  readonly Action: readonly string[];
}

let s3: S3Server;
let root: S3Client;
let documented: readonly Statement[];
let seed = 0;

beforeAll(async () => {
  s3 = await startS3();
  root = s3.client();
  const policy = /```json\n(\{"Version".*?)\n```/s.exec(await readFile(DOCUMENT, 'utf8'))?.[1];
  documented = (JSON.parse(policy ?? '') as { Statement: Statement[] }).Statement;
});
afterAll(async () => {
  root?.destroy();
  await s3?.stop();
});

const newId = (): string => newRequestId(GATEWAY, (bytes) => Buffer.alloc(bytes, `rights-${++seed}`));

/** A gateway with its own bucket and an account that has the documented permissions except `without`. */
async function gateway(
  name: string,
  without: readonly string[] = [],
): Promise<{ store: ResultStore; bucket: TestBucket; problems: string[] }> {
  const bucket = await s3.bucket(name);
  const keys = await s3.account(name);
  const statements = documented.map(({ Effect, Resource, Action }) => ({
    Effect,
    Principal: { AWS: [keys.accessKeyId] },
    Resource: Resource.replace('BUCKET', name),
    Action: Action.filter((action) => !without.includes(action)),
  }));
  const Policy = JSON.stringify({
    Version: '2012-10-17',
    Statement: statements.filter((one) => one.Action.length > 0),
  });
  await root.send(new PutBucketPolicyCommand({ Bucket: name, Policy }));
  const problems: string[] = [];
  const store = await createResultStore(s3Properties({ ...bucket, ...keys }), {
    gatewayId: GATEWAY,
    clock: systemClock,
    onProblem: (message) => problems.push(message),
  });
  return { store, bucket, problems };
}

/** Creates leftovers of a killed gateway: an upload, and rows without a record. */
async function leave({ bucket, prefix }: TestBucket): Promise<void> {
  await root.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `${prefix}${newId()}.rows` }));
  await root.send(new PutObjectCommand({ Bucket: bucket, Key: `${prefix}${newId()}.rows`, Body: '[1]' }));
}

async function left({ bucket: Bucket }: TestBucket): Promise<{ objects: number; uploads: number }> {
  const { Contents = [] } = await root.send(new ListObjectsV2Command({ Bucket }));
  const { Uploads = [] } = await root.send(new ListMultipartUploadsCommand({ Bucket }));
  return { objects: Contents.length, uploads: Uploads.length };
}

async function storeAndRead(store: ResultStore): Promise<string> {
  const requestId = newId();
  const outcome = await storeResponse(responseOf(answerText(ROWS)), store, submission({ requestId }), signal());
  if (outcome.kind !== 'stored') throw new Error('not stored');
  const { rows } = await readPage(outcome.reader, { offset: 4499, numRows: 1 }, {}, signal());
  expect(await collect(rows)).toBe(ROWS[4499]);
  return requestId;
}

describe('the permissions of a gateway on its bucket', () => {
  it('are sufficient as documented', async () => {
    const { store, bucket, problems } = await gateway('as-documented');
    await leave(bucket);
    await store.start(signal());
    expect(await left(bucket)).toEqual({ objects: 0, uploads: 0 });
    const requestId = await storeAndRead(store);
    const broken = await store.begin(newId(), signal());
    for (const row of ROWS) await broken.write(Buffer.from(row));
    await broken.discard();
    await store.tidy?.(signal());
    expect(await left(bucket)).toEqual({ objects: 2, uploads: 0 });
    expect(await store.open(newId(), signal())).toBeUndefined();
    expect(await store.delete(requestId, signal())).toBe(true);
    expect(await left(bucket)).toEqual({ objects: 0, uploads: 0 });
    expect(problems).toEqual([]);
    await store.close();
  });

  it.each([
    [
      's3:ListBucketMultipartUploads',
      { objects: 0, uploads: 1 },
      ['(AccessDenied); retrying. Required: `s3:ListBucketMultipartUploads` and `s3:AbortMultipart'],
    ],
    [
      's3:AbortMultipartUpload',
      { objects: 0, uploads: 1 },
      ['(AccessDenied); retrying. Required: `s3:ListBucketMultipartUploads` and `s3:AbortMultipart'],
    ],
    [
      's3:DeleteObject',
      // The rows without a record, and the object by which the permissions are checked.
      { objects: 2, uploads: 0 },
      [
        'result store `s3://without-deleteobject/results`: the credentials lack the permission `s3:DeleteObject` (AccessDenied)',
        '(AccessDenied); retrying. Required: `s3:ListBucket` and `s3:DeleteObject`',
      ],
    ],
  ] as const)('without `%s` are reported, and the gateway starts', async (right, remaining, says) => {
    const { store, bucket, problems } = await gateway(`without-${right.slice(3).toLowerCase()}`, [right]);
    await leave(bucket);
    await store.start(signal());
    expect(problems.toSorted((a, b) => b.localeCompare(a))).toEqual(says.map((text) => expect.stringContaining(text)));
    expect(await left(bucket)).toEqual(remaining);
    await storeAndRead(store);
    await store.close();
  });

  it.each(['s3:ListBucket', 's3:PutObject', 's3:GetObject'])('without `%s` prevent the start', async (right) => {
    const name = `without-${right.slice(3).toLowerCase()}`;
    const { store, bucket, problems } = await gateway(name, [right]);
    await expect(store.start(signal())).rejects.toMatchObject({
      code: 'store-unavailable',
      message: `the result store \`s3://${name}/results\` cannot be used: the credentials lack the permission \`${right}\` (AccessDenied)`,
    });
    expect([await left(bucket), problems]).toEqual([{ objects: 0, uploads: 0 }, []]);
    await store.close();
  });
});
