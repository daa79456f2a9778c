import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayProcess } from '../../test/support/gateway-process.ts';
import { reasonOf, type Bench } from '../frame/bench.ts';
import { lastOf } from '../frame/measure.ts';
import { atMost, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { runLoad, type Loaded } from '../workloads/load.ts';
import {
  eventLoopDelayMs,
  pageTargets,
  queryTarget,
  startGateway,
  startRowsEngine,
  submit,
} from '../workloads/load-stage.ts';
import { leaveUnread } from '../workloads/unread-pages.ts';

const ROWS = sized({ quick: 50_000, normal: 1_000_000 });
/** About 1 GB. */
const LARGE_ROWS = sized({ quick: 500_000, normal: 9_700_000 });
const SECONDS = sized({ quick: 1, normal: 6 });
const CLIENTS = sized({ quick: [1, 20], normal: [1, 3, 10, 30, 100, 300, 1000] });
const PAGING_CLIENTS = sized({ quick: 10, normal: 100 });
const PAGE_ROWS = 100;
const DELAY_GOAL_MS = 20;
/** Of clients that use each page before they read the next one. */
const PAUSE_MS = 2000;
const SATURATED =
  'clients without pauses keep the core of the event loop busy: a turn starts requests for 4 ms, and then has the connections that are opened and closed at once, the reads that have ended, and the garbage collector';

/** Many clients at once, and the delay of the event loop meanwhile. Gateway, engine and load generator are separate processes on this machine. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  const rows = await startRowsEngine();
  const engine = { url: rows.url, folder };
  try {
    await bench.part('clients that page', () => curveOfClients(bench, engine));
    for (const pauseMs of [0, PAUSE_MS]) {
      await bench.part('100 clients page while 1 GB is stored', () => whileStoring(bench, engine, pauseMs));
    }
    await bench.part('pipelined pages that nobody reads', () => unread(bench, engine));
  } finally {
    rows.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The engine, and the folder of the result stores. */
interface Stage {
  readonly url: string;
  readonly folder: string;
}

async function withGateway(engine: Stage, use: (gateway: GatewayProcess) => Promise<void>): Promise<void> {
  const gateway = await startGateway(engine.url, engine.folder);
  try {
    await use(gateway);
  } finally {
    await gateway.stop();
  }
}

interface Point {
  readonly clients: number;
  readonly loaded: Loaded;
  readonly delayMs: number;
}

function curveOfClients(bench: Bench, engine: Stage): Promise<void> {
  return withGateway(engine, async (gateway) => {
    const targets = pageTargets(gateway, await submit(gateway, ROWS), ROWS, PAGE_ROWS);
    const { pid } = gateway.program;
    // Warms up the compiler of the gateway.
    await runLoad({ targets, clients: 10, warmUpSeconds: 0, seconds: SECONDS }, [pid]);
    const points: Point[] = [];
    for (const clients of CLIENTS) {
      bench.note(`${clients} clients read pages of ${PAGE_ROWS} rows`);
      await eventLoopDelayMs(gateway);
      try {
        const loaded = await runLoad({ targets, clients, warmUpSeconds: 1, seconds: SECONDS }, [pid]);
        points.push({ clients, loaded, delayMs: await eventLoopDelayMs(gateway) });
      } catch (error) {
        // The curve ends where requests fail.
        bench.missing({ work: `${clients} clients read pages of ${PAGE_ROWS} rows`, reason: reasonOf(error) });
        break;
      }
    }
    addClientCurves(bench, points);
    const last = lastOf(points);
    const work = `${last.clients} clients read pages of ${PAGE_ROWS} rows`;
    const row = { better: 'less', unit: 'ms' } as const;
    const goal = atMost(DELAY_GOAL_MS, 'ms');
    bench.add({ ...row, work: `${work}: event-loop delay p99`, ours: last.delayMs, goal, ifMissed: SATURATED });
    await eventLoopDelayMs(gateway);
    const paced = { targets, clients: last.clients, pauseMs: PAUSE_MS, warmUpSeconds: 2, seconds: SECONDS };
    await runLoad(paced, [pid]);
    const ours = await eventLoopDelayMs(gateway);
    bench.add({ ...row, work: `${work}, each every ${PAUSE_MS / 1000} s: event-loop delay p99`, ours, goal });
    bench.add({ ...row, work: `${work}: p99`, ours: last.loaded.p99Ms, goal: NO_GOAL });
    bench.add({
      ...row,
      work: `${work}: memory`,
      unit: 'MB',
      ours: last.loaded.maxRssMb[0] ?? 0,
      goal: atMost(512, 'MB'),
    });
  });
}

function addClientCurves(bench: Bench, points: readonly Point[]): void {
  const x = { label: 'clients', unit: '', scale: 'log' } as const;
  const series = (name: string, of: (point: Point) => number) => ({
    name,
    points: points.map((point) => [point.clients, of(point)] as const),
  });
  const cores = availableParallelism();
  bench.curve({
    id: 'throughput-by-clients',
    title: `Pages of ${PAGE_ROWS} rows by the number of clients: throughput`,
    x,
    y: { label: 'throughput', unit: 'pages/s', scale: 'linear' },
    series: [series('one gateway', ({ loaded }) => loaded.perSecond)],
    note: `Gateway and load generator share ${cores} cores. A gateway uses one core for its event loop: the throughput stays level when this core is busy, and further clients wait.`,
  });
  bench.curve({
    id: 'latency-by-clients',
    title: `Pages of ${PAGE_ROWS} rows by the number of clients: latency`,
    x,
    y: { label: 'latency', unit: 'ms', scale: 'log' },
    series: [
      series('p50', ({ loaded }) => loaded.p50Ms),
      series('p99', ({ loaded }) => loaded.p99Ms),
      series('event-loop delay p99', ({ delayMs }) => delayMs),
    ],
    note: 'Each client sends its next request when it has its answer. From the point on where the throughput is level, the latency grows with the number of clients. The event-loop delay is how late a timer fires: the histogram of Node.js less the 10 ms between its timers, of which an idle process has 10 to 12 ms.',
  });
  bench.curve({
    id: 'memory-by-clients',
    title: `Pages of ${PAGE_ROWS} rows by the number of clients: memory`,
    x,
    y: { label: 'highest resident memory', unit: 'MB', scale: 'linear' },
    series: [series('one gateway', ({ loaded }) => loaded.maxRssMb[0] ?? 0)],
  });
}

function whileStoring(bench: Bench, engine: Stage, pauseMs: number): Promise<void> {
  return withGateway(engine, async (gateway) => {
    const targets = pageTargets(gateway, await submit(gateway, ROWS), ROWS, PAGE_ROWS);
    const { pid } = gateway.program;
    await runLoad({ targets, clients: 10, warmUpSeconds: 0, seconds: SECONDS }, [pid]);
    bench.note(`storing ${LARGE_ROWS} rows while ${PAGING_CLIENTS} clients page`);
    await eventLoopDelayMs(gateway);
    const storing = { ended: false };
    const stored = submit(gateway, LARGE_ROWS).finally(() => {
      storing.ended = true;
    });
    const loads: Loaded[] = [];
    const paged = (async () => {
      do {
        const load = { targets, clients: PAGING_CLIENTS, pauseMs, warmUpSeconds: 0, seconds: 4 };
        loads.push(await runLoad(load, [pid]));
      } while (!storing.ended);
    })();
    await Promise.all([stored, paged]);
    const every = pauseMs > 0 ? `, each every ${pauseMs / 1000} s,` : '';
    const work = `${PAGING_CLIENTS} clients page${every} while 1 GB is stored`;
    const row = { better: 'less', unit: 'ms' } as const;
    const delayMs = await eventLoopDelayMs(gateway);
    bench.add({
      ...row,
      work: `${work}: event-loop delay p99`,
      ours: delayMs,
      goal: atMost(DELAY_GOAL_MS, 'ms'),
      ...(pauseMs === 0 && { ifMissed: SATURATED }),
    });
    const p99 = Math.max(...loads.map(({ p99Ms }) => p99Ms));
    bench.add({ ...row, work: `${work}: p99 of a page`, ours: p99, goal: NO_GOAL });
    const memory = Math.max(...loads.map(({ maxRssMb }) => maxRssMb[0] ?? 0));
    bench.add({ ...row, work: `${work}: memory`, unit: 'MB', ours: memory, goal: atMost(512, 'MB') });
  });
}

function unread(bench: Bench, engine: Stage): Promise<void> {
  return withGateway(engine, async (gateway) => {
    const requestId = await submit(gateway, ROWS);
    const large = pageTargets(gateway, requestId, ROWS, 10_000);
    const { bearerToken } = await gateway.tokenFor('other', [
      { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] },
    ]);
    const target = queryTarget(gateway.url, bearerToken, 10);
    const other = async (): Promise<void> => {
      const response = await fetch(target.url, { ...target, signal: AbortSignal.timeout(60_000) });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`another caller got ${response.status}`);
    };
    await other();
    const unreadPages = { connections: 10, pipelined: 17, seconds: SECONDS };
    bench.note('10 connections send 17 requests for pages of 1 MB each and read nothing');
    const { grownMb, slowestMs } = await leaveUnread(large, other, gateway.program.pid, unreadPages);
    const work = '10 connections × 17 pipelined pages of 1 MB, answers unread';
    const row = { better: 'less' } as const;
    bench.add({ ...row, work: `${work}: growth of memory`, unit: 'MB', ours: grownMb, goal: atMost(256, 'MB') });
    bench.add({
      ...row,
      work: `${work}: another caller, slowest`,
      unit: 'ms',
      ours: slowestMs,
      goal: atMost(1000, 'ms'),
    });
  });
}
