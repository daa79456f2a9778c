// What the loop of the health checks does when its state changes at an unusual time.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NO_METRICS } from '../../../../src/health/metrics.ts';
import type { Gather } from '../../../../src/health/run/run.ts';
import { readOk, type ClusterSnapshot, type TableSnapshot } from '../../../../src/health/snapshot.ts';
import { HealthLoop } from '../../../../src/operator/health/health-loop.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { REPORT_NAME } from '../../../../src/resources/cluster-health-report.ts';
import { clusterHealthReport } from '../../../builders/resources.ts';
import { snapshot, table } from '../../../builders/snapshot.ts';
import { ReplayEngine } from '../../../support/replay-engine.ts';
import { MemoryStore } from '../../access/memory-store.ts';
import { loggedLines } from '../fakes.ts';

const cluster = (tables: readonly TableSnapshot[] = []): ClusterSnapshot => snapshot(tables, { instances: readOk([]) });
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

let store: MemoryStore;
let loop: HealthLoop;
let leads: boolean;
let gather: Gather;
let runs: AbortSignal[];
let forgotten: string[];
let lines: Record<string, unknown>[];

beforeEach(() => {
  vi.useFakeTimers({
    now: new Date('2026-11-21T10:00:00Z'),
    toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'],
  });
  store = new MemoryStore();
  [leads, gather, runs, forgotten] = [true, async () => cluster(), [], []];
  const logged = loggedLines();
  ({ lines } = logged);
  loop = new HealthLoop({
    store,
    engine: new ReplayEngine('1.5.1'),
    clock: systemClock,
    log: logged.log,
    metrics: { ...NO_METRICS, forget: (name) => void forgotten.push(name) },
    isLeader: () => leads,
    gather: (request) => {
      runs.push(request.signal);
      return gather(request);
    },
  });
});

afterEach(async () => {
  const stopping = loop.stop();
  // The runs of these tests do not end before their time.
  await pass(60_000);
  await stopping;
  vi.useRealTimers();
});

const report = (name = REPORT_NAME) => store.get('ClusterHealthReport', name)!;
const update = async (spec: object, name = REPORT_NAME) =>
  store.update('ClusterHealthReport', { ...report(name), spec });

it('removes the counters of a deleted report, but not of `cluster`, which is created again', async () => {
  store.seed(clusterHealthReport('other'));
  loop.start();
  await pass(100);
  await update({ maxFindings: 3 }, 'other');
  await pass(100);
  expect(forgotten).toEqual([]);
  await store.delete('ClusterHealthReport', REPORT_NAME);
  await pass(100);
  expect(forgotten).toEqual([]);
  await store.delete('ClusterHealthReport', 'other');
  await pass(100);
  expect(forgotten).toEqual(['other']);
});

it('logs what a run has found', async () => {
  gather = async () =>
    cluster([table('t_OFFLINE', { enabled: false, config: { replication: '1', timeColumn: undefined } })]);
  loop.start();
  await pass(5_100);
  const { pass: passed } = report().status!;
  expect(lines.filter(({ msg }) => msg === 'health run completed')).toMatchObject([
    { report: 'cluster', result: 'success', pass: passed, fail: 1 },
  ]);
});

describe('a report that waits for the run of another one', () => {
  beforeEach(async () => {
    gather = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return cluster();
    };
    store.seed(clusterHealthReport('other'));
    loop.start();
    await pass(5_100);
    expect(runs).toHaveLength(1);
  });

  it('is run after it', async () => {
    await pass(2_000);
    expect(runs).toHaveLength(2);
  });

  it('is not run if it was suspended meanwhile', async () => {
    for (const name of [REPORT_NAME, 'other']) {
      if (report(name).status?.running === undefined) await update({ suspend: true }, name);
    }
    await pass(10_000);
    expect(runs).toHaveLength(1);
  });

  it('is not run if this process lost its leadership meanwhile', async () => {
    leads = false;
    await pass(10_000);
    expect(runs).toHaveLength(1);
  });
});
