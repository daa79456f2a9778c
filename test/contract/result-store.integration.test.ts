import { afterAll, beforeAll } from 'vitest';
import type { ResultStore } from '../../src/results/result-store.ts';
import { DEFAULT_RESULT_STORE_SETTINGS, type ResultStoreSettings } from '../../src/results/settings.ts';
import { createResultStore } from '../../src/results/stores/create-store.ts';
import { type GcsServer, startGcs } from '../support/gcs.ts';
import { type S3Server, startS3 } from '../support/s3.ts';
import { GATEWAY_ID, resultStoreContract, type StoreUnderTest } from './result-store.ts';

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

async function storeOf(settings: Partial<ResultStoreSettings>): Promise<StoreUnderTest> {
  const open = async (): Promise<ResultStore> => {
    const store = await createResultStore(
      { ...DEFAULT_RESULT_STORE_SETTINGS, ...settings },
      {
        gatewayId: GATEWAY_ID,
        now: Date.now,
        onProblem: (message) => {
          throw new Error(message);
        },
      },
    );
    await store.start(AbortSignal.timeout(30_000));
    return store;
  };
  return { store: await open(), reopen: open };
}

resultStoreContract('s3', async () => storeOf({ protocol: 's3', s3: await s3.bucket(`results-${++buckets}`) }));

resultStoreContract('gcs', async () => storeOf({ protocol: 'gcs', gcs: await gcs.bucket(`results-${++buckets}`) }));

resultStoreContract('file in a bucket of S3', async () => {
  const settings = await s3.bucket(`results-${++buckets}`);
  return storeOf({
    protocol: 'file',
    fileDataDir: `s3://${settings.bucket}/deep/er`,
    s3: { ...settings, bucket: '', prefix: '' },
  });
});

resultStoreContract('file in a bucket of GCS', async () => {
  const settings = await gcs.bucket(`results-${++buckets}`);
  return storeOf({
    protocol: 'file',
    fileDataDir: `gs://${settings.bucket}/deep/er/`,
    gcs: { ...settings, bucket: '', prefix: '' },
  });
});
