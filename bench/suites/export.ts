import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TEST_HEADERS } from '../../test/support/app.ts';
import { pythonWithDataFrames, pythonWithPinotdb, run as runProgram } from '../../test/integration/clients/install.ts';
import type { Bench } from '../frame/bench.ts';
import { format } from '../frame/format.ts';
import { median } from '../frame/measure.ts';
import { atLeastTimes, type Goal, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { startGateway } from '../workloads/page-gateway-process.ts';

const ROWS = sized({ quick: 50_000, normal: 1_000_000 });
const ROUNDS = sized({ quick: 1, normal: 3 });
const RUN_LIMIT_MS = 600_000;
const PROGRAM = join(import.meta.dirname, '../workloads/to_frame.py');

const OURS = ['arrow', 'csv', 'jsonl'] as const;
/** Through the same gateway. pandas makes the frame in all of them. */
const PEERS = ['pinotdb', 'pages'] as const;
type Way = (typeof OURS)[number] | (typeof PEERS)[number];

const NAMES: Readonly<Record<Way, string>> = {
  arrow: 'Arrow',
  csv: 'CSV',
  jsonl: 'JSON lines',
  pinotdb: 'pinotdb',
  pages: 'pages of JSON',
};

interface Frame {
  readonly wallMs: number;
  /** Growth of the client's memory up to its peak. */
  readonly memoryMb: number;
  readonly sums: unknown;
}

/** From the query to a DataFrame of pandas: each way in turn, in a process of its own; medians. Downloads include the storing of the result. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  try {
    const packages = `${await pythonWithDataFrames()}:${await pythonWithPinotdb()}`;
    const gateway = await startGateway(folder, [ROWS], 'keep');
    try {
      const frames = await measure(bench, packages, gateway.url);
      for (const ours of OURS) for (const peer of PEERS) compare(bench, frames, ours, peer);
    } finally {
      gateway.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(bench: Bench, packages: string, url: string): Promise<Map<Way, Frame[]>> {
  const frames = new Map<Way, Frame[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of [...OURS, ...PEERS]) {
      bench.note(`round ${round + 1} of ${ROUNDS}: ${NAMES[way]}`);
      const args = [PROGRAM, way, url, 'SELECT * FROM orders', JSON.stringify(TEST_HEADERS)];
      const env = { ...process.env, PYTHONPATH: packages };
      const { stdout } = await runProgram('python3', args, { env, timeout: RUN_LIMIT_MS });
      frames.set(way, [...(frames.get(way) ?? []), JSON.parse(stdout) as Frame]);
    }
  }
  return frames;
}

function compare(bench: Bench, frames: ReadonlyMap<Way, readonly Frame[]>, ours: Way, peer: Way): void {
  const [mine, theirs] = [frames.get(ours) ?? [], frames.get(peer) ?? []];
  const goal: Goal = ours === 'arrow' && peer === 'pinotdb' ? atLeastTimes(4) : NO_GOAL;
  const answers = [mine.map(({ sums }) => sums), theirs.map(({ sums }) => sums)] as const;
  for (const [field, unit, what, wanted] of [
    ['wallMs', 'ms wall', `a query of ${format(ROWS)} rows as a DataFrame`, goal],
    ['memoryMb', 'MB', 'the memory of the client for it', NO_GOAL],
  ] as const) {
    bench.add({
      work: `${what}, ${NAMES[ours]}`,
      unit,
      better: 'less',
      ours: median(mine.map((frame) => frame[field])),
      peer: NAMES[peer],
      theirs: median(theirs.map((frame) => frame[field])),
      answers,
      goal: wanted,
    });
  }
}
