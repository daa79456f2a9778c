import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '../../src/engine/connection.ts';
import type { EngineEndpoint } from '../../src/engine/types.ts';
import type { ResultStore } from '../../src/query/result-store.ts';
import { DEFAULT_RESULT_STORE_SETTINGS, type ResultStoreSettings } from '../../src/query/settings.ts';
import { createResultStore } from '../../src/query/stores/create-store.ts';
import { storeAnswer } from '../../src/query/submit.ts';
import { startGcs } from '../../test/support/gcs.ts';
import { startPinot } from '../../test/support/pinot.ts';
import { startS3 } from '../../test/support/s3.ts';
import { atMost, type Bench, measure } from '../harness.ts';
import { endpointOf } from './result.ts';

const MB = 1024 * 1024;
const QUERY = {
  method: 'POST',
  path: '/query/sql',
  headers: { 'content-type': 'application/json' },
  // More rows than these do not fit into the heap of a Pinot in one JVM. Ten seconds, the engine's default, are too few on a busy machine.
  body: JSON.stringify({ sql: 'SELECT * FROM orders LIMIT 500000', queryOptions: 'timeoutMs=120000' }),
  headersTimeoutMs: 120_000,
} as const;
/** About 1 GB. */
const LARGE_ROWS = 9_700_000;
const SAMPLE_MS = 20;
let submissions = 0;

/** Storing, end to end, on a real Pinot; and the memory that a result of 1 GB takes in each store but `memory`. */
export async function benchStoring(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  try {
    await againstBroker(bench, folder);
    await memory(bench, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function open(settings: Partial<ResultStoreSettings>, folder: string): Promise<ResultStore> {
  const store = await createResultStore(
    { ...DEFAULT_RESULT_STORE_SETTINGS, fileDataDir: join(folder, 'data'), tempDir: join(folder, 'temp'), ...settings },
    { gatewayId: 'bench', now: Date.now, onProblem: () => undefined },
  );
  await store.start(AbortSignal.timeout(30_000));
  return store;
}

/** Runs the query, stores its answer, deletes it. @returns rows and bytes of the result */
async function submit(endpoint: EngineEndpoint, store: ResultStore): Promise<{ rows: number; bytes: number }> {
  const signal = AbortSignal.timeout(600_000);
  const response = await endpoint.request({ ...QUERY, signal });
  const requestId = `00000000-${String(++submissions).padStart(30, '0')}`;
  const origin = { requestId, brokerId: 'bench', owner: 'bench', tables: [], submissionTimeMs: 0, expirationTimeMs: 0 };
  const outcome = await storeAnswer(response, store, origin, signal);
  if (outcome.kind !== 'stored') throw new Error('the answer was not stored');
  const { rowCount, rowBytes } = outcome.reader.record;
  await outcome.reader.close();
  await store.delete(requestId, signal);
  return { rows: rowCount, bytes: rowBytes };
}

async function againstBroker(bench: Bench, folder: string): Promise<void> {
  bench.note('a Pinot of 1,000,000 rows starts');
  const pinot = await startPinot({ tables: ['orders'] });
  const engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
  try {
    const broker = engine.endpoint(pinot.brokerUrl);
    const direct = async (): Promise<number> => {
      const response = await broker.request(QUERY);
      if (response.status !== 200) throw new Error(`the broker answered ${response.status}`);
      let bytes = 0;
      for await (const chunk of response.body) bytes += (chunk as Buffer).length;
      return bytes;
    };
    await direct();
    for (const protocol of ['memory', 'file'] as const) {
      const store = await open({ protocol, memoryMaxBytes: 1024 * MB }, folder);
      const theirs = await measure(direct, { rounds: 5 });
      const ours = await measure(() => submit(broker, store), { rounds: 5 });
      await store.close();
      bench.add({
        work: `storing 500,000 rows (${Math.round(ours.answer.bytes / MB)} MB), ${protocol} store`,
        unit: 'ms wall',
        better: 'less',
        ours: ours.wallMs,
        peer: 'the same query straight from the broker',
        theirs: theirs.wallMs,
        goal: { text: '≤ 1.1×', holds: ({ ratio }) => ratio !== null && ratio >= 1 / 1.1 },
      });
    }
  } finally {
    await engine.close();
    await pinot.stop();
  }
}

/** Growth of the resident memory over what the process had before, at its highest. */
async function memory(bench: Bench, folder: string): Promise<void> {
  const endpoint = endpointOf(() => LARGE_ROWS);
  const [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  try {
    const stores: readonly Partial<ResultStoreSettings>[] = [
      { protocol: 'file' },
      { protocol: 's3', s3: await s3.bucket('bench') },
      { protocol: 'gcs', gcs: await gcs.bucket('bench') },
    ];
    for (const settings of stores) {
      const store = await open(settings, folder);
      const warm = endpointOf(() => 200_000);
      await submit(warm, store);
      globalThis.gc?.();
      const idle = process.memoryUsage.rss();
      let highest = idle;
      const sampler = setInterval(() => {
        highest = Math.max(highest, process.memoryUsage.rss());
      }, SAMPLE_MS);
      const { bytes } = await submit(endpoint, store);
      clearInterval(sampler);
      await store.close();
      bench.add({
        work: `growth of resident memory, a result of ${Math.round(bytes / MB)} MB, ${settings.protocol} store`,
        unit: 'MB',
        better: 'less',
        ours: (highest - idle) / MB,
        goal: atMost(64, 'MB'),
      });
    }
  } finally {
    await s3.stop();
    await gcs.stop();
  }
}
