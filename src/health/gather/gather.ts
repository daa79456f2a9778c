import type { Engine } from '../../pinot/types.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import type { Need } from '../check.ts';
import { ClusterCalls } from './cluster/cluster.ts';
import { ClusterStamps, KEPT_PARTS } from './cluster/cluster-stamps.ts';
import { ConsumptionMemory } from './servers/consumption.ts';
import { readDisks } from './cluster/disks.ts';
import { GrowingSnapshot } from './growing-snapshot.ts';
import { InstanceHealthReader } from './cluster/instance-health.ts';
import type { KeptReadings } from './tables/kept-readings.ts';
import { readMinionTasks } from './cluster/minion-tasks.ts';
import { EngineReader } from './calls/reader.ts';
import { TablesGatherer, type TablesGathererOptions } from './tables/tables.ts';
import { NO_METRICS, type HealthMetrics } from '../metrics.ts';
import type { Gather, GatherRequest } from '../run/run.ts';
import type { InstanceScheme } from '../settings.ts';
import { NOT_READ, readFailed, type ClusterSnapshot, type FailedRead, type Read } from '../snapshot.ts';

/** Exported again for callers that may not import the engine's folder. */
export type HealthEngine = Engine;

export interface GatherOptions {
  readonly engine: HealthEngine;
  readonly clock: Clock;
  readonly metrics?: HealthMetrics;
  /** Maximum number of concurrent calls to the controller and the brokers, except slow ones. */
  readonly concurrency?: number;
  /** Maximum number of attempts for one call. */
  readonly attempts?: number;
  /** Milliseconds before possibly transient states are read again. */
  readonly settleMs?: number;
  /** Readings of earlier runs, so that only what has changed is read; undefined to read everything in each run. */
  readonly kept?: KeptReadings;
  /** Scheme of the instances' `/health` endpoints, called at each run; `http` by default. */
  readonly instanceScheme?: () => InstanceScheme;
}

const CONCURRENCY = 12;
const ATTEMPTS = 3;
const SETTLE_MS = 3_000;
/** Tables wait for the stamps at most this time; then everything is read. */
const MAX_STAMPS_WAIT_MS = 5_000;

/** A `Gather` that reads the cluster through the engine's REST interface. */
export function createGather(options: GatherOptions): Gather {
  const memory = new ConsumptionMemory(options.clock);
  return (request) => new Gatherer(options, request, memory).gather();
}

class Gatherer {
  readonly #options: GatherOptions;
  readonly #memory: ConsumptionMemory;
  readonly #request: GatherRequest;
  readonly #reader: EngineReader;
  readonly #calls: ClusterCalls;
  readonly #health: InstanceHealthReader;
  readonly #ending = new AbortController();
  #done = 0;
  #total = 1;

  constructor(options: GatherOptions, request: GatherRequest, memory: ConsumptionMemory) {
    const { clock } = options;
    this.#options = options;
    this.#memory = memory;
    this.#request = request;
    this.#reader = new EngineReader({
      metrics: options.metrics ?? NO_METRICS,
      clock,
      signal: request.signal,
      concurrency: options.concurrency ?? CONCURRENCY,
      attempts: options.attempts ?? ATTEMPTS,
    });
    this.#calls = new ClusterCalls(this.#reader, options.engine);
    this.#health = new InstanceHealthReader({
      calls: this.#calls,
      clock,
      scheme: options.instanceScheme?.() ?? 'http',
      needed: request.needs.has('instanceHealth'),
      signal: this.#ending.signal,
      progress: (done, more) => this.#step(done, more),
    });
  }

  async gather(): Promise<ClusterSnapshot> {
    try {
      return await this.#gather();
    } finally {
      this.#ending.abort();
    }
  }

  async #gather(): Promise<ClusterSnapshot> {
    const cluster = await this.#reader.read(() => this.#calls.info());
    if (!cluster.ok) return unreachable(cluster.error);
    this.#step(1);
    const { name: clusterName, version: engineVersion } = cluster.value;
    const initial = { ...emptySnapshot(NOT_READ), clusterName, engineVersion };
    const snapshot = new GrowingSnapshot(initial, this.#request.onComplete);
    const schemas = this.#readIfNeeded(['schemas', 'reload'], () => this.#calls.schemas());
    // Each of them is put into the snapshot as soon as it is read: none waits for another.
    await Promise.all([
      this.#tables(snapshot, schemas, cluster.value),
      schemas.then((read) => snapshot.put({ schemas: read }, 'schemas')),
      this.#readIfNeeded(['clusterConfig'], () => this.#calls.clusterConfig()).then((clusterConfig) =>
        snapshot.put({ clusterConfig }, 'clusterConfig'),
      ),
      this.#readIfNeeded(['instancePartitions'], () => this.#calls.instancePartitions()).then((instancePartitions) =>
        snapshot.put({ instancePartitions }, 'instancePartitions'),
      ),
      this.#readIfNeeded(['leaders'], () => this.#calls.leaders()).then((leaders) =>
        snapshot.put({ leaders }, 'leaders'),
      ),
      this.#instances(snapshot),
      this.#readIfNeeded(['minionTasks'], () => readMinionTasks(this.#reader, this.#calls)).then((minionTasks) =>
        snapshot.put({ minionTasks }, 'minionTasks'),
      ),
    ]);
    return snapshot.current;
  }

  /** Read in every run: nearly all checks need the instances. */
  async #instances(snapshot: GrowingSnapshot): Promise<void> {
    const instances = await this.#reader.read(() => this.#calls.instances());
    snapshot.put({ instances }, 'instances');
    const instanceHealth = await this.#health.read(instances);
    snapshot.put({ instanceHealth }, 'instanceHealth');
    const scheme = this.#options.instanceScheme?.() ?? 'http';
    const disks =
      instances.ok && this.#request.needs.has('disks')
        ? await readDisks({ reader: this.#reader, calls: this.#calls, scheme }, instances.value, instanceHealth)
        : new Map<string, never>();
    snapshot.put({ disks }, 'disks');
  }

  async #tables(
    snapshot: GrowingSnapshot,
    schemas: TablesGathererOptions['schemas'],
    { name, version }: { readonly name: string; readonly version: string | undefined },
  ): Promise<void> {
    const stamps = this.#stamps(`${name} ${version}`);
    const entries = await this.#reader.read(() => this.#calls.tables());
    if (!entries.ok) {
      snapshot.put({ tables: entries }, 'tables');
      return;
    }
    const tables = new TablesGatherer({
      reader: this.#reader,
      calls: this.#calls,
      engine: this.#options.engine,
      clock: this.#options.clock,
      request: this.#request,
      schemas,
      hanging: (servers) => this.#health.hanging(servers),
      version,
      settleMs: this.#options.settleMs ?? SETTLE_MS,
      memory: this.#memory,
      snapshot,
      ending: this.#ending.signal,
      kept: await stamps,
      progress: (count, more) => this.#step(count, more),
    });
    await tables.gather(entries.value);
  }

  /**
   * The readings of earlier runs, and the stamps of this one. The stamps must be read before what they stand for. Undefined if readings are not kept, or if
   * the stamps could not be read in time.
   */
  async #stamps(cluster: string): Promise<TablesGathererOptions['kept']> {
    const { kept: readings, clock } = this.#options;
    const { needs, fullReadMs: maxAgeMs } = this.#request;
    if (readings === undefined || maxAgeMs === undefined || !KEPT_PARTS.some((part) => needs.has(part)))
      return undefined;
    const [now, wallClock] = [clock.monotonic(), clock.now()];
    const read = this.#reader.read(async () => {
      return new ClusterStamps(await this.#calls.stats(), cluster, wallClock, this.#request);
    });
    const late = sleep(clock, MAX_STAMPS_WAIT_MS, this.#ending.signal).catch(() => undefined);
    const stamps = await Promise.race([read, late]);
    if (stamps?.ok !== true) return undefined;
    readings.begin(stamps.value);
    return { readings, run: { stamps: stamps.value, now, maxAgeMs } };
  }

  async #readIfNeeded<T>(needs: readonly Need[], work: () => Promise<T>): Promise<Read<T>> {
    if (!needs.some((need) => this.#request.needs.has(need))) return NOT_READ;
    return this.#reader.read(work);
  }

  #step(done: number, more = 0): void {
    this.#done += done;
    this.#total += more;
    this.#request.onProgress?.(this.#done, this.#total);
  }
}

function unreachable(error: string): ClusterSnapshot {
  return { ...emptySnapshot(readFailed(error)), unreachable: error };
}

/** A snapshot whose parts are all failed reads. */
function emptySnapshot(failure: FailedRead): ClusterSnapshot {
  return {
    unreachable: undefined,
    clusterName: 'cluster',
    engineVersion: undefined,
    instances: failure,
    instanceHealth: new Map(),
    disks: new Map(),
    minionTasks: failure,
    clusterConfig: failure,
    tables: failure,
    schemas: failure,
    instancePartitions: failure,
    brokerResource: failure,
    leaders: failure,
    queries: new Map(),
  };
}
