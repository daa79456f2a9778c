import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { PropertyValues } from '../../src/platform/setting-schema.ts';
import { createResultStore } from '../../src/results/stores/result-stores.ts';
import { GcsObjectClient } from '../../src/results/stores/gcs/gcs-client.ts';
import type { ObjectClient } from '../../src/results/stores/object/object-client.ts';
import { S3ObjectClient } from '../../src/results/stores/s3/s3-client.ts';
import { type GcsServer, startGcs } from '../support/gcs.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { gcsProperties, s3Properties } from '../support/result-stores.ts';
import { type S3Server, startS3 } from '../support/s3.ts';
import { type DamageableStore, damagedResultsContract } from './damaged-results.ts';

let s3: S3Server;
let gcs: GcsServer;
let buckets = 0;
const clients: ObjectClient[] = [];

beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await s3?.stop();
  await gcs?.stop();
});

const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

function storageOf(client: ObjectClient, properties: PropertyValues): DamageableStore {
  clients.push(client);
  return {
    isShared: true,
    raw: {
      names: async () => {
        const names: string[] = [];
        for await (const { key } of client.list('', signal())) names.push(key);
        return names.sort();
      },
      get: async (name) => (await client.get(name, signal()))!,
      put: (name, bytes) => client.put(name, bytes, signal()),
      delete: (name) => client.delete(name, signal()),
    },
    open: async (gatewayId, clock) =>
      createResultStore(properties, {
        gatewayId,
        clock,
        onProblem: (message) => {
          throw new Error(message);
        },
      }),
  };
}

damagedResultsContract('a bucket of S3', async () => {
  const bucket = await s3.bucket(`damaged-${++buckets}`);
  return storageOf(
    new S3ObjectClient({
      pathStyle: true,
      region: undefined,
      accessKeyId: undefined,
      secretAccessKey: undefined,
      ...bucket,
    }),
    s3Properties(bucket),
  );
});

damagedResultsContract('a bucket of GCS', async () => {
  const bucket = await gcs.bucket(`damaged-${++buckets}`);
  return storageOf(new GcsObjectClient({ ...bucket, clock: systemClock }), gcsProperties(bucket));
});
