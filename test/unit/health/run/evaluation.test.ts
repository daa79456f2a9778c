import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOGUE, findCheck } from '../../../../src/health/catalogue.ts';
import type { Need } from '../../../../src/health/check.ts';
import { evaluateCheck } from '../../../../src/health/run/evaluation.ts';
import { explain } from '../../../../src/health/report/explain.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runChecks, type Gather, type RunProgress, type RunResult } from '../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../src/health/settings.ts';
import { readOk, type ClusterSnapshot, type TableSnapshot } from '../../../../src/health/snapshot.ts';
import { snapshot, table } from '../../../builders/snapshot.ts';
import { readRecording, ReplayEngine } from '../../../support/replay-engine.ts';
import { checkCases, loadCases, NOW } from '../checks/check-cases.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';

await loadCases();

/** The location of each part in the snapshot. */
const CLUSTER_PARTS: Partial<Record<Need, keyof ClusterSnapshot>> = {
  tables: 'tables',
  instances: 'instances',
  instanceHealth: 'instanceHealth',
  disks: 'disks',
  minionTasks: 'minionTasks',
  schemas: 'schemas',
  instancePartitions: 'instancePartitions',
  brokerResource: 'brokerResource',
  leaders: 'leaders',
  nodeSizes: 'nodeSizes',
  queries: 'queries',
  clusterConfig: 'clusterConfig',
  policies: 'policies',
};
const TABLE_PARTS: Partial<Record<Need, keyof TableSnapshot>> = {
  enabled: 'enabled',
  assignment: 'assignment',
  externalView: 'difference',
  segmentMetadata: 'segments',
  size: 'size',
  reload: 'reload',
  primaryKeys: 'primaryKeys',
  consumingRows: 'consumingRows',
  files: 'files',
  consumption: 'consumption',
  rebalance: 'rebalance',
};

/** The value without the parts of these needs: reading one of them throws. */
function without<T extends object>(value: T, parts: Partial<Record<Need, keyof T>>, needs: ReadonlySet<Need>): T {
  const copy = { ...value };
  for (const [need, part] of Object.entries(parts) as [Need, keyof T][]) {
    if (needs.has(need)) continue;
    Object.defineProperty(copy, part, {
      get: () => {
        throw new Error(`the check looks at \`${need}\` and does not name it among its needs`);
      },
    });
  }
  return copy;
}

function onlyNeeded(whole: ClusterSnapshot, needs: readonly Need[]): ClusterSnapshot {
  const named = new Set(needs);
  const tables = whole.tables.ok
    ? readOk(whole.tables.value.map((one) => without(one, TABLE_PARTS, named)))
    : whole.tables;
  return without({ ...whole, tables }, CLUSTER_PARTS, named);
}

describe('the needs of a check', () => {
  it.each(CATALOGUE)('$name reads nothing else', (check) => {
    for (const { snapshot: whole, thresholds } of checkCases.get(check.name) ?? []) {
      const expected = evaluateCheck(check, whole, { overrides: thresholds, now: NOW });
      expect(evaluateCheck(check, onlyNeeded(whole, check.needs), { overrides: thresholds, now: NOW })).toEqual(
        expected,
      );
    }
  });
});

/** A run on an engine: its result, its final snapshot, and all progress reports. */
async function runOn(engine: ReplayEngine, concurrency = 12) {
  const real = createGather({ engine, clock: systemClock, settleMs: 1, attempts: 1, concurrency });
  let whole = snapshot();
  const gather: Gather = async (request) => (whole = await real(request));
  const told: RunProgress[] = [];
  const run = await runChecks({
    gather,
    settings: resolveSettings({}),
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    clock: systemClock,
    onProgress: (progress) => void told.push(progress),
  });
  return { run, whole, told };
}

const inTheEnd = (whole: ClusterSnapshot) => {
  const results = CATALOGUE.map((check) => {
    return { name: check.name, durationMs: 0, outcome: evaluateCheck(check, whole, { now: NOW }) };
  });
  return explain(whole, results, NOW).results.map(({ outcome }) => outcome);
};
const outcomes = (run: RunResult) => run.results.map(({ outcome }) => outcome);

/** Faults of a cluster, and of reading it. */
const FAULTS: readonly ((engine: ReplayEngine) => unknown)[] = [
  (engine) => engine.record('1.5.1', 'scen/down2_ev'),
  (engine) => engine.record('1.5.1', 'scen/needReload_true_v'),
  (engine) => engine.record('1.5.1', 'scen/down2_needReload'),
  (engine) => engine.record('1.5.1', 'scen/zk_ip'),
  (engine) => engine.json('/tables/orders_OFFLINE/state?type=OFFLINE', { state: 'disabled' }),
  (engine) => engine.json('/tables/orders_OFFLINE/externalview', { OFFLINE: null, REALTIME: null }),
  (engine) => engine.json('/tables/ev_REALTIME/idealstate', { error: 'no' }, 500),
  (engine) => engine.json('/segments/up_REALTIME/zkmetadata', { error: 'no' }, 500),
  (engine) => engine.json('/zk/getChildren?path=/hc/PROPERTYSTORE/SCHEMAS', { error: 'no' }, 500),
  (engine) => engine.json('/zk/getChildren?path=/hc/PROPERTYSTORE/CONFIGS/TABLE', { error: 'no' }, 500),
  (engine) => engine.json('/zk/getChildren?path=/hc/CONFIGS/PARTICIPANT', { error: 'no' }, 500),
  (engine) => engine.json('/cluster/configs', { 'controller.replication.threshold': '1' }),
  (engine) => engine.json('/leader/tables', { error: 'no' }, 500),
  (engine) => engine.stop('127.0.0.1:18302'),
  (engine) =>
    engine.on(
      'POST',
      'broker',
      '/query/sql {"sql":"SELECT $docId FROM orders LIMIT 1"}',
      readRecording('1.5.1', 'scen/down1_q'),
    ),
  (engine) => engine.tables(['dd_REALTIME', 'orders_OFFLINE']),
];

describe('a run that evaluates its checks one by one', () => {
  it('gives the same results as evaluating all checks at the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray([...FAULTS]), fc.integer({ min: 1, max: 12 }), async (faults, concurrency) => {
        const engine = new ReplayEngine('1.5.1');
        for (const fault of faults) fault(engine);
        const { run, whole, told } = await runOn(engine, concurrency);
        expect(outcomes(run)).toEqual(inTheEnd(whole));
        const names = told.at(-1)?.checks.map(({ name }) => name) ?? [];
        expect(new Set(names).size).toBe(names.length);
      }),
      { numRuns: 60 },
    );
  });

  it('reports each check once, with its final status', async () => {
    const { run, told } = await runOn(new ReplayEngine('1.5.1'));
    const last = told.at(-1);
    expect(last).toMatchObject({ done: last?.total, checksTotal: CATALOGUE.length });
    const report = run.results.map(({ name, outcome }) => ({ name, status: outcome.status }));
    expect(last?.checks.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      report.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
  });

  it('evaluates cheap checks before the tables are read, and others while servers are queried', async () => {
    const engine = new ReplayEngine('1.5.1');
    const { told } = await runOn(engine, 1);
    const share = (name: string): number => {
      const found = told.find(({ checks }) => checks.some((check) => check.name === name));
      return (found?.done ?? 0) / (told.at(-1)?.total ?? 1);
    };
    for (const name of ['REPLICATION_CHECK', 'INSTANCE_POOLS_CHECK', 'TIME_COLUMN_GRANULARITY_CHECK'])
      expect(share(name)).toBeLessThan(0.1);
    const documents = share('SEGMENT_COUNT_CHECK');
    expect(documents).toBeLessThan(0.4);
    const shares = [
      'QUERY_HEALTH_CHECK',
      'HIGH_NUMBER_OF_DOCUMENTS_CHECK',
      'HIGH_UPSERT_PRIMARY_KEYS_CHECK',
      'TABLE_SEGMENTS_RELOAD_CHECK',
      'TABLE_SEGMENT_ASSIGNMENT_CHECK',
    ].map(share);
    for (const later of shares) expect(later).toBeGreaterThan(documents);
    expect(new Set(shares).size).toBe(shares.length);
  });

  it('never evaluates a check on a part that is not complete', async () => {
    const early = snapshot([table('t_OFFLINE', { config: { replication: '1' } })]);
    const gather: Gather = async (request) => {
      request.onComplete?.(early, new Set(['tables']));
      request.onComplete?.(early, new Set(['tables', 'clusterConfig']));
      return early;
    };
    const told: RunProgress[] = [];
    const settings = resolveSettings({});
    const checks = ['REPLICATION_CHECK', 'SEGMENT_RETENTION_CHECK'].flatMap((name) => findCheck(name) ?? []);
    await runChecks({
      gather,
      settings: { ...settings, checks },
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      clock: systemClock,
      onProgress: (progress) => void told.push(progress),
    });
    expect(told.map((progress) => progress.checks)).toEqual([
      [{ name: 'SEGMENT_RETENTION_CHECK', status: 'PASS' }],
      [
        { name: 'SEGMENT_RETENTION_CHECK', status: 'PASS' },
        { name: 'REPLICATION_CHECK', status: 'FAIL' },
      ],
    ]);
  });

  it('evaluates again without a table that was deleted during the run', async () => {
    const engine = new ReplayEngine('1.5.1').tables(['orders_OFFLINE']);
    const { run } = await runOn(engine);
    const { outcome } = run.results.find(({ name }) => name === 'REPLICATION_CHECK') ?? {};
    expect(outcome?.findings.map(({ entity }) => entity)).toEqual(['orders_OFFLINE']);
  });
});
