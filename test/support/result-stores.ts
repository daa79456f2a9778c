import { join } from 'node:path';
import { PROPERTIES } from '../../src/app/parts/properties.ts';
import type { PropertyValues } from '../../src/platform/setting-schema.ts';

/** A bucket of a test server, and the access to it. */
export interface TestBucket {
  readonly bucket: string;
  readonly prefix: string;
  /** Base URL of the server. */
  readonly endpoint: string;
  /** Absent for GCS. */
  readonly region?: string;
  /** Absent for GCS; without them, the SDK's default chain applies. */
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
}

/**
 * Properties of a result store, with the defaults of all others.
 * @param own by the part of the key after `olap.broker.pagination.`
 */
export function storeProperties(protocol: string, own: Readonly<Record<string, unknown>> = {}): PropertyValues {
  const values: Record<string, unknown> = { ...PROPERTIES.resolve([]).values };
  for (const [key, value] of Object.entries({ protocol, ...own })) values[`olap.broker.pagination.${key}`] = value;
  return values;
}

export const memoryProperties = (): PropertyValues => storeProperties('memory');

/** A file store in folders of `folder`. */
export const fileProperties = (folder: string, data = 'data', temp = 'temp'): PropertyValues =>
  storeProperties('file', { 'file.data.dir': join(folder, data), 'temp.dir': join(folder, temp) });

export const s3Properties = (bucket: TestBucket): PropertyValues => storeProperties('s3', s3Access(bucket, true));

export const gcsProperties = ({ bucket, prefix, endpoint }: TestBucket): PropertyValues =>
  storeProperties('gcs', { 'gcs.bucket': bucket, 'gcs.prefix': prefix, 'gcs.endpoint': endpoint });

/** The protocol `file` with the URI of a bucket. @param path in the bucket */
export const fileInS3Properties = (bucket: TestBucket, path: string): PropertyValues =>
  storeProperties('file', { 'file.data.dir': `s3://${bucket.bucket}/${path}`, ...s3Access(bucket, false) });

export const fileInGcsProperties = ({ bucket, endpoint }: TestBucket, path: string): PropertyValues =>
  storeProperties('file', { 'file.data.dir': `gs://${bucket}/${path}`, 'gcs.endpoint': endpoint });

function s3Access(at: TestBucket, location: boolean): Readonly<Record<string, unknown>> {
  return {
    ...(location && { 's3.bucket': at.bucket, 's3.prefix': at.prefix }),
    's3.endpoint': at.endpoint,
    's3.region': at.region,
    's3.path.style': true,
    's3.access.key': at.accessKeyId,
    's3.secret.key': at.secretAccessKey,
  };
}
