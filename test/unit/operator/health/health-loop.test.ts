import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import type { StatusChange } from '../../../../src/health/report/history.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runningId } from '../../../../src/health/report/report.ts';
import type { Gather, GatherRequest } from '../../../../src/health/run/run.ts';
import { NO_METRICS } from '../../../../src/health/metrics.ts';
import { HealthLoop, RunTurns, type HealthLoopOptions } from '../../../../src/operator/health/health-loop.ts';
import type { ReportedClusters } from '../../../../src/operator/health/health-reports.ts';
import {
  MAX_REPORTS,
  REPORT_NAME,
  type ClusterHealthReportSpec,
} from '../../../../src/resources/cluster-health-report.ts';
import type { Mute } from '../../../../src/resources/health-mute.ts';
import { ANNOTATIONS } from '../../../../src/resources/meta.ts';
import { readFailed, readOk, type ClusterSnapshot, type TableSnapshot } from '../../../../src/health/snapshot.ts';
import { clusterHealthReport, withMeta } from '../../../builders/resources.ts';
import { server, snapshot, table } from '../../../builders/snapshot.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { ReplayEngine } from '../../../support/replay-engine.ts';
import { SlowCluster } from '../../../support/slow-cluster.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { MemoryStore } from '../../access/memory-store.ts';
import { loggedLines } from '../fakes.ts';
import { systemClock } from '../../../../src/platform/clock.ts';

const SERVER = server('Server_10.0.0.1_8098', { pools: { DefaultTenant_OFFLINE: '0' } });
const HEALTHY = { healthy: true, unreachable: false, detail: 'OK', url: 'http://10.0.0.1:8097/health' };

/** A cluster in which every check passes, except for faults of the tables. */
const cluster = (tables: readonly TableSnapshot[] = []): ClusterSnapshot =>
  snapshot(tables, { instances: readOk([SERVER]), instanceHealth: new Map([[SERVER.id, HEALTHY]]) });

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let store: MemoryStore;
let runs: GatherRequest[];
let ends: string[];
let changes: StatusChange[];
let loop: HealthLoop | undefined;
let leads: boolean;
/** Reads for the next runs; replaced by tests that delay a run. */
let gather: Gather;
let release: () => void;

beforeEach(() => {
  vi.useFakeTimers({
    now: new Date('2026-11-21T10:00:00Z'),
    toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'],
  });
  store = new MemoryStore();
  runs = [];
  ends = [];
  changes = [];
  leads = true;
  gather = async () => cluster();
  release = () => undefined;
});

afterEach(async () => {
  // Of a test that failed before: the loop waits for its run.
  release();
  await loop?.stop();
  vi.useRealTimers();
});

function start(more: Partial<HealthLoopOptions> = {}): void {
  loop = new HealthLoop({
    store,
    engine: new ReplayEngine('1.5.1'),
    clock: systemClock,
    log: pino({ level: 'silent' }),
    metrics: { ...NO_METRICS, run: (end, name) => void ends.push(name === REPORT_NAME ? end : `${name} ${end}`) },
    isLeader: () => leads,
    onStatusChange: (_, change) => void changes.push(change),
    gather: (request) => {
      runs.push(request);
      return gather(request);
    },
    ...more,
  });
  loop.start();
}

/** A snapshot that runs wait for, until the test gives it or has ended. */
function heldSnapshot(): PromiseWithResolvers<ClusterSnapshot> {
  const held = Promise.withResolvers<ClusterSnapshot>();
  release = () => held.resolve(cluster());
  return held;
}

const report = () => store.get('ClusterHealthReport', REPORT_NAME);
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const settle = () => pass(1);

async function setSpec(spec: ClusterHealthReportSpec): Promise<void> {
  const current = report();
  if (current === undefined) throw new Error('there is no report');
  await store.update('ClusterHealthReport', { ...current, spec });
}

async function annotate(value: string): Promise<void> {
  const current = report();
  if (current === undefined) throw new Error('there is no report');
  const metadata = {
    ...current.metadata,
    annotations: { ...current.metadata.annotations, [ANNOTATIONS.runAt]: value },
  };
  await store.update('ClusterHealthReport', { ...current, metadata });
}

describe('the health task', () => {
  it('creates a missing report, and runs soon after the start', async () => {
    start();
    await settle();
    expect(report()).toMatchObject({ spec: {} });
    expect(runs).toHaveLength(0);
    await pass(5_000);
    expect(runs).toHaveLength(1);
    expect(report()?.status).toMatchObject({ pass: CATALOGUE.length, fail: 0 });
    expect(runningId(report()?.status)).toBeUndefined();
    expect(ends).toEqual(['success']);
  });

  it('logs an error when it cannot create the report, but not when another process has created it', async () => {
    const { log, lines } = loggedLines();
    const codes: StoreError['code'][] = ['unavailable', 'already-exists'];
    store.beforeWrite = (verb) => {
      const code = verb === 'create' ? codes.shift() : undefined;
      if (code !== undefined) throw new StoreError(code, 'not created');
    };
    start({ log });
    await pass(60_000);
    expect(codes).toEqual([]);
    const errors = lines.filter(({ level }) => level === pino.levels.values['error']);
    expect(errors).toMatchObject([{ msg: 'health task failed; retrying', err: { code: 'unavailable' } }]);
    expect(report()?.status?.checks).toHaveLength(CATALOGUE.length);
  });

  it('reads only what has changed in periodic runs, and everything in runs on demand', async () => {
    start();
    await pass(5_100);
    await annotate('now');
    await settle();
    await pass(20 * 60_000);
    expect(runs.map(({ fresh, fullReadMs }) => [fresh, fullReadMs])).toEqual([
      [false, 6 * 3_600_000],
      [true, 6 * 3_600_000],
      [false, 6 * 3_600_000],
    ]);
  });

  it('reports what it has read after the deadline of the report', async () => {
    gather = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(cluster()), { once: true });
      });
    start();
    await settle();
    await setSpec({ deadline: '2m' });
    await pass(5_100 + 119_000);
    expect(ends).toEqual([]);
    await pass(1_000);
    expect(ends).toEqual(['deadline']);
    expect(report()?.status?.checks).toHaveLength(CATALOGUE.length);
  });

  it('runs again after 30 s and 1, 2 and 5 minutes when it could not read the cluster, and then by its schedule', async () => {
    const engine = new ReplayEngine('1.5.1').on('GET', 'controller', '/cluster/info', { status: 503, body: '' });
    gather = createGather({ engine, clock: systemClock, attempts: 1 });
    start();
    await pass(5_100);
    expect(report()?.status?.checks?.filter(({ couldNotEvaluate }) => couldNotEvaluate)).toHaveLength(CATALOGUE.length);
    await pass(29_000);
    expect(runs).toHaveLength(1);
    await pass(1_500);
    expect(runs).toHaveLength(2);
    await pass(58_000);
    expect(runs).toHaveLength(2);
    await pass(2_500);
    expect(runs).toHaveLength(3);
    await pass(120_500);
    expect(runs).toHaveLength(4);
    await pass(298_000);
    expect(runs).toHaveLength(4);
    await pass(2_500);
    expect(runs).toHaveLength(5);
    await pass(19 * 60_000);
    expect(runs).toHaveLength(5);
    gather = async () => cluster();
    await pass(2 * 60_000);
    expect(runs).toHaveLength(6);
    await pass(10 * 60_000);
    expect(runs).toHaveLength(6);
  });

  it('runs by its schedule when single checks could not be evaluated, and not while suspended', async () => {
    gather = async () => cluster([table('t_OFFLINE', { assignment: readFailed('responded with 503') })]);
    start();
    await settle();
    await setSpec({ disabledChecks: ['BROKER_RESOURCE_CHECK'] });
    await pass(5_100);
    await pass(10 * 60_000);
    expect(runs).toHaveLength(1);
    gather = async () => snapshot([], { unreachable: 'responded with 503' });
    await setSpec({ suspend: true });
    await annotate('api-00000009');
    await pass(10 * 60_000);
    expect(runs).toHaveLength(2);
  });

  it.each([-DAY_MS, -HOUR_MS, HOUR_MS, DAY_MS])(
    'runs within its interval after a step of the clock by %d ms',
    async (step) => {
      start();
      await pass(60_000);
      expect(runs.length).toBe(1);
      vi.setSystemTime(Date.now() + step);
      // The first wake-up was scheduled before the step.
      await pass(2 * 20 * 60_000);
      expect(runs.length).toBeGreaterThanOrEqual(2);
      const before = runs.length;
      await pass(20 * 60_000);
      expect(runs.length).toBe(before + 1);
    },
  );

  it('follows its schedule after a start with a last run that is in the future', async () => {
    start();
    await pass(5_100);
    await setSpec({ schedule: '0 * * * *' });
    await loop?.stop();
    expect(runs).toHaveLength(1);
    // 10:00 on the day before.
    vi.setSystemTime(new Date('2026-11-20T10:00:00Z'));
    start();
    await pass(2 * HOUR_MS + 60_000);
    expect(runs).toHaveLength(3);
  });

  it('follows a changed interval', async () => {
    start();
    await pass(5_100);
    await setSpec({ interval: '1m' });
    await pass(180_100);
    expect(runs).toHaveLength(4);
  });

  it('follows a cron expression', async () => {
    start();
    await pass(5_100);
    await setSpec({ schedule: '*/5 * * * *' });
    await pass(15 * 60_000);
    expect(runs).toHaveLength(4);
    expect(report()?.status?.lastRunTime).toMatch(/^2026-11-21T10:15:00/u);
  });

  it('continues with an invalid schedule at the default interval', async () => {
    start();
    await settle();
    await setSpec({ schedule: 'every now and then yes' });
    await pass(5_100);
    await pass(20 * 60_000);
    expect(runs).toHaveLength(2);
  });

  it('runs after a start at the times of a schedule only if one was missed', async () => {
    start();
    await pass(5_100);
    await setSpec({ schedule: '0 12 * * *' });
    await loop?.stop();
    start();
    await pass(60 * 60_000);
    expect(runs).toHaveLength(1);
    await loop?.stop();
    await pass(2 * 60 * 60_000);
    start();
    await pass(5_100);
    expect(runs).toHaveLength(2);
    await pass(23 * 60 * 60_000);
    expect(report()?.status?.lastRunTime).toMatch(/^2026-11-22T12:00:00/u);
  });

  it('does not run while suspended, except on demand', async () => {
    start();
    await settle();
    await setSpec({ suspend: true });
    await pass(60 * 60_000);
    expect(runs).toHaveLength(0);
    await annotate('api-00000001');
    await pass(100);
    expect(runs).toHaveLength(1);
    expect(report()?.status?.observedRunAt).toBe('api-00000001');
    await setSpec({ suspend: false });
    await pass(20 * 60_000);
    expect(runs).toHaveLength(2);
  });

  it('runs once for each new value of the annotation', async () => {
    start();
    await pass(5_100);
    await annotate('now');
    await pass(100);
    await pass(1_000);
    expect(runs).toHaveLength(2);
    expect(report()?.status?.observedRunAt).toBe('now');
    await annotate('once more');
    await pass(100);
    expect(runs).toHaveLength(3);
  });

  it('never runs twice at once, and runs afterwards for a request that came during a run', async () => {
    const held = heldSnapshot();
    gather = () => held.promise;
    start();
    await pass(5_100);
    expect(runningId(report()?.status)).toMatch(/^run-[0-9a-f]{8}$/u);
    await annotate('api-0000000a');
    await pass(60 * 60_000);
    expect(runs).toHaveLength(1);
    gather = async () => cluster();
    held.resolve(cluster());
    await pass(100);
    expect(runs).toHaveLength(2);
    expect(report()?.status?.observedRunAt).toBe('api-0000000a');
  });

  it('shows the current run without a condition that deployments would wait for', async () => {
    const held = heldSnapshot();
    start();
    await pass(5_100);
    gather = () => held.promise;
    await annotate('api-0000000b');
    await pass(100);
    expect(runningId(report()?.status)).toBe('api-0000000b');
    expect(report()?.status).toMatchObject({ pass: CATALOGUE.length });
    expect(report()?.status?.conditions?.map(({ type }) => type)).toEqual(['Healthy']);
    held.resolve(cluster());
    await pass(100);
    expect(runningId(report()?.status)).toBeUndefined();
  });

  it('shows each check once it is evaluated, and the whole report at the end', async () => {
    const held = heldSnapshot();
    gather = (request) => {
      request.onProgress?.(7, 40);
      request.onComplete?.(cluster(), new Set(['instances']));
      return held.promise;
    };
    start();
    await pass(6_000);
    const decided = [
      'INSTANCE_POOLS_CHECK',
      'COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK',
      'INSTANCE_AVAILABILITY_CHECK',
    ];
    expect(report()?.status?.running).toMatchObject({
      done: 7,
      total: 40,
      checks: decided.map((name) => ({ name, status: 'PASS' })),
      checksTotal: CATALOGUE.length,
    });
    expect(report()?.status?.checks).toBeUndefined();
    held.resolve(cluster());
    await pass(100);
    expect(report()?.status).toMatchObject({ pass: CATALOGUE.length });
    expect(report()?.status).not.toHaveProperty('running');
  });

  it('reports each check whose status changed', async () => {
    start();
    await pass(5_100);
    expect(changes).toEqual([]);
    gather = async () =>
      cluster([table('t_OFFLINE', { enabled: false, config: { replication: '1', timeColumn: undefined } })]);
    await annotate('1');
    await pass(100);
    expect(changes).toMatchObject([{ name: 'REPLICATION_CHECK', state: 'FAIL' }]);
    gather = async () => cluster();
    await annotate('2');
    await pass(100);
    expect(changes).toMatchObject([{ state: 'FAIL' }, { name: 'REPLICATION_CHECK', state: 'PASS' }]);
  });

  it('writes nothing after it lost leadership', async () => {
    const held = heldSnapshot();
    gather = () => held.promise;
    start();
    await pass(5_100);
    leads = false;
    held.resolve(cluster());
    await pass(100);
    expect(report()?.status?.lastRunTime).toBeUndefined();
  });

  it('ends without a report when it is stopped', async () => {
    gather = (request) =>
      new Promise((resolve) => request.signal.addEventListener('abort', () => resolve(cluster()), { once: true }));
    start();
    await pass(5_100);
    await loop?.stop();
    expect(report()?.status?.lastRunTime).toBeUndefined();
  });

  it('removes the current run of a process that has ended', async () => {
    start();
    await pass(5_100);
    await loop?.stop();
    const current = report();
    if (current?.status === undefined) throw new Error('there is no report');
    await store.updateStatus('ClusterHealthReport', {
      ...current,
      spec: { suspend: true },
      status: { ...current.status, running: { id: 'api-dead', checks: [], checksTotal: CATALOGUE.length } },
    });
    start();
    await pass(100);
    expect(runningId(report()?.status)).toBeUndefined();
    expect(report()?.status).toMatchObject({ pass: CATALOGUE.length });
  });

  it('retries failed writes with growing delays', async () => {
    store.beforeWrite = () => {
      throw new Error('the store is away');
    };
    start();
    await pass(30_000);
    expect(report()).toBeUndefined();
    store.beforeWrite = () => undefined;
    await pass(70_000);
    expect(report()?.status).toMatchObject({ pass: CATALOGUE.length });
  });

  it('runs soon, and not at the next interval, when the start or the report of a run could not be written', async () => {
    let refuses = true;
    start();
    await settle();
    const write = store.updateStatus.bind(store);
    vi.spyOn(store, 'updateStatus').mockImplementation(async (kind, object) => {
      if (refuses) throw new Error('the store is away');
      return write(kind, object);
    });
    await pass(5_100);
    expect(runs).toHaveLength(0);
    refuses = false;
    await pass(5_000);
    expect(ends).toEqual(['success']);

    gather = async () => {
      refuses = true;
      return cluster();
    };
    for (let s = 0; s < 20 * 60 && ends.length < 2; s++) await pass(1_000);
    expect(ends).toEqual(['success', 'error']);
    refuses = false;
    gather = async () => cluster();
    await pass(31_000);
    expect(ends).toEqual(['success', 'error', 'success']);
    expect(runningId(report()?.status)).toBeUndefined();
  });

  it('creates the report again after its deletion', async () => {
    start();
    await pass(5_100);
    await store.delete('ClusterHealthReport', REPORT_NAME);
    await pass(100);
    expect(report()).toBeDefined();
  });

  it('writes after a concurrent change and keeps that change', async () => {
    gather = async () => {
      await setSpec({ maxFindings: 3 });
      return cluster();
    };
    start();
    await pass(5_100);
    expect(report()).toMatchObject({ spec: { maxFindings: 3 }, status: { pass: CATALOGUE.length } });
  });
});

describe('a critical check that fails', () => {
  const NAME = 'BROKER_RESOURCE_CHECK';
  /** Without brokers for its table. */
  const broken = () => cluster([table('t_OFFLINE', { config: { timeColumn: undefined } })]);
  const check = () => report()?.status?.checks?.find(({ name }) => name === NAME);

  beforeEach(async () => {
    gather = async () => broken();
    start();
    await pass(5_100);
    expect(check()).toMatchObject({ status: 'FAIL', severity: 'critical' });
    expect(runs).toHaveLength(1);
  });

  it('is repeated alone after 10 s, and then each minute until it passes', async () => {
    const { lastRunTime } = report()!.status!;
    await pass(9_000);
    expect(runs).toHaveLength(1);
    await pass(2_000);
    expect(runs).toHaveLength(2);
    expect(runs[1]!.needs).toEqual(new Set(CATALOGUE.find(({ name }) => name === NAME)!.needs));
    await pass(58_000);
    expect(runs).toHaveLength(2);
    await pass(3_000);
    expect(runs).toHaveLength(3);
    expect(report()?.status).toMatchObject({ lastRunTime, checks: { length: CATALOGUE.length } });
    gather = async () => cluster();
    await pass(60_000);
    expect(runs).toHaveLength(4);
    expect(check()).toMatchObject({ status: 'PASS' });
    expect(changes.at(-1)).toMatchObject({ name: NAME, state: 'PASS' });
    expect(report()?.status?.lastRecheckTime).not.toBe(lastRunTime);
    await pass(10 * 60_000);
    expect(runs).toHaveLength(4);
    // All checks at their time.
    await pass(10 * 60_000);
    expect(runs).toHaveLength(5);
    expect(report()?.status).not.toHaveProperty('lastRecheckTime');
  });

  it('keeps its result when it cannot be repeated', async () => {
    gather = async () => snapshot([], { unreachable: 'responded with 503' });
    await pass(11_000);
    expect(runs).toHaveLength(2);
    expect(check()).toMatchObject({ status: 'FAIL', findingCount: 1 });
    expect(check()).not.toHaveProperty('couldNotEvaluate');
    gather = () => Promise.reject(new Error('no memory'));
    await pass(60_000);
    expect(runs).toHaveLength(3);
    await pass(60_000);
    expect(runs.length).toBeLessThanOrEqual(5);
  });

  it('is not repeated while it is muted, or while the report is suspended', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await setSpec({ mutes: [{ id: 'm', check: NAME, entity: '*', reason: 'planned', until }] });
    await pass(11_000);
    expect(runs).toHaveLength(2);
    await pass(5 * 60_000);
    expect(runs).toHaveLength(2);
  });

  it('is repeated at most a fifth of the time', async () => {
    gather = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return broken();
    };
    await pass(10 * 60_000);
    expect(runs.length).toBeLessThanOrEqual(4);
  });
});

describe('mutes', () => {
  const NAME = 'REPLICATION_CHECK';
  const mute = (seconds: number, more: Partial<Mute> = {}): Mute => ({
    id: 'm',
    check: NAME,
    entity: 't_*',
    reason: 'planned',
    until: new Date(Date.now() + seconds * 1000).toISOString(),
    ...more,
  });
  const unreplicated = () =>
    cluster([table('t_OFFLINE', { enabled: false, config: { replication: '1', timeColumn: undefined } })]);
  const check = () => report()?.status?.checks?.find(({ name }) => name === NAME);
  let expired: string[];

  beforeEach(async () => {
    expired = [];
    gather = async () => unreplicated();
    start({ onMuteExpired: (_, { id }, findings) => void expired.push(`${id} ${findings}`) });
    await pass(5_100);
    expect(check()).toMatchObject({ status: 'FAIL', findingCount: 1 });
  });

  it('apply at once, and end at their time with a notice, without a run', async () => {
    await setSpec({ mutes: [mute(60)] });
    await settle();
    expect(check()).toMatchObject({ status: 'FAIL', mutedCount: 1, findings: [{ mutedBy: 'm' }] });
    await pass(59_000);
    expect(check()).toMatchObject({ mutedCount: 1 });
    expect(expired).toEqual([]);
    await pass(2_000);
    expect(check()).not.toHaveProperty('mutedCount');
    expect(expired).toEqual(['m 1']);
    expect(runs).toHaveLength(1);
    await pass(60_000);
    expect(expired).toHaveLength(1);
  });

  it('end without a notice when they are deleted', async () => {
    await setSpec({ mutes: [mute(60)] });
    await settle();
    await setSpec({});
    await settle();
    expect(check()).not.toHaveProperty('mutedCount');
    expect(expired).toEqual([]);
  });

  it('apply to the next run, also while the report is suspended', async () => {
    await setSpec({ suspend: true, mutes: [mute(3_600)] });
    await settle();
    await annotate('now');
    await settle();
    expect(runs).toHaveLength(2);
    expect(check()).toMatchObject({ mutedCount: 1 });
    await pass(3_600_000);
    expect(check()).not.toHaveProperty('mutedCount');
    expect(expired).toEqual(['m 1']);
  });

  it('that expired while no operator led are reported by the next leader', async () => {
    await setSpec({ mutes: [mute(60)] });
    await settle();
    await loop?.stop();
    await pass(120_000);
    start({ onMuteExpired: (_, { id }, findings) => void expired.push(`next ${id} ${findings}`) });
    await settle();
    expect(expired).toEqual(['next m 1']);
  });
});

describe('the scheme of the health endpoints', () => {
  it.each([
    [{}, 'http'],
    [{ instanceScheme: 'https' }, 'https'],
  ] as const)('with the settings %j is %s', async (configured, scheme) => {
    const cluster = new SlowCluster(1, new FakeClock());
    loop = new HealthLoop({
      store,
      engine: cluster,
      clock: systemClock,
      log: pino({ level: 'silent' }),
      isLeader: () => true,
      configured: () => configured,
    });
    loop.start();
    await vi.waitFor(async () => {
      await pass(1_000);
      expect(report()?.status?.checks).toBeDefined();
    }, WAIT_LIMIT_MS);
    expect(cluster.requests).toContain(`GET ${scheme}://server-0:8097/health`);
    expect(cluster.requests).toContain(`GET ${scheme}://broker-0:8099/health`);
  });
});

describe('several reports', () => {
  const named = (name: string) => store.get('ClusterHealthReport', name);

  it('have their own schedules, checks and thresholds, and run one after another', async () => {
    let [active, most] = [0, 0];
    gather = async () => {
      most = Math.max(most, ++active);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      active--;
      return cluster([table('t_OFFLINE', { enabled: false, config: { replication: '1', timeColumn: undefined } })]);
    };
    store.seed(clusterHealthReport('strict', { interval: '5m' }));
    store.seed(
      clusterHealthReport('lenient', {
        schedule: '*/10 * * * *',
        thresholds: { REPLICATION_CHECK: { minReplication: 1 } },
        disabledChecks: ['SEGMENT_COUNT_CHECK'],
      }),
    );
    start();
    await pass(30_000);
    expect(runs).toHaveLength(3);
    expect(most).toBe(1);
    expect(named('strict')?.status).toMatchObject({ fail: 1, pass: CATALOGUE.length - 1 });
    expect(named('lenient')?.status).toMatchObject({ fail: 0, pass: CATALOGUE.length - 1 });
    expect(report()?.status).toMatchObject({ fail: 1 });
    await pass(19 * 60_000);
    // Three more of `strict`, and one of `lenient` at 10:10.
    expect(runs).toHaveLength(7);
    expect(ends.sort()).toEqual([
      'lenient success',
      'lenient success',
      'strict success',
      'strict success',
      'strict success',
      'strict success',
      'success',
    ]);
  });

  it('are not created again after their deletion, and a run of a deleted one is aborted', async () => {
    const aborted: string[] = [];
    start();
    await pass(5_100);
    gather = (request) =>
      new Promise((resolve) =>
        request.signal.addEventListener('abort', () => {
          aborted.push('run');
          resolve(cluster());
        }),
      );
    await store.create('ClusterHealthReport', clusterHealthReport('extra'));
    await pass(5_100);
    expect(runningId(named('extra')?.status)).toMatch(/^run-/u);
    await store.delete('ClusterHealthReport', 'extra');
    await pass(100);
    expect(aborted).toEqual(['run']);
    expect(named('extra')).toBeUndefined();
    gather = async () => cluster();
    await annotate('still works');
    await pass(100);
    expect(report()?.status?.observedRunAt).toBe('still works');
  });

  it('run for at most sixteen, and for a further one when another is deleted', async () => {
    for (let index = 0; index < MAX_REPORTS; index++) {
      const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString();
      store.seed(clusterHealthReport(`r${index}`, { suspend: false }, withMeta({ creationTimestamp })));
    }
    start();
    await pass(10_000);
    expect(runs).toHaveLength(MAX_REPORTS);
    expect(report()?.status?.pass).toBeDefined();
    expect(named(`r${MAX_REPORTS - 1}`)?.status).toBeUndefined();
    await store.delete('ClusterHealthReport', 'r0');
    await pass(10_000);
    expect(named(`r${MAX_REPORTS - 1}`)?.status?.pass).toBeDefined();
  });
});

describe('several clusters', () => {
  const clusters: ReportedClusters = [
    { name: 'pinot', report: 'cluster' },
    { name: 'sales', report: 'sales' },
  ];
  const specs = () =>
    Object.fromEntries(store.list('ClusterHealthReport').map(({ metadata, spec }) => [metadata.name, spec]));

  it('have reports of their own, and run one after another', async () => {
    let [active, most] = [0, 0];
    const read: string[] = [];
    const turns = new RunTurns();
    const loops = clusters.map((of) => {
      const gather: Gather = async () => {
        most = Math.max(most, ++active);
        read.push(of.name);
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        active--;
        return cluster();
      };
      start({ clusters, cluster: of, turns, gather });
      return loop;
    });
    try {
      await pass(30_000);
      expect(specs()).toEqual({ cluster: {}, sales: { cluster: 'sales' } });
      expect(read.toSorted()).toEqual(['pinot', 'sales']);
      expect(most).toBe(1);
      store.seed(clusterHealthReport('nightly', { cluster: 'sales' }));
      store.seed(clusterHealthReport('hourly'));
      store.seed(clusterHealthReport('removed', { cluster: 'removed' }));
      await pass(30_000);
      expect(read.toSorted()).toEqual(['pinot', 'pinot', 'sales', 'sales']);
      expect(store.get('ClusterHealthReport', 'removed')?.status).toBeUndefined();
    } finally {
      await Promise.all(loops.map(async (each) => each?.stop()));
    }
  });
});
