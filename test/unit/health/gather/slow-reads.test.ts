// @module-tag slow
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import type { Need } from '../../../../src/health/check.ts';
import type { CheckResult } from '../../../../src/health/run/evaluation.ts';
import { createGather } from '../../../../src/health/gather/gather.ts';
import { runChecks, type RunResult } from '../../../../src/health/run/run.ts';
import { resolveSettings } from '../../../../src/health/settings.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { SlowCluster, serverOf, tableName } from '../../../support/slow-cluster.ts';

const TABLES = 200;
const STEP_MS = 500;
const SOON_MS = 10_000;
const MAX_RUN_MS = 10 * 60_000;

/** A run on a fake clock, and the checks that it evaluated within 10 s. */
async function run(cluster: SlowCluster, clock: FakeClock) {
  let evaluated: readonly string[] = [];
  const results: RunResult[] = [];
  const running = runChecks({
    gather: createGather({ engine: cluster, clock }),
    settings: resolveSettings({}),
    signal: new AbortController().signal,
    clock,
    onProgress: ({ checks }) => {
      evaluated = checks.map(({ name }) => name);
    },
  }).then((result) => results.push(result));
  const advance = async (ms: number): Promise<void> => {
    for (const end = clock.monotonic() + ms; clock.monotonic() < end && results.length === 0;) {
      await allRequested(cluster);
      await clock.advance(STEP_MS);
    }
  };
  await advance(SOON_MS);
  const soon = new Set(evaluated);
  await advance(MAX_RUN_MS);
  if (results[0] === undefined) throw new Error('the run did not end within its deadline');
  await running;
  return { soon, result: results[0], durationMs: results[0].durationMs };
}

async function bodyOf(cluster: SlowCluster, path: string): Promise<unknown[]> {
  const { body } = await cluster.controller.request({ method: 'GET', path });
  return (await json(body)) as unknown[];
}

/** Waits until the run makes no more requests before the clock advances. */
async function allRequested({ requests }: SlowCluster): Promise<void> {
  for (let seen = -1; seen !== requests.length;) {
    seen = requests.length;
    await settle();
  }
}

interface Slow {
  readonly what: string;
  readonly matches: RegExp;
  /** The parts that cannot be complete within 10 s. */
  readonly late: readonly Need[];
}

/** All that is computed from an ideal state. */
const OF_IDEAL_STATE: readonly Need[] = [
  'assignment',
  'externalView',
  'segmentMetadata',
  'size',
  'files',
  'reload',
  'rebalance',
  'consumingRows',
  'consumption',
  'primaryKeys',
];
const SLOW: readonly Slow[] = [
  { what: 'the sizes', matches: /\/size\?/u, late: ['size'] },
  { what: 'the size of one table', matches: /\/t3_.*\/size\?/u, late: ['size'] },
  { what: 'all external views', matches: /\/externalview/u, late: ['externalView'] },
  { what: 'one external view', matches: /\/t3_.*\/externalview/u, late: ['externalView'] },
  { what: 'one ideal state', matches: /\/t4_.*\/idealstate/u, late: OF_IDEAL_STATE },
  { what: 'all ideal states', matches: /\/idealstate/u, late: OF_IDEAL_STATE },
  {
    what: 'the metadata of one table',
    matches: /\/t4_.*\/zkmetadata/u,
    late: ['segmentMetadata', 'size', 'files', 'consumingRows'],
  },
  { what: 'all metadata', matches: /\/zkmetadata/u, late: ['segmentMetadata', 'size', 'files', 'consumingRows'] },
  { what: 'the primary keys', matches: /_REALTIME\/metadata|tables\/t\d+_REALTIME\/metadata/u, late: ['primaryKeys'] },
  {
    what: 'the rows of consuming segments',
    matches: /\/consumingSegmentsInfo/u,
    late: ['consumingRows', 'consumption'],
  },
  { what: 'all queries', matches: /\/query\/sql/u, late: ['queries'] },
  { what: 'one query', matches: /\/query\/sql .*"t3\\"/u, late: ['queries'] },
  { what: 'all dry runs', matches: /\/rebalance\?/u, late: ['rebalance'] },
  { what: 'one dry run', matches: /\/t0\/rebalance\?/u, late: ['rebalance'] },
  { what: 'the reload status', matches: /\/needReload/u, late: ['reload'] },
  { what: 'the reload status of one table', matches: /\/t0_.*\/needReload/u, late: ['reload'] },
  { what: 'the cluster configuration', matches: /\/cluster\/configs/u, late: ['clusterConfig'] },
  { what: 'the schemas', matches: /SCHEMAS/u, late: ['schemas'] },
  { what: 'the instance partitions', matches: /INSTANCE_PARTITIONS/u, late: ['instancePartitions'] },
  { what: 'the lead controllers', matches: /\/leader\/tables/u, late: ['leaders'] },
  { what: 'the broker resource', matches: /brokerResource/u, late: ['brokerResource'] },
  { what: 'the sizes of nodes', matches: /\/lsl\?path=\/c\/(?:IDEALSTATES|EXTERNALVIEW)$/u, late: ['nodeSizes'] },
  { what: 'the queues of tasks', matches: /CONFIGS\/RESOURCE$/u, late: ['minionTasks'] },
  { what: 'the list of tables', matches: /controller\/tables$/u, late: ['sources'] },
  { what: 'the list of external views', matches: /\/ls\?path=\/c\/EXTERNALVIEW$/u, late: ['sources'] },
  { what: 'the list of ideal states', matches: /\/ls\?path=\/c\/IDEALSTATES$/u, late: ['sources'] },
  { what: 'the list of segment metadata', matches: /\/ls\?path=\/c\/PROPERTYSTORE\/SEGMENTS$/u, late: ['sources'] },
  {
    what: 'the list of table configurations',
    matches: /\/lsl\?path=.*TABLE$/u,
    // The age of a segment counts from when a table of this creation had it.
    late: ['sources', 'segmentMetadata', 'size', 'files', 'consumingRows', 'consumption'],
  },
  { what: 'the instances', matches: /PARTICIPANT/u, late: ['instances', 'instanceHealth', 'disks'] },
  {
    what: 'the health of one server',
    matches: /server-3:8097\/health/u,
    late: ['instanceHealth', 'disks', 'size', 'reload', 'primaryKeys', 'consumingRows', 'consumption'],
  },
];

const needing = (late: readonly Need[]) =>
  CATALOGUE.filter(({ needs }) => needs.some((need) => late.includes(need))).map(({ name }) => name);
const textsOf = ({ outcome }: CheckResult) => outcome.findings.map(({ message }) => message).join('\n');

describe('a slow read', () => {
  it.each(SLOW)('of $what delays only the checks that need it, and names the read without a response', async (slow) => {
    const clock = new FakeClock();
    const cluster = new SlowCluster(TABLES, clock);
    cluster.slow = [{ matches: slow.matches, delayMs: Number.POSITIVE_INFINITY }];
    const { soon, result, durationMs } = await run(cluster, clock);
    const late = needing(slow.late);
    expect(CATALOGUE.map(({ name }) => name).filter((name) => !soon.has(name) && !late.includes(name))).toEqual([]);
    expect(durationMs).toBeLessThan(3 * 60_000);
    const unread = result.results.filter(({ outcome }) => outcome.couldNotEvaluate).map(({ name }) => name);
    for (const name of unread) expect(late).toContain(name);
    const told = result.results.map(textsOf).join('\n');
    expect(told).toMatch(
      /`(?:GET|POST) [^`]+` got no response within \d+ s|did not respond \(`[^`]+` got no response within 4 s/u,
    );
  });

  it.each(SLOW.filter(({ what }) => !what.includes('one')))(
    'of $what that takes 6 s more delays only the checks that need it',
    async (slow) => {
      const clock = new FakeClock();
      const cluster = new SlowCluster(TABLES, clock);
      cluster.slow = [{ matches: slow.matches, delayMs: 6_000 }];
      const { soon } = await run(cluster, clock);
      const late = needing(slow.late);
      expect(CATALOGUE.map(({ name }) => name).filter((name) => !soon.has(name) && !late.includes(name))).toEqual([]);
    },
  );
});

describe('a healthy cluster', () => {
  it('passes every check but those of its design at once', async () => {
    const clock = new FakeClock();
    const { soon, result, durationMs } = await run(new SlowCluster(TABLES, clock), clock);
    expect(soon.size).toBe(CATALOGUE.length);
    expect(durationMs).toBeLessThan(1_000);
    expect(result.results.filter(({ outcome }) => outcome.couldNotEvaluate)).toEqual([]);
  });
});

describe('an empty list of table configurations', () => {
  it.each(['/zk/ls.*IDEALSTATES$', 'controller/tables$'])('counts as unread while %s is slow', async (others) => {
    const clock = new FakeClock();
    const cluster = new SlowCluster(TABLES, clock);
    cluster.answers.set('/zk/getChildren?path=/c/PROPERTYSTORE/CONFIGS/TABLE', { body: [] });
    cluster.slow = [{ matches: new RegExp(others, 'u'), delayMs: 8_000 }];
    const { result } = await run(cluster, clock);
    const outcome = result.results.find(({ name }) => name === 'SEGMENT_COUNT_CHECK')?.outcome;
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(outcome?.findings[0]?.message).toContain('the response has no table configuration, but');
  });
});

describe('a server that hangs', () => {
  it('gets no further calls', async () => {
    const clock = new FakeClock();
    const cluster = new SlowCluster(TABLES, clock);
    const server = serverOf(3, 0);
    cluster.slow = [{ matches: /server-3:8097\/health/u, delayMs: Number.POSITIVE_INFINITY }];
    const { result, durationMs } = await run(cluster, clock);
    // Of its own replicas only: the table's servers are server-3 to server-6.
    expect(cluster.requests.filter((request) => request.includes(`/${tableName(3)}/size`))).toEqual([]);
    expect(cluster.requests.filter((request) => request.includes(`/${tableName(5)}/size`))).toHaveLength(1);
    const size = result.results.find(({ name }) => name === 'SEGMENT_SIZE_CHECK');
    expect(size?.outcome.findings[0]?.message).toContain(`the server \`${server}\` hangs`);
    expect(durationMs).toBeLessThan(SOON_MS);
  });

  it('does not make servers count as hanging that were not called because of it', async () => {
    const clock = new FakeClock();
    const cluster = new SlowCluster(TABLES, clock);
    const lists = ['/zk/getChildren?path=/c/CONFIGS/PARTICIPANT', '/zk/ls?path=/c/LIVEINSTANCES'] as const;
    const [configs, live] = await Promise.all(lists.map(async (path) => bodyOf(cluster, path)));
    const hanging = Array.from({ length: 40 }, (_, index) => `Server_gone-${index}_8098`);
    const fields = (id: string) => ({ HELIX_HOST: id.split('_')[1], HELIX_PORT: '8098', adminPort: '8097' });
    const nodes = hanging.map((id) => ({ id, simpleFields: fields(id), mapFields: {}, listFields: {} }));
    cluster.answers.set(lists[0], { body: [...nodes, ...(configs ?? [])] });
    cluster.answers.set(lists[1], { body: [...hanging, ...(live ?? [])] });
    cluster.slow = [{ matches: /gone-\d+:8097\/health/u, delayMs: Number.POSITIVE_INFINITY }];
    const { result } = await run(cluster, clock);
    const { findings = [] } = result.results.find(({ name }) => name === 'INSTANCE_HEALTH_API_CHECK')?.outcome ?? {};
    const faults = findings.filter(({ couldNotRead }) => couldNotRead !== true);
    expect(faults).toHaveLength(32);
    for (const { entity, message } of faults) expect(message).toContain(`${entity.split('_')[1]}:8097/health`);
    expect(findings.filter(({ couldNotRead }) => couldNotRead === true)).toHaveLength(8 + 10);
  });

  it('does not count where no server can be reached from this process', async () => {
    const clock = new FakeClock();
    const cluster = new SlowCluster(TABLES, clock);
    cluster.slow = [{ matches: /server-\d+:8097\/health/u, delayMs: Number.POSITIVE_INFINITY }];
    const { result } = await run(cluster, clock);
    const unread = result.results.filter(({ outcome }) => outcome.couldNotEvaluate).map(({ name }) => name);
    // The only one that reads the servers itself, besides the one whose faults are the servers without a response.
    expect(unread).toEqual(['SERVER_DISK_USAGE_CHECK']);
    expect(result.results.find(({ name }) => name === 'INSTANCE_HEALTH_API_CHECK')?.outcome.findingCount).toBe(10);
  });
});
