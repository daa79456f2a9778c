import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createEngine } from '../../src/engine/connection.ts';
import type { ResultStoreSettings } from '../../src/query/settings.ts';
import { startGcs } from '../../test/support/gcs.ts';
import { startPinot } from '../../test/support/pinot.ts';
import { startS3 } from '../../test/support/s3.ts';
import { atMost, type Bench, measure } from '../harness.ts';
import { openStore, storeOnce } from './store-answer.ts';

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
      const store = await openStore({ protocol, memoryMaxBytes: 1024 * MB }, folder);
      const theirs = await measure(direct, { rounds: 5 });
      const ours = await measure(() => storeOnce(broker, store, QUERY), { rounds: 5 });
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

/** Growth of the resident memory over what the warm process had before, at its highest; engine and store each in a process of its own. */
async function memory(bench: Bench, folder: string): Promise<void> {
  bench.note('results of 1 GB are stored: minutes for GCS, whose stand-in copies what it has with each part');
  const [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  const engine = startProgram('result-engine.ts', []);
  try {
    const engineUrl = `http://127.0.0.1:${await engine.line()}`;
    const stores: readonly Partial<ResultStoreSettings>[] = [
      { protocol: 'file' },
      { protocol: 's3', s3: await s3.bucket('bench') },
      { protocol: 'gcs', gcs: await gcs.bucket('bench') },
    ];
    for (const settings of stores) {
      const storing = startProgram('storing-process.ts', [
        JSON.stringify(settings),
        folder,
        engineUrl,
        String(LARGE_ROWS),
      ]);
      const [grown = 0, bytes = 0] = (await storing.line()).split(' ').map(Number);
      storing.stop();
      bench.add({
        work: `growth of resident memory, a result of ${Math.round(bytes / MB)} MB, ${settings.protocol} store`,
        unit: 'MB',
        better: 'less',
        ours: grown / MB,
        goal: atMost(64, 'MB'),
      });
    }
  } finally {
    engine.stop();
    await s3.stop();
    await gcs.stop();
  }
}

/** A workload in a process of its own, which ends with its standard input. */
function startProgram(name: string, args: readonly string[]): { line(): Promise<string>; stop(): void } {
  const program = join(import.meta.dirname, name);
  const child = spawn(process.execPath, ['--expose-gc', program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async line() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${name} ended before it told anything`);
      return value;
    },
    stop: () => child.stdin.end(),
  };
}
