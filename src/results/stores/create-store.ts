import { fileURLToPath } from 'node:url';
import { holderTag } from '../request-id.ts';
import type { ResultStore } from '../result-store.ts';
import type { ObjectStoreSettings, ResultStoreProtocol, ResultStoreSettings } from '../settings.ts';
import { FileStore } from './file/file.ts';
import { MemoryStore } from './memory.ts';
import { ObjectResultStore } from './object/object.ts';
import type { ObjectClient } from './object/object-client.ts';

export interface StoreSurroundings {
  /** `brokerId` of this gateway. */
  readonly gatewayId: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Called with problems for the operator that no caller can fix. */
  readonly onProblem: (message: string) => void;
}

const DATA_DIR = 'olap.broker.pagination.file.data.dir';

/**
 * Creates the configured store; call `start` before use. The SDK of an object store is loaded only if it is configured.
 * @throws {TypeError} for settings without a location
 */
export async function createResultStore(
  settings: ResultStoreSettings,
  around: StoreSurroundings,
): Promise<ResultStore> {
  switch (settings.protocol) {
    case 'memory':
      return new MemoryStore({ maxBytes: settings.memoryMaxBytes });
    case 'file':
      return fileStore(settings, around);
    case 's3':
      return objectStore('s3', await s3Client(settings.s3), around);
    case 'gcs':
      return objectStore('gcs', await gcsClient(settings.gcs), around);
  }
}

/** Like Pinot, `file` accepts a bucket URI and then uses an object store. */
async function fileStore(settings: ResultStoreSettings, around: StoreSurroundings): Promise<ResultStore> {
  const { fileDataDir, tempDir } = settings;
  if (fileDataDir === undefined)
    throw new TypeError(`\`${DATA_DIR}\` must be set: a folder, \`s3://bucket/prefix\` or \`gs://bucket/prefix\``);
  if (fileDataDir.startsWith('s3:'))
    return objectStore('file', await s3Client({ ...settings.s3, ...place(fileDataDir) }), around);
  if (fileDataDir.startsWith('gs:'))
    return objectStore('file', await gcsClient({ ...settings.gcs, ...place(fileDataDir) }), around);
  const dataDir = fileDataDir.startsWith('file:') ? fileURLToPath(fileDataDir) : fileDataDir;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(dataDir)) {
    throw new TypeError(
      `\`${DATA_DIR}\` is \`${fileDataDir}\`, but only \`file:\`, \`s3:\` and \`gs:\` URIs are known`,
    );
  }
  const { gatewayId, ...rest } = around;
  return new FileStore({ dataDir, tempDir, tag: holderTag(gatewayId), ...rest });
}

function place(uri: string): Pick<ObjectStoreSettings, 'bucket' | 'prefix'> {
  const { hostname, pathname } = new URL(uri);
  const path = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, '');
  return { bucket: hostname, prefix: path === '' ? '' : `${path}/` };
}

function objectStore(protocol: ResultStoreProtocol, client: ObjectClient, around: StoreSurroundings): ResultStore {
  const { now, onProblem } = around;
  return new ObjectResultStore({ client, protocol, tag: holderTag(around.gatewayId), now, onProblem });
}

async function s3Client(settings: ObjectStoreSettings): Promise<ObjectClient> {
  requireBucket(settings, 's3');
  const { S3ObjectClient } = await import('./object/s3.ts');
  return new S3ObjectClient(settings);
}

async function gcsClient(settings: ObjectStoreSettings): Promise<ObjectClient> {
  requireBucket(settings, 'gcs');
  const { GcsObjectClient } = await import('./object/gcs.ts');
  return new GcsObjectClient(settings);
}

function requireBucket(settings: ObjectStoreSettings, protocol: string): void {
  if (settings.bucket === '') throw new TypeError(`\`olap.broker.pagination.${protocol}.bucket\` must be set`);
}
