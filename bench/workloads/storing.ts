import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileProperties, gcsProperties, s3Properties, storeProperties } from '../../test/support/result-stores.ts';
import { protocolOf } from '../../src/results/stores/result-stores.ts';
import type { PropertyValues } from '../../src/platform/setting-schema.ts';
import { createEngine } from '../../src/pinot/connection.ts';
import { startGcs } from '../../test/support/gcs.ts';
import { startPinot } from '../../test/support/pinot.ts';
import { startS3 } from '../../test/support/s3.ts';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atMost } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { openStore, storeOnce } from './store-answer.ts';

const MB = 1024 * 1024;
const QUERY = {
  method: 'POST',
  path: '/query/sql',
  headers: { 'content-type': 'application/json' },
  // More rows exceed the heap of a Pinot in one JVM. Ten seconds, the engine's default time-out, are too short on a busy machine.
  body: JSON.stringify({ sql: 'SELECT * FROM orders LIMIT 500000', queryOptions: 'timeoutMs=120000' }),
  headersTimeoutMs: 120_000,
} as const;
const STORING_ROUNDS = sized({ quick: 1, normal: 6 });
/** About 1 GB. */
const LARGE_ROWS = sized({ quick: 400_000, normal: 9_700_000 });

/** Storing, end to end, on a real Pinot; and the memory for a result of 1 GB in each store except `memory`. */
export async function benchStoring(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  try {
    await bench.part('storing, end to end', () => againstBroker(bench, folder));
    await bench.part('memory of storing', () => memory(bench, folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function againstBroker(bench: Bench, folder: string): Promise<void> {
  bench.note('starting a Pinot with 1,000,000 rows');
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
    const protocols = ['memory', 'file'] as const;
    const stores = await Promise.all([
      openStore(storeProperties('memory', { 'memory.max.bytes': 1024 * MB })),
      openStore(fileProperties(folder)),
    ]);
    let stored = { rows: 0, bytes: 0 };
    const sides = [
      direct,
      ...stores.map((store) => async () => {
        stored = await storeOnce(broker, store, QUERY);
      }),
    ].map((run) => ({ run, wallMs: [] as number[] }));
    // The engine's own time varies more than the measured one: the sides take turns, each time in another order, so that this affects all of them.
    for (let round = 0; round <= STORING_ROUNDS; round++) {
      for (const side of [...sides.slice(round % sides.length), ...sides.slice(0, round % sides.length)]) {
        const started = performance.now();
        await side.run();
        // The first round warms up.
        if (round > 0) side.wallMs.push(performance.now() - started);
      }
    }
    const [theirs = Number.NaN, ...ours] = sides.map(({ wallMs }) => median(wallMs));
    for (const [at, protocol] of protocols.entries()) {
      await stores[at]?.close();
      bench.add({
        work: `storing 500,000 rows (${Math.round(stored.bytes / MB)} MB), ${protocol} store`,
        unit: 'ms wall',
        better: 'less',
        ours: ours[at] ?? Number.NaN,
        peer: 'the same query straight from the broker',
        theirs,
        answers: [stored.rows, 500_000],
        goal: { text: '≤ 1.1×', holds: ({ ratio }) => ratio !== null && ratio >= 1 / 1.1 },
      });
    }
  } finally {
    await engine.close();
    await pinot.stop();
  }
}

/** Maximum growth of the resident memory of the warm process; engine and store run in separate processes. */
async function memory(bench: Bench, folder: string): Promise<void> {
  bench.note('storing results of 1 GB: minutes for GCS, whose stand-in copies its data with each part');
  const [s3, gcs] = await Promise.all([startS3(), startGcs()]);
  const engine = startProgram('result-engine.ts', []);
  try {
    const engineUrl = `http://127.0.0.1:${await engine.line()}`;
    const stores: readonly PropertyValues[] = [
      fileProperties(folder),
      s3Properties(await s3.bucket('bench')),
      gcsProperties(await gcs.bucket('bench')),
    ];
    for (const properties of stores) {
      const storing = startProgram(
        'storing-process.ts',
        [JSON.stringify(properties), engineUrl, String(LARGE_ROWS)],
        [...NODE_OPTIONS, '--expose-gc'],
      );
      const [grown = 0, bytes = 0] = (await storing.line()).split(' ').map(Number);
      storing.stop();
      bench.add({
        work: `growth of resident memory, a result of ${Math.round(bytes / MB)} MB, ${protocolOf(properties)} store`,
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

/** A workload in a separate process, which ends with its standard input. */
function startProgram(
  name: string,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): { line(): Promise<string>; stop(): void } {
  const program = join(import.meta.dirname, name);
  const child = spawn(process.execPath, [...nodeOptions, program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async line() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${name} exited without output`);
      return value;
    },
    stop: () => child.stdin.end(),
  };
}
