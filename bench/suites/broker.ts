import { GatewayProcess } from '../../test/support/gateway-process.ts';
import { startPinot } from '../../test/support/pinot.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atLeastTimes, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { runLoad, type Loaded, type Target } from '../workloads/load.ts';
import { startSide, type Side } from '../workloads/proxy-sides.ts';

const CLIENTS = sized({ quick: [1, 8], normal: [1, 8, 64] });
const ROUNDS = sized({ quick: 1, normal: 3 });
const SECONDS = sized({ quick: 1, normal: 3 });
const WARM_UP_SECONDS = sized({ quick: 1, normal: 2 });
/** For the JIT compiler of Pinot: servers run for days. */
const COMPILE_SECONDS = sized({ quick: 1, normal: 30 });
/** For that of the gateway, with queries that the broker answers by itself: tens of thousands instead of a few thousand in this time. */
const CHEAPEST_SECONDS = sized({ quick: 1, normal: 45 });
const CHEAPEST_SQL = 'SELECT 1 FROM orders';
const BROKER = 'the broker, asked directly';
const BARE = 'node:http and undici before the broker, checks nothing';
/** The first costs the engine little, so that the gateway is a large part of it; the other is an aggregation over all rows. */
const QUERIES = {
  'a query for 10 rows': 'SELECT orderId, city, status FROM orders WHERE customerId = 5000 ORDER BY orderId LIMIT 10',
  'an aggregation over 1,000,000 rows':
    'SELECT status, COUNT(*), SUM(quantity) FROM orders GROUP BY status ORDER BY status LIMIT 10',
};

/** What the gateway adds to a query on a real Pinot, and what any program in its place adds: all sides in turn, with the same queries and clients. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  bench.note('starting a Pinot with 1,000,000 rows');
  const pinot = await startPinot({ tables: ['orders'] });
  let gateway: GatewayProcess | undefined;
  let bareProxy: Side | undefined;
  try {
    gateway = await GatewayProcess.start({ controllers: pinot.controllerUrl });
    const token = await gateway.tokenFor('reader', [
      { effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] },
    ]);
    const target = (url: string, sql: string, headers: Record<string, string>): Target => ({
      url: `${url}/query/sql`,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ sql }),
    });
    bareProxy = await startSide('bare', pinot.brokerUrl);
    const pids = [gateway.program.pid, pinot.pid];
    const credential = { authorization: `Bearer ${token.bearerToken}` };
    for (const [url, headers] of [
      [bareProxy.url, {}],
      [gateway.url, credential],
    ] as const) {
      bench.note(`warming up ${url === gateway.url ? 'the gateway' : 'the bare proxy'} for ${CHEAPEST_SECONDS} s`);
      await warmUp(target(url, CHEAPEST_SQL, headers), CHEAPEST_SECONDS);
    }
    for (const [work, sql] of Object.entries(QUERIES)) {
      const ours = target(gateway.url, sql, credential);
      const theirs = target(pinot.brokerUrl, sql, {});
      const bare = target(bareProxy.url, sql, {});
      const answers = [await rowsOf(ours), await rowsOf(theirs)] as const;
      bench.note(`warming up the broker for ${COMPILE_SECONDS} s`);
      await warmUp(theirs, COMPILE_SECONDS);
      for (const clients of CLIENTS) await compare(bench, { work, ours, theirs, bare, answers, clients, pids });
    }
  } finally {
    bareProxy?.stop();
    await gateway?.stop();
    await pinot.stop();
  }
}

/** With several clients: one would take minutes for as many queries. */
function warmUp(target: Target, seconds: number): Promise<Loaded> {
  return runLoad({ targets: [target], clients: 8, warmUpSeconds: 0, seconds }, []);
}

/** The rows of the answer; the rest of it has times and ids. */
async function rowsOf({ url, method, headers, body }: Target): Promise<unknown> {
  const response = await fetch(url, { method, headers, body, signal: AbortSignal.timeout(60_000) });
  const { resultTable, exceptions } = (await response.json()) as { resultTable?: unknown; exceptions?: unknown };
  if (resultTable === undefined) throw new Error(`${url}: ${response.status} ${JSON.stringify(exceptions)}`);
  return resultTable;
}

interface Sides {
  readonly work: string;
  readonly ours: Target;
  readonly theirs: Target;
  /** Through a program that passes on what it reads. */
  readonly bare: Target;
  readonly answers: readonly [unknown, unknown];
  readonly clients: number;
  readonly pids: readonly number[];
}

async function compare(
  bench: Bench,
  { work: query, ours, theirs, bare, answers, clients, pids }: Sides,
): Promise<void> {
  const runs: { ours: Loaded[]; theirs: Loaded[]; bare: Loaded[] } = { ours: [], theirs: [], bare: [] };
  for (let round = 0; round < ROUNDS; round++) {
    bench.note(`${clients} clients, round ${round + 1} of ${ROUNDS}`);
    for (const [side, target] of [
      ['theirs', theirs],
      ['bare', bare],
      ['ours', ours],
    ] as const) {
      const load = { targets: [target], clients, warmUpSeconds: round === 0 ? WARM_UP_SECONDS : 0.5, seconds: SECONDS };
      runs[side].push(await runLoad(load, pids));
    }
  }
  const work = `${query} on Pinot 0.11, ${clients} ${clients === 1 ? 'client' : 'clients'}`;
  for (const [peer, side, p50Goal, rateGoal] of [
    [BARE, 'bare', atMostTimes(1.1), atLeastTimes(0.9)],
    [BROKER, 'theirs', NO_GOAL, NO_GOAL],
  ] as const) {
    const figure = (of: (run: Loaded) => number) => ({
      ours: median(runs.ours.map(of)),
      theirs: median(runs[side].map(of)),
    });
    const row = { peer, answers } as const;
    const times = { ...row, unit: 'ms', better: 'less' } as const;
    bench.add({ ...times, ...figure((run) => run.p50Ms), work: `${work}: p50`, goal: p50Goal });
    bench.add({ ...times, ...figure((run) => run.p99Ms), work: `${work}: p99`, goal: NO_GOAL });
    bench.add({
      ...row,
      ...figure((run) => run.perSecond),
      work: `${work}: throughput`,
      unit: 'queries/s',
      better: 'more',
      goal: rateGoal,
    });
  }
  const cpu = (at: number) => (run: Loaded) => (run.cpuMs[at] ?? 0) / run.requests;
  bench.add({
    work: `${work}: CPU of the gateway`,
    unit: 'ms a query',
    better: 'less',
    ours: median(runs.ours.map(cpu(0))),
    peer: 'CPU of Pinot for it',
    theirs: median(runs.ours.map(cpu(1))),
    goal: NO_GOAL,
  });
}
