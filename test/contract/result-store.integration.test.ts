import { afterAll, beforeAll } from 'vitest';
import type { ResultStore } from '../../src/results/result-store.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { PropertyValues } from '../../src/platform/setting-schema.ts';
import { createResultStore } from '../../src/results/stores/result-stores.ts';
import { type GcsServer, startGcs } from '../support/gcs.ts';
import { fileInGcsProperties, fileInS3Properties, gcsProperties, s3Properties } from '../support/result-stores.ts';
import { type S3Server, startS3 } from '../support/s3.ts';
import { GATEWAY_ID, resultStoreContract, type StoreUnderTest } from './result-store.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';

let s3: S3Server;
let gcs: GcsServer;
let buckets = 0;

beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
});

async function storeOf(properties: PropertyValues): Promise<StoreUnderTest> {
  const open = async (): Promise<ResultStore> => {
    const store = await createResultStore(properties, {
      gatewayId: GATEWAY_ID,
      clock: systemClock,
      onProblem: (message) => {
        throw new Error(message);
      },
    });
    await store.start(AbortSignal.timeout(WAIT_LIMIT_MS));
    return store;
  };
  return { store: await open(), reopen: open };
}

resultStoreContract('s3', async () => storeOf(s3Properties(await s3.bucket(`results-${++buckets}`))));

resultStoreContract('gcs', async () => storeOf(gcsProperties(await gcs.bucket(`results-${++buckets}`))));

resultStoreContract('compressed s3', async () =>
  storeOf({
    ...s3Properties(await s3.bucket(`results-${++buckets}`)),
    'olap.broker.pagination.s3.compression': 'zstd',
  }),
);

resultStoreContract('compressed gcs', async () =>
  storeOf({
    ...gcsProperties(await gcs.bucket(`results-${++buckets}`)),
    'olap.broker.pagination.gcs.compression': 'zstd',
  }),
);

resultStoreContract('file in a bucket of S3', async () =>
  storeOf(fileInS3Properties(await s3.bucket(`results-${++buckets}`), 'nested/folder')),
);

resultStoreContract('file in a bucket of GCS', async () =>
  storeOf(fileInGcsProperties(await gcs.bucket(`results-${++buckets}`), 'nested/folder/')),
);
