import { GatewayProcess } from '../../test/support/gateway-process.ts';
import { startPinot } from '../../test/support/pinot.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atMostTimes, type Goal, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { runLoad, type Target } from '../workloads/load.ts';
import { startSide } from '../workloads/proxy-sides.ts';

/** Of each query on each side, in turn. */
const QUERIES = sized({ quick: 5, normal: 80, full: 200 });
/** For the JIT compiler of Pinot. */
const WARM_UP = sized({ quick: 2, normal: 30 });
const ROUNDS = sized({ quick: 1, normal: 3, full: 5 });
const SECONDS = sized({ quick: 1, normal: 3 });
const COMPILE_SECONDS = sized({ quick: 1, normal: 8 });
const CLIENTS = 8;
/** Of other callers. */
const POLICIES = sized({ quick: 10, normal: 300 });
const LIMIT_MS = 60_000;

const FILTERS = ["status IN ('NEW', 'PAID')", 'quantity < 50'];
const BY_HAND = `(${FILTERS.join(') AND (')})`;
const GROUPS = 'GROUP BY city ORDER BY city LIMIT 20';
const AGGREGATES = 'city, COUNT(*), SUM(quantity), DISTINCTCOUNT(customerId)';

/** A query of `orders`, as the caller with a policy writes it, and with the filter of the policy. */
interface Work {
  readonly name: string;
  readonly sql: string;
  readonly byHand: string;
}

const WORKS: readonly Work[] = [
  {
    name: 'an aggregation over 1,000,000 rows',
    sql: `SELECT ${AGGREGATES} FROM orders ${GROUPS}`,
    byHand: `SELECT ${AGGREGATES} FROM orders WHERE ${BY_HAND} ${GROUPS}`,
  },
  {
    name: 'the same with a WHERE',
    sql: `SELECT ${AGGREGATES} FROM orders WHERE price > 100 OR customerId < 5000 ${GROUPS}`,
    byHand: `SELECT ${AGGREGATES} FROM orders WHERE ${BY_HAND} AND (price > 100 OR customerId < 5000) ${GROUPS}`,
  },
];

const allow = (table: string, conditions?: object) => ({
  effect: 'allow',
  actions: ['Query'],
  resources: [`srn2:table#${table}`],
  ...(conditions && { conditions }),
});

/** What conditions on rows cost: at the engine, and the gateway, also for callers without conditions. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  await bench.part('a filter of a policy on a real Pinot', () => engineCost(bench));
  await bench.part('queries of callers without conditions', () => gatewayCost(bench));
}

interface Answered {
  /** Of the broker, in whole milliseconds. */
  readonly engineMs: number;
  readonly wallMs: number;
  readonly table: unknown;
}

async function ask(url: string, sql: string, token: string | undefined): Promise<Answered> {
  const began = performance.now();
  const response = await fetch(`${url}/query/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ sql }),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const { resultTable, timeUsedMs, exceptions } = (await response.json()) as Record<string, unknown>;
  const wallMs = performance.now() - began;
  if (resultTable === undefined || typeof timeUsedMs !== 'number')
    throw new Error(`${sql}: ${response.status} ${JSON.stringify(exceptions)}`);
  return { engineMs: timeUsedMs, wallMs, table: resultTable };
}

/** The mean without the lowest and the highest tenth: the broker's times are whole milliseconds, whose median would be one, too. */
function middleMean(values: readonly number[]): number {
  const cut = Math.floor(values.length / 10);
  const middle = values.toSorted((a, b) => a - b).slice(cut, values.length - cut);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** One of the ways to the same rows. */
interface Side {
  readonly url: string;
  readonly sql: string;
  readonly token: string | undefined;
}

/** Asks the sides in turn; each follows each other one as often. */
async function inTurn(sides: readonly Side[]): Promise<readonly (readonly Answered[])[]> {
  const all: Answered[][] = sides.map(() => []);
  for (let index = -WARM_UP; index < QUERIES; index++)
    for (const turn of sides.keys()) {
      const at = (index + WARM_UP + turn * (index % 2 === 0 ? 1 : 2)) % sides.length;
      const { url, sql, token } = sides[at]!;
      const answered = await ask(url, sql, token);
      if (index >= 0) all[at]!.push(answered);
    }
  return all;
}

/** The filter of a policy against the same one by hand, by an administrator: through the gateway, and at the broker. */
async function engineCost(bench: Bench): Promise<void> {
  bench.note('starting a Pinot with 1,000,000 rows');
  const pinot = await startPinot({ tables: ['orders'] });
  let gateway: GatewayProcess | undefined;
  try {
    gateway = await GatewayProcess.start({ controllers: pinot.controllerUrl });
    const limited = await gateway.tokenFor('limited', [allow('orders', { rowFilters: FILTERS })]);
    const whole = await gateway.tokenFor('whole', [allow('orders')]);
    for (const { name, sql, byHand } of WORKS) {
      bench.note(name);
      const [ours = [], through = [], direct = []] = await inTurn([
        { url: gateway.url, sql, token: limited.bearerToken },
        { url: gateway.url, sql: byHand, token: whole.bearerToken },
        { url: pinot.brokerUrl, sql: byHand, token: undefined },
      ]);
      const work = `${name} on Pinot 0.11, rows limited by a policy`;
      compare(
        bench,
        { work, peer: 'the same filter by hand, through the gateway', goal: atMostTimes(1.05) },
        ours,
        through,
      );
      compare(bench, { work, peer: 'the same filter by hand, at the broker', goal: NO_GOAL }, ours, direct);
    }
  } finally {
    await gateway?.stop();
    await pinot.stop();
  }
}

/** @param compared with the goal of the time for the client: that at the engine is 1.05 times always */
function compare(
  bench: Bench,
  { work, peer, goal }: { readonly work: string; readonly peer: string; readonly goal: Goal },
  ours: readonly Answered[],
  theirs: readonly Answered[],
): void {
  const row = { better: 'less', unit: 'ms', peer, answers: [ours.at(-1)?.table, theirs.at(-1)?.table] } as const;
  const engine = (of: readonly Answered[]): number => middleMean(of.map(({ engineMs }) => engineMs));
  const client = (of: readonly Answered[]): number => median(of.map(({ wallMs }) => wallMs));
  bench.add({
    ...row,
    work: `${work}: time at the engine`,
    ours: engine(ours),
    theirs: engine(theirs),
    goal: atMostTimes(1.05),
  });
  bench.add({ ...row, work: `${work}: time for the client`, ours: client(ours), theirs: client(theirs), goal });
}

/** CPU of the gateway for queries of a whole table, with conditions in other policies and without; and of a limited one. The engine is a stand-in. */
async function gatewayCost(bench: Bench): Promise<void> {
  const engine = await startSide('engine');
  const gateways: GatewayProcess[] = [];
  try {
    const without = await GatewayProcess.start({ controllers: engine.url });
    gateways.push(without);
    const mixed = await GatewayProcess.start({ controllers: engine.url });
    gateways.push(mixed);
    for (const [gateway, conditions] of [
      [without, undefined],
      [mixed, { rowFilters: ['owner = ${subject.token}'], columns: { deny: ['secret'] } }],
    ] as const)
      for (let index = 0; index < POLICIES; index++) await otherPolicy(gateway, index, conditions);
    const sides = [
      [without, await without.tokenFor('whole', [allow('orders'), allow('customers')])],
      [mixed, await mixed.tokenFor('whole', [allow('orders'), allow('customers', { rowFilters: ['a = 1'] })])],
      [mixed, await mixed.tokenFor('limited', [allow('orders', { rowFilters: ['a = 1'] })])],
      [mixed, await mixed.tokenFor('plain', [allow('orders'), allow('customers')])],
    ] as const;
    const targets = sides.map(([gateway, { bearerToken }]): Target => ({
      url: `${gateway.url}/query/sql`,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bearerToken}` },
      // The stand-in responds with as many kilobytes as the limit.
      body: JSON.stringify({ sql: "SELECT a, sum(b) FROM orders WHERE c > 5 AND d = 'x' GROUP BY a LIMIT 10" }),
    }));
    const cost = await costs(
      bench,
      targets,
      sides.map(([gateway]) => gateway.program.pid),
    );
    const row = { unit: 'ms CPU a query', better: 'less', theirs: cost[0]! } as const;
    bench.add({
      ...row,
      work: 'a query, 10 KB, of a caller without conditions, beside policies of others that have some: CPU of the gateway',
      ours: cost[3]!,
      peer: 'a gateway whose policies have no conditions',
      goal: atMostTimes(1.05),
    });
    bench.add({
      ...row,
      work: 'a query of a whole table, 10 KB, of a caller whose policies limit another table: CPU of the gateway',
      ours: cost[1]!,
      peer: 'a gateway whose policies have no conditions',
      goal: atMostTimes(1.05),
    });
    bench.add({
      ...row,
      work: 'a query of a table limited by a policy, 10 KB: CPU of the gateway',
      ours: cost[2]!,
      peer: 'a query of the whole table',
      goal: NO_GOAL,
    });
  } finally {
    for (const gateway of gateways) await gateway.stop();
    engine.stop();
  }
}

/** A policy in a role that nobody has. */
async function otherPolicy(gateway: GatewayProcess, index: number, conditions: object | undefined): Promise<void> {
  const name = `other-${index}`;
  const statements = [allow(`table-${index}`, conditions)];
  for (const [path, body] of [
    ['/policies', { name, policyDocument: { version: 'v1', statements } }],
    ['/roles', { name, description: name }],
    [`/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` }],
  ] as const) {
    const { ok, status } = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
    if (!ok) throw new Error(`POST ${path}: ${status}`);
  }
}

/** Milliseconds of CPU for a request of each target, with the targets in turn. */
async function costs(bench: Bench, targets: readonly Target[], pids: readonly number[]): Promise<readonly number[]> {
  const found: number[][] = targets.map(() => []);
  const load = { clients: CLIENTS, warmUpSeconds: 0.5 };
  for (const target of targets) await runLoad({ ...load, targets: [target], seconds: COMPILE_SECONDS }, []);
  for (let round = 0; round < ROUNDS; round++) {
    bench.note(`queries of whole tables and limited ones, round ${round + 1} of ${ROUNDS}`);
    for (const [at, target] of targets.entries()) {
      const { cpuMs, requests } = await runLoad({ ...load, targets: [target], seconds: SECONDS }, [pids[at]!]);
      found[at]!.push((cpuMs[0] ?? 0) / requests);
    }
  }
  return found.map(median);
}
