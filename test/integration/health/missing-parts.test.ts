import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { HealthStates } from '../../support/health-states.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import { until } from '../../support/until.ts';

// Parts of tables that are lost on a real cluster, or do not move on, and their repair.

const INGESTION = 'INGESTION_STOPPED_CHECK';
const AGE = 'CONSUMING_SEGMENT_AGE_CHECK';
const SIZE = 'ZOOKEEPER_NODE_SIZE_CHECK';

let pinot: Pinot;
let engine: Engine;
let states: HealthStates;
let kafka: string;
let cluster: string;

beforeAll(async () => {
  pinot = await startPinot({ brokers: 1, servers: 2 });
  engine = createEngine({ controllerUrls: [pinot.controllerUrl], brokerRefreshMs: 500 });
  states = new HealthStates(pinot, engine);
  kafka = await pinot.startKafka();
  cluster = String((await states.api('GET', '/cluster/info'))['clusterName']);
});

afterAll(async () => {
  await engine?.close();
  await pinot?.stop();
});

const produce = (topic: string, count: number): Promise<void> =>
  pinot.produce(
    topic,
    Array.from({ length: count }, (_, i) => [`k${i}`, JSON.stringify({ pk: `k${i}`, ts: 1_760_000_000 + i })] as const),
  );

/** A realtime table with rows in each of its partitions. */
async function streamTable(name: string, partitions: number): Promise<void> {
  await pinot.createTopic(name, partitions);
  await states.streamTable(name, kafka);
  await produce(name, 40);
  await pinot.awaitRows(name, 40);
}

const node = (path: string): string => `path=${encodeURIComponent(`/${cluster}/${path}`)}`;

describe('a realtime table', () => {
  it('that an administrator pauses is not stopped', async () => {
    await streamTable('paused', 2);
    try {
      await states.passes(INGESTION);
      await states.api('POST', '/tables/paused/pauseConsumption');
      // Its segments are committed, and it gets no new ones.
      await until('the end of consumption', async () => {
        const { consumingSegments } = await states.api('GET', '/tables/paused/pauseStatus');
        return (consumingSegments as string[]).length === 0;
      });
      const { message } = await states.passes(INGESTION);
      expect(message).toBe('every partition of the realtime tables is consumed, except of paused tables');
      await states.api('POST', '/tables/paused/resumeConsumption');
      await produce('paused', 5);
      await pinot.awaitRows('paused', 45);
      await states.passes(INGESTION);
    } finally {
      await pinot.deleteTable('paused');
    }
  });

  it('of which one partition has lost all segments', async () => {
    await streamTable('holed', 3);
    try {
      await states.passes(INGESTION);
      const lost = Object.keys(await states.placement('holed')).filter((name) => name.startsWith('holed__1__'));
      expect(lost).toHaveLength(1);
      await states.api('DELETE', `/segments/holed_REALTIME/${lost[0]}`);
      const { findings } = await states.fails(INGESTION, 'holed_REALTIME');
      expect(findings.map(({ message }) => message)).toEqual([
        '1 partition has no segment at all, although the stream has or had partitions with higher numbers (`1`)',
      ]);
    } finally {
      await pinot.deleteTable('holed');
    }
    await states.passes(INGESTION);
  });

  it('whose consuming segments outlive its flush time', async () => {
    await streamTable('old', 1);
    const flushAfter = (time: string) =>
      states.changeTable('old', 'REALTIME', ({ tableIndexConfig }) => {
        const streams = tableIndexConfig?.['streamConfigs'] as Record<string, string>;
        streams['realtime.segment.flush.threshold.time'] = time;
      });
    try {
      const atOnce = { minRowsMinutes: 0 };
      expect((await states.passes(AGE, atOnce)).message).not.toContain('not applicable');
      // The segment keeps the time that it was created with.
      await flushAfter('1s');
      const { findings } = await states.fails(AGE, 'old_REALTIME', atOnce);
      expect(findings[0]?.message).toMatch(
        /^1 consuming segment has rows and is not committed \(`old__0__0__\w+`\): .* has 40 rows;/u,
      );
      // The rows have not been seen for an hour.
      await states.passes(AGE);
      await flushAfter('1d');
      await states.passes(AGE, atOnce);
    } finally {
      await pinot.deleteTable('old');
    }
  });
});

describe('an offline table', () => {
  it('of which the deep store has lost a file', async () => {
    await states.smallTable('stored');
    try {
      await pinot.uploadRows('stored', [JSON.stringify({ id: 'a', ts: 1_760_000_000 })]);
      await pinot.awaitRows('stored', 1);
      const { message } = await states.passes('DEEP_STORE_CHECK');
      expect(message).toBe('the controller has the files of the segments that were tried');
      const [segment = ''] = Object.keys(await states.placement('stored'));
      const file = pinot.segmentFile('stored', segment);
      await rename(file, `${file}.away`);
      // It leaves no trace in ZooKeeper, so that periodic runs see it later.
      states.readAgain();
      const { findings } = await states.fails('DEEP_STORE_CHECK', 'stored_OFFLINE');
      expect(findings[0]?.message).toContain(`does not have the file of 1 segment of 1 tried (\`${segment}\`)`);
      await rename(`${file}.away`, file);
      await states.passes('DEEP_STORE_CHECK');
    } finally {
      await pinot.deleteTable('stored');
    }
  });

  it('of which the ideal state is lost', async () => {
    await states.smallTable('ideal');
    await pinot.uploadRows('ideal', [JSON.stringify({ id: 'a', ts: 1_760_000_000 })]);
    await pinot.awaitRows('ideal', 1);
    await states.passes('TABLE_CONSISTENCY_CHECK');
    const path = node('IDEALSTATES/ideal_OFFLINE');
    const content = await states.api('GET', `/zk/get?${path}`);
    await states.api('DELETE', `/zk/delete?${path}`);
    const { findings } = await states.fails('TABLE_CONSISTENCY_CHECK', 'ideal_OFFLINE');
    expect(findings[0]?.message).toContain('but no ideal state');
    // It blinds no check: the others judge the rest, and name what they leave out.
    const { status, message } = await states.outcomeOf('SEGMENT_COUNT_CHECK');
    expect([status, message]).toEqual(['PASS', expect.stringContaining('not judged: `ideal_OFFLINE`')]);
    await states.api('PUT', `/zk/put?${path}`, content);
    await states.passes('TABLE_CONSISTENCY_CHECK');
    await pinot.deleteTable('ideal');
  });

  it('whose ideal state has more bytes than a lowered limit', async () => {
    await states.smallTable('wide');
    try {
      await pinot.uploadRows('wide', [JSON.stringify({ id: 'a', ts: 1_760_000_000 })]);
      await pinot.awaitRows('wide', 1);
      await states.passes(SIZE);
      const { findings } = await states.fails(SIZE, 'wide_OFFLINE', { maxBufferKiB: 0.1 });
      expect(findings.find(({ entity }) => entity === 'wide_OFFLINE')).toMatchObject({
        severity: 'critical',
        message: expect.stringMatching(/^its (?:ideal state|external view) takes [0-9.]+ KiB in ZooKeeper/u),
      });
    } finally {
      await pinot.deleteTable('wide');
    }
  });
});
