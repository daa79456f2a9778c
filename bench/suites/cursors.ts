import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeCluster } from '../../test/support/foreign-pinot.ts';
import { FIRST_ORDER_ID } from '../../tools/pinot/sample-tables.ts';
import { loadSampleTables } from '../../tools/pinot/tables.ts';
import { createEngine } from '../../src/pinot/connection.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atLeastTimes, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { listenerOf } from '../listener.ts';
import { readPages, submitQuery, type CursorSide, type ReadPages } from '../workloads/cursor-sides.ts';
import { startGateway } from '../workloads/load-stage.ts';
import { residentMb } from '../workloads/load.ts';

const ROWS = sized({ quick: 50_000, normal: 500_000, full: 1_000_000 });
const PAGE_ROWS = 10_000;
const ROUNDS = sized({ quick: 1, normal: 2 });
/** The first rows of the sample, whichever servers answer first. */
const SQL = `SELECT * FROM orders WHERE orderId < ${FIRST_ORDER_ID + BigInt(ROWS)} LIMIT ${ROWS}`;
const PEER = "Pinot's own cursors";
const WORK = `a result of ${ROWS} rows in pages of ${PAGE_ROWS}`;
const SAMPLE_MS = 100;

/** The gateway with its file store against the cursors of a Pinot 1.3 or newer, on the same Pinot, by the same requests. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const controller = process.env['BENCH_CONTROLLER'];
  if (!controller) {
    const reason =
      'BENCH_CONTROLLER=URL names no controller of an Apache Pinot 1.3 or newer; the part installed here is 0.11';
    bench.missing({ work: WORK, peer: PEER, reason });
    return;
  }
  const cluster = await describeCluster(controller);
  bench.version('Pinot with cursors', await versionOf(cluster.controllerUrl));
  bench.note('loading the sample table `orders` if it is missing');
  await loadSampleTables(cluster, () => undefined, ['orders']);
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  const gateway = await startGateway(cluster.controllerUrl, folder);
  try {
    const brokerUrl = cluster.brokerUrls[0]!;
    const ours = { url: gateway.url, headers: { authorization: `Bearer ${gateway.token}` }, pid: gateway.program.pid };
    const broker = await listenerOf(Number(new URL(brokerUrl).port));
    await compare(bench, ours, { url: brokerUrl, headers: {}, pid: broker });
  } finally {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function versionOf(controllerUrl: string): Promise<string> {
  const engine = createEngine({ controllerUrls: [controllerUrl] });
  try {
    const response = await engine.controller.request({ method: 'GET', path: '/version', headers: {} });
    let text = '';
    for await (const chunk of response.body) text += String(chunk);
    return Object.values(JSON.parse(text) as Record<string, string>)[0] ?? 'unknown';
  } finally {
    await engine.close();
  }
}

interface WatchedSide extends CursorSide {
  /** Undefined on another machine. */
  readonly pid: number | undefined;
}

interface Figures {
  readonly firstMs: number;
  readonly allMs: number;
  readonly pagesMs: readonly number[];
  readonly rows: ReadPages['rows'];
  readonly maxRssMb: number;
}

/** Both sides in turn. */
async function compare(bench: Bench, ours: WatchedSide, theirs: WatchedSide): Promise<void> {
  const runs: { ours: Figures[]; theirs: Figures[] } = { ours: [], theirs: [] };
  for (let round = 0; round < ROUNDS; round++) {
    bench.note(`round ${round + 1} of ${ROUNDS}`);
    runs.theirs.push(await measureSide(theirs));
    runs.ours.push(await measureSide(ours));
  }
  const figure = (of: (run: Figures) => number) => ({
    ours: median(runs.ours.map(of)),
    theirs: median(runs.theirs.map(of)),
  });
  const answers = [runs.ours.map(({ rows }) => rows), runs.theirs.map(({ rows }) => rows)] as const;
  const row = { unit: 'ms wall', better: 'less', peer: PEER, answers } as const;
  bench.add({ ...row, ...figure((run) => run.firstMs), work: `${WORK}: the first page`, goal: atMostTimes(1.1) });
  bench.add({ ...row, ...figure((run) => median(run.pagesMs)), work: `${WORK}: a page`, goal: atLeastTimes(10) });
  bench.add({ ...row, ...figure((run) => run.allMs), work: `${WORK}: all pages`, goal: atLeastTimes(2) });
  const memory = { work: `${WORK}: highest resident memory`, unit: 'MB', better: 'less', goal: NO_GOAL } as const;
  const peer = 'the process of the broker';
  if (theirs.pid === undefined) bench.missing({ ...memory, peer, reason: 'the broker runs on another machine' });
  else bench.add({ ...memory, ...figure((run) => run.maxRssMb), peer });
  bench.curve({
    id: 'cursor-page-by-offset',
    title: `A page of ${PAGE_ROWS} rows by its offset, of ${ROWS} rows`,
    x: { label: 'offset', unit: 'rows', scale: 'linear' },
    y: { label: 'time of a page', unit: 'ms', scale: 'log' },
    series: [
      { name: 'olap-warden, file store', points: pointsOf(runs.ours) },
      { name: PEER, points: pointsOf(runs.theirs) },
    ],
    note: 'The broker reads and parses the whole stored result for each page. The gateway reads the bytes of the page only.',
  });
}

const offsets = Array.from({ length: ROWS / PAGE_ROWS }, (_, index) => index * PAGE_ROWS);

const pointsOf = (runs: readonly Figures[]): [number, number][] =>
  offsets.map((offset, at) => [offset, median(runs.map(({ pagesMs }) => pagesMs[at] ?? Number.NaN))]);

async function measureSide(side: WatchedSide): Promise<Figures> {
  const { pid } = side;
  let maxRssMb = 0;
  const sampler = setInterval(() => {
    if (pid === undefined) return;
    void residentMb(pid).then((now) => {
      maxRssMb = Math.max(maxRssMb, now);
    });
  }, SAMPLE_MS);
  try {
    const began = performance.now();
    const { requestId, wallMs: firstMs } = await submitQuery(side, SQL, PAGE_ROWS);
    const { wallMs: pagesMs, rows } = await readPages(side, requestId, offsets, PAGE_ROWS);
    const allMs = performance.now() - began;
    await fetch(`${side.url}/responseStore/${requestId}`, {
      method: 'DELETE',
      headers: side.headers,
      signal: AbortSignal.timeout(60_000),
    });
    return { firstMs, allMs, pagesMs, rows, maxRssMb };
  } finally {
    clearInterval(sampler);
  }
}
