import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGather } from '../../../../../src/health/gather/gather.ts';
import { KeptReadings } from '../../../../../src/health/gather/tables/kept-readings.ts';
import { needsOf, resolveSettings } from '../../../../../src/health/settings.ts';
import type { ClusterSnapshot } from '../../../../../src/health/snapshot.ts';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { ChangingCluster, type SimulatedTable } from '../../../../support/changing-cluster.ts';
import {
  addSegment,
  addTable,
  CHANGES,
  populate,
  removeTable,
  type Change,
} from '../../../../support/cluster-changes.ts';
import '../../../../support/property-seed.ts';

const HOUR_MS = 3_600_000;
const MB = 1024 * 1024;

interface Reading {
  readonly fresh?: boolean;
  readonly fullReadMs?: number;
  readonly smallSegmentBytes?: number;
  readonly signal?: AbortSignal;
}

/** Runs on one cluster that keep their readings, on a clock that the test can advance. */
class Runs {
  cluster = new ChangingCluster();
  readonly kept: KeptReadings;
  #aheadMs = 0;

  constructor(kept = new KeptReadings()) {
    this.kept = kept;
    populate(this.cluster);
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
  }

  /** A run that reads only what has changed. */
  async next(reading: Reading = {}): Promise<ClusterSnapshot> {
    this.cluster.requests.length = 0;
    return this.#gather(reading, this.kept);
  }

  /** A run that knows nothing of earlier ones. */
  async full(reading: Reading = {}): Promise<ClusterSnapshot> {
    return this.#gather(reading, undefined);
  }

  /** The requests of the last run about tables, except queries and what is read in each run. */
  get tableRequests(): string[] {
    const always = /consumingSegmentsInfo|\/metadata$/u;
    return this.cluster.requests.filter((request) => /\/(?:tables|segments)\//u.test(request) && !always.test(request));
  }

  async #gather(reading: Reading, kept: KeptReadings | undefined): Promise<ClusterSnapshot> {
    const clock = {
      ...systemClock,
      now: () => systemClock.now() + this.#aheadMs,
      monotonic: () => systemClock.monotonic() + this.#aheadMs,
    };
    const options = { engine: this.cluster, clock, settleMs: 1, attempts: 1, ...(kept === undefined ? {} : { kept }) };
    return createGather(options)({
      needs: needsOf(resolveSettings({}).checks),
      smallSegmentBytes: 5 * MB,
      smallSegmentFraction: 0.25,
      fullReadMs: 6 * HOUR_MS,
      signal: new AbortController().signal,
      ...reading,
    });
  }
}

/** A cluster whose tables are known from an earlier run. */
async function known(kept?: KeptReadings): Promise<Runs> {
  const runs = new Runs(kept);
  await runs.next();
  return runs;
}

const table = ({ cluster }: Runs, name: string) => cluster.tables.get(name) as SimulatedTable;

describe('a run that reads only what has changed', () => {
  it('reads the tables of an unchanged cluster from the earlier run', async () => {
    const runs = await known();
    const snapshot = await runs.next();
    // The segments of a REFRESH table are replaced without a trace.
    expect(runs.tableRequests.filter((request) => !request.includes('refreshed'))).toEqual([]);
    expect(snapshot).toEqual(await runs.full());
  });

  it.each(Object.entries(CHANGES))('sees that %s', { tags: 'slow' }, async (_what, change) => {
    for (let pick = 0; pick < 12; pick += 1) {
      const runs = await known();
      change(runs.cluster, pick);
      expect(await runs.next()).toEqual(await runs.full());
    }
  });

  it('equals a full run after any changes', { tags: 'slow' }, async () => {
    const changes = fc.array(fc.tuple(fc.constantFrom(...Object.keys(CHANGES)), fc.nat(100)), { maxLength: 4 });
    const rounds = fc.array(changes, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        const runs = await known();
        for (const round of all) {
          for (const [name, pick] of round) (CHANGES[name] as Change)(runs.cluster, pick);
          expect(await runs.next()).toEqual(await runs.full());
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['a reload after an index was configured', ['an index is configured', 'segments are reloaded']],
    ['segments that become old after a tier was configured', ['a tier is configured', 'segments become old']],
    ['replicas that fail and recover', ['a replica fails', 'replicas recover']],
    ['a server that stops and starts', ['a server stops', 'a server starts']],
    ['a table that is disabled and enabled', ['a table is disabled or enabled', 'a table is disabled or enabled']],
  ])('sees %s', async (_what, changes) => {
    const runs = await known();
    for (const change of changes) {
      (CHANGES[change] as Change)(runs.cluster, 0);
      expect(await runs.next()).toEqual(await runs.full());
    }
  });

  it('sees the sizes after a reload, also if it still had temporary files when it seemed complete', async () => {
    const runs = await known();
    const off0 = table(runs, 'off0_OFFLINE');
    (CHANGES['an index is configured'] as Change)(runs.cluster, [...runs.cluster.tables.keys()].indexOf(off0.name));
    off0.needsReload = true;
    await runs.next();
    Object.assign(off0, { needsReload: false, growth: 2 });
    await runs.next();
    off0.growth = 1.5;
    expect(await runs.next()).toEqual(await runs.full());
    await runs.next();
    expect(runs.tableRequests.filter((request) => request.includes('off0'))).toEqual([]);
  });

  it('sees a table that was created again with as many writes as before', async () => {
    const runs = await known();
    const old = table(runs, 'off0_OFFLINE');
    const numbers = [...old.segments.keys()].map((_name, n) => n);
    removeTable(runs.cluster, old);
    const created = addTable(runs.cluster, 'off0', 'OFFLINE', 0);
    for (const n of numbers)
      addSegment(runs.cluster, created, 10 + n, { docs: 5_000, servers: ['Server_server-3_8098'] });
    expect(await runs.next()).toEqual(await runs.full());
  });

  it('reads only the changed table', async () => {
    const runs = await known();
    addSegment(runs.cluster, table(runs, 'off1_OFFLINE'), 9);
    await runs.next();
    const read = runs.tableRequests.filter((request) => !request.includes('refreshed'));
    expect(new Set(read.map((request) => /off1|off|real/u.exec(request)?.[0]))).toEqual(new Set(['off1']));
  });
});

describe('everything is read again', () => {
  const isFull = ({ cluster }: Runs) =>
    [...cluster.tables.keys()].every((name) =>
      cluster.requests.some((request) => request.includes(`${name}/idealstate`)),
    );

  it('by a run on demand, whose readings the next run uses', async () => {
    const runs = await known();
    await runs.next({ fresh: true });
    expect(isFull(runs)).toBe(true);
    await runs.next();
    expect(isFull(runs)).toBe(false);
  });

  it('after the longest age', async () => {
    const runs = await known();
    runs.advance(6 * HOUR_MS - 60_000);
    await runs.next();
    expect(isFull(runs)).toBe(false);
    runs.advance(60_000);
    await runs.next();
    expect(isFull(runs)).toBe(true);
  });

  it('so that segments that were replaced under the same names count after the longest age', async () => {
    const runs = await known();
    for (const segment of table(runs, 'off0_OFFLINE').segments.values())
      Object.assign(segment, { packed: MB, size: MB });
    runs.advance(6 * HOUR_MS);
    expect(await runs.next()).toEqual(await runs.full());
  });

  it('of sizes and metadata with other limits', async () => {
    const runs = await known();
    const reading = { smallSegmentBytes: 100 * MB };
    expect(await runs.next(reading)).toEqual(await runs.full(reading));
  });

  it('if another cluster of the same name is at the address', async () => {
    const runs = await known();
    // The same transactions at other times.
    runs.cluster = new ChangingCluster(Date.parse('2025-06-01T00:00:00Z'));
    populate(runs.cluster);
    await runs.next();
    expect(isFull(runs)).toBe(true);
  });

  it('if the engine has another version', async () => {
    const runs = await known();
    runs.cluster.version = '1.6.0';
    await runs.next();
    expect(isFull(runs)).toBe(true);
  });

  it('if ZooKeeper was restored from a backup, also where the restored nodes are those of the last run', async () => {
    const runs = new Runs();
    const restore = runs.cluster.nodes.backup();
    addTable(runs.cluster, 'late', 'OFFLINE', 2);
    await runs.next();
    removeTable(runs.cluster, table(runs, 'late_OFFLINE'));
    restore();
    await runs.next();
    expect(isFull(runs)).toBe(true);
  });

  it('of a table whose transactions are used again after ZooKeeper was restored', async () => {
    const runs = new Runs();
    const restore = runs.cluster.nodes.backup();
    const [off0, off1] = [table(runs, 'off0_OFFLINE'), table(runs, 'off1_OFFLINE')];
    addSegment(runs.cluster, off0, 9);
    await runs.next();
    off0.segments.clear();
    restore();
    runs.cluster.nodes.stepClock(500);
    addSegment(runs.cluster, off0, 7);
    addSegment(runs.cluster, off1, 8);
    expect(await runs.next()).toEqual(await runs.full());
  });

  it.each([
    ['the stats of tables', '/zk/lsl?path=/c/IDEALSTATES'],
    ['the stats of the root node', '/zk/lsl?path=/c'],
  ])('if the engine does not return %s', async (_what, path) => {
    const runs = await known();
    runs.cluster.answers.set(path, {});
    await runs.next();
    expect(isFull(runs)).toBe(true);
  });
});

describe('what is kept', () => {
  it('has no reading that shows a fault, which is looked at in each run', async () => {
    const runs = await known();
    const off0 = table(runs, 'off0_OFFLINE');
    off0.segments.values().next().value?.failed.add('Server_server-0_8098');
    runs.cluster.nodes.write('/EXTERNALVIEW/off0_OFFLINE');
    for (let run = 0; run < 2; run += 1) {
      const { tables } = await runs.next();
      const found = tables.ok ? tables.value.find(({ name }) => name === off0.name) : undefined;
      expect(found?.difference).toMatchObject({ ok: true, value: { segments: { count: 1 } } });
      expect(runs.tableRequests).toContain('GET /tables/off0_OFFLINE/externalview');
    }
  });

  it('has the files of segments, until one of them was seen to be missing', async () => {
    const runs = await known();
    const [segment = ''] = table(runs, 'off0_OFFLINE').segments.keys();
    const missing = async (): Promise<unknown> => {
      const { tables } = await runs.next();
      const files = tables.ok ? tables.value.find(({ name }) => name === 'off0_OFFLINE')?.files : undefined;
      return files?.ok === true ? files.value.missing.names : files;
    };
    const asked = () => runs.tableRequests.includes(`HEAD /segments/off0/${segment}`);
    runs.cluster.lostFiles.add(segment);
    expect([await missing(), asked()]).toEqual([[], false]);
    runs.advance(6 * HOUR_MS);
    expect([await missing(), asked()]).toEqual([[segment], true]);
    expect([await missing(), asked()]).toEqual([[segment], true]);
    runs.cluster.lostFiles.clear();
    expect([await missing(), asked()]).toEqual([[], true]);
    expect([await missing(), asked()]).toEqual([[], false]);
  });

  it('is not what was written less than a minute before', async () => {
    const runs = new Runs();
    runs.cluster.nodes.stepClock(systemClock.now() - Date.parse('2025-01-01T00:00:00Z'));
    addSegment(runs.cluster, table(runs, 'off0_OFFLINE'), 9);
    await runs.next();
    await runs.next();
    expect(runs.tableRequests).toContain('GET /tables/off0_OFFLINE/idealstate');
    expect(runs.tableRequests).not.toContain('GET /tables/off1_OFFLINE/idealstate');
    runs.advance(2 * HOUR_MS);
    await runs.next();
    await runs.next();
    expect(runs.tableRequests).not.toContain('GET /tables/off0_OFFLINE/idealstate');
  });

  it('is bounded, and what exceeds the limit is read in each run', async () => {
    const runs = await known(new KeptReadings(60));
    expect(runs.kept.size).toBeGreaterThan(0);
    expect(runs.kept.size).toBeLessThan(runs.cluster.tables.size);
    expect(await runs.next()).toEqual(await runs.full());
  });

  it('is forgotten with its table', async () => {
    const runs = await known();
    for (const gone of [...runs.cluster.tables.values()].slice(1)) removeTable(runs.cluster, gone);
    await runs.next();
    expect(runs.kept.size).toBe(1);
  });

  it('is what a run has read until its deadline, so that the next one reads the rest', async () => {
    const runs = new Runs();
    const deadline = new AbortController();
    runs.cluster.onRequest = (path) => {
      if (path.includes('/size?')) deadline.abort();
    };
    await runs.next({ signal: deadline.signal });
    runs.cluster.onRequest = () => undefined;
    const snapshot = await runs.next();
    const read = runs.tableRequests.filter((request) => request.includes('off0'));
    expect(read).not.toContain('GET /segments/off0_OFFLINE/zkmetadata');
    expect(read).toContain('GET /tables/off0_OFFLINE/size?verbose=false');
    expect(snapshot).toEqual(await runs.full());
  });

  it('is nothing of a run that could not read the tables', async () => {
    const runs = new Runs();
    for (const name of runs.cluster.tables.keys())
      runs.cluster.answers.set(`/tables/${name}/idealstate`, { OFFLINE: null });
    await runs.next();
    expect(runs.kept.size).toBe(0);
    runs.cluster.answers.clear();
    expect(await runs.next()).toEqual(await runs.full());
  });
});

describe('a valid but empty answer after a run that had content', () => {
  const TABLES = '/zk/getChildren?path=/c/PROPERTYSTORE/CONFIGS/TABLE';

  it('without tables is a failed read', async () => {
    const runs = await known();
    runs.cluster.answers.set(TABLES, []);
    const { tables } = await runs.next();
    expect(tables).toMatchObject({ ok: false, error: expect.stringContaining('6 ideal states') as string });
  });

  it('without live instances is a failed read', async () => {
    const runs = await known();
    runs.cluster.answers.set('/zk/ls?path=/c/LIVEINSTANCES', []);
    expect((await runs.next()).instances.ok).toBe(false);
  });

  it('of metadata is a failed read once it is read', async () => {
    const runs = await known();
    runs.cluster.answers.set('/segments/off0_OFFLINE/zkmetadata', {});
    addSegment(runs.cluster, table(runs, 'off0_OFFLINE'), 9);
    const { tables } = await runs.next();
    const found = tables.ok ? tables.value.find(({ name }) => name === 'off0_OFFLINE') : undefined;
    expect(found?.segments.ok).toBe(false);
  });
});
