// What the loop of the health checks does when its state changes at an unusual time.
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NO_METRICS } from '../../../../src/health/metrics.ts';
import type { Gather } from '../../../../src/health/run/run.ts';
import { readOk, type ClusterSnapshot, type TableSnapshot } from '../../../../src/health/snapshot.ts';
import { createHealthLoop, type HealthLoop } from '../../../../src/operator/health/health-loop.ts';
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
  loop = createHealthLoop({
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

it('its end waits for a run that does not end at once', async () => {
  const held = Promise.withResolvers<ClusterSnapshot>();
  gather = () => held.promise;
  loop.start();
  await pass(5_100);
  expect(runs).toHaveLength(1);
  let stopped = false;
  const stopping = loop.stop().then(() => (stopped = true));
  await pass(1_000);
  expect(stopped).toBe(false);
  held.resolve(cluster());
  await stopping;
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

it('starts with the shortest delay after each success', async () => {
  loop.start();
  await pass(100);
  let times: number[] = [];
  const write = store.updateStatus.bind(store);
  vi.spyOn(store, 'updateStatus').mockImplementation(async (kind, object) => {
    times.push(Date.now());
    if (times.length <= 3) throw new Error('the store is away');
    return write(kind, object);
  });
  for (let run = 0; run < 2; run++) {
    times = [];
    await pass(21 * 60_000);
    const delays = times.slice(1, 4).map((time, index) => time - times[index]!);
    expect(delays).toHaveLength(3);
    // Half of each delay is random.
    for (const [index, limit] of [1_000, 2_000, 4_000].entries()) {
      expect(delays[index]).toBeGreaterThanOrEqual(limit / 2);
      expect(delays[index]).toBeLessThanOrEqual(limit);
    }
  }
});

it('gives the repetition of a critical check as much time as a run', async () => {
  gather = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    return cluster([table('t_OFFLINE', { config: { timeColumn: undefined } })]);
  };
  loop.start();
  await pass(10_100);
  expect(runs).toHaveLength(1);
  await pass(29_000);
  expect(runs).toHaveLength(2);
  await pass(4_000);
  expect(runs[1]!.aborted).toBe(false);
});

it('a mute that is deleted ends without an error', async () => {
  gather = async () =>
    cluster([table('t_OFFLINE', { enabled: false, config: { replication: '1', timeColumn: undefined } })]);
  loop.start();
  await pass(5_100);
  const until = new Date(Date.now() + 60_000).toISOString();
  await update({ mutes: [{ id: 'm', check: 'REPLICATION_CHECK', entity: 't_*', reason: 'planned', until }] });
  await pass(100);
  expect(report().status?.mutes).toHaveLength(1);
  await update({});
  await pass(100);
  expect(report().status?.mutes ?? []).toEqual([]);
  expect(lines.filter(({ level }) => level !== pino.levels.values['info'])).toEqual([]);
});
