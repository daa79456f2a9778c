import type { Engine } from '../../pinot/types.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import type { Need } from '../check.ts';
import { ClusterCalls } from './cluster/cluster.ts';
import { bothReads, disagree, namesIn, readSources, whereTablesAre, whyUnknown } from './cluster/sources.ts';
import type { SchemaEntry, TableEntries } from './configs.ts';
import { ClusterStamps, KEPT_PARTS } from './cluster/cluster-stamps.ts';
import { ArrivalMemory } from './tables/arrivals.ts';
import { ConsumptionMemory } from './servers/consumption.ts';
import { readDisks } from './cluster/disks.ts';
import { GrowingSnapshot } from './growing-snapshot.ts';
import { InstanceHealthReader } from './cluster/instance-health.ts';
import type { KeptReadings } from './tables/kept-readings.ts';
import { withPassingStates } from './cluster/passing-states.ts';
import { readMinionTasks } from './cluster/minion-tasks.ts';
import { EngineReader } from './calls/reader.ts';
import { TablesGatherer, type TablesGathererOptions } from './tables/tables.ts';
import { NO_METRICS, type HealthMetrics } from '../metrics.ts';
import type { Gather, GatherRequest } from '../run/run.ts';
import type { InstanceScheme } from '../settings.ts';
import {
  NOT_READ,
  readFailed,
  readOk,
  type ClusterSnapshot,
  type FailedRead,
  type PolicyConditions,
  type Read,
  type TableSources,
} from '../snapshot.ts';

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
  /** The policies with conditions, called at each run; absent where they are not known. */
  readonly policies?: (() => readonly PolicyConditions[]) | undefined;
  /** Scheme of the instances' `/health` endpoints, called at each run; `http` by default. */
  readonly instanceScheme?: () => InstanceScheme;
}

/** The parts that the tables are read with. */
interface ClusterParts extends Pick<TablesGathererOptions, 'snapshot' | 'schemas'> {
  readonly names: Promise<TableSources>;
}

const CONCURRENCY = 12;
const ATTEMPTS = 3;
const SETTLE_MS = 3_000;
/** Tables wait at most this time for stamps, without which everything is read, and for the names in other sources. */
const MAX_WAIT_MS = 5_000;

/** A `Gather` that reads the cluster through the engine's REST interface. */
export function createGather(options: GatherOptions): Gather {
  const memories = { memory: new ConsumptionMemory(options.clock), arrivals: new ArrivalMemory() };
  return (request) => new Gatherer(options, request, memories).gather();
}

/** What is remembered between runs. */
type Memories = Pick<TablesGathererOptions, 'memory' | 'arrivals'>;

class Gatherer {
  readonly #options: GatherOptions;
  readonly #memories: Memories;
  readonly #request: GatherRequest;
  readonly #reader: EngineReader;
  readonly #calls: ClusterCalls;
  readonly #health: InstanceHealthReader;
  readonly #ending = new AbortController();
  #done = 0;
  #total = 1;

  constructor(options: GatherOptions, request: GatherRequest, memories: Memories) {
    const { clock } = options;
    this.#options = options;
    this.#memories = memories;
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
    snapshot.put({ policies: readOk(this.#options.policies?.() ?? 'unavailable') }, 'policies');
    const names = readSources(this.#reader, this.#calls);
    const schemas = this.#readIfNeeded(['schemas', 'reload'], () => this.#schemas(names));
    // Each of them is put into the snapshot as soon as it is read: none waits for another.
    await Promise.all([
      this.#tables({ snapshot, schemas, names }, cluster.value),
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
      this.#readIfNeeded(['nodeSizes'], () => this.#calls.nodeSizes()).then((nodeSizes) =>
        snapshot.put({ nodeSizes }, 'nodeSizes'),
      ),
    ]);
    return withPassingStates(snapshot.current, { reader: this.#reader, calls: this.#calls });
  }

  /** Read in every run: nearly all checks need the instances. */
  async #instances(snapshot: GrowingSnapshot): Promise<void> {
    const read = await this.#reader.read(() => this.#calls.instances());
    const instances = read.ok ? readOk(read.value.configured) : read;
    const unconfiguredInstances = read.ok ? read.value.unconfigured : [];
    snapshot.put({ instances, unconfiguredInstances }, 'instances');
    const instanceHealth = await this.#health.read(instances);
    snapshot.put({ instanceHealth }, 'instanceHealth');
    const scheme = this.#options.instanceScheme?.() ?? 'http';
    const disks =
      instances.ok && this.#request.needs.has('disks')
        ? await readDisks({ reader: this.#reader, calls: this.#calls, scheme }, instances.value, instanceHealth)
        : new Map<string, never>();
    snapshot.put({ disks }, 'disks');
  }

  /** @throws {Error} an empty list that other sources contradict: checks would not see what is missing */
  async #schemas(names: Promise<TableSources>): Promise<Map<string, Read<SchemaEntry>>> {
    const schemas = await this.#calls.schemas();
    if (schemas.size > 0) return schemas;
    const sources = await names;
    const where = whereTablesAre(sources);
    const unknown = whyUnknown(sources);
    if (where !== undefined) throw new Error(`the response has no schema, but ${where}`);
    if (unknown !== undefined) throw new Error(`the response has no schema, and ${unknown}`);
    return schemas;
  }

  async #tables(
    { snapshot, schemas, names }: ClusterParts,
    { name, version }: { readonly name: string; readonly version: string | undefined },
  ): Promise<void> {
    const stamps = this.#stamps(`${name} ${version}`);
    const configured = await this.#configurations();
    const first = await this.#inTime(names);
    // Without a table there is nothing else to read: whether the others list one is waited for.
    const others = isEmpty(configured) ? await names : first;
    const entries = await this.#confirmedEntries(configured, others);
    const sources = this.#confirmed(names);
    if (!entries.ok) {
      snapshot.put({ tables: entries, sources: await sources }, 'tables', 'sources');
      return;
    }
    const tables = new TablesGatherer({
      reader: this.#reader,
      calls: this.#calls,
      engine: this.#options.engine,
      clock: this.#options.clock,
      request: this.#request,
      schemas,
      sources,
      sourcesInTime: first === undefined ? Promise.resolve(undefined) : this.#inTime(sources),
      readSourcesAgain: (earlier) => this.#readAgain(earlier),
      hanging: (servers) => this.#health.hanging(servers),
      version,
      settleMs: this.#settleMs,
      ...this.#memories,
      snapshot,
      ending: this.#ending.signal,
      kept: await stamps,
      progress: (count, more) => this.#step(count, more),
    });
    await tables.gather(entries.value);
  }

  #configurations(): Promise<Read<TableEntries>> {
    return this.#reader.read(() => this.#calls.tables());
  }

  /**
   * The table configurations. Those that another source lists and the response lacks are read once more, then they are unreadable.
   * An empty list that other sources contradict is a failed read: it would let nearly all checks pass.
   */
  async #confirmedEntries(entries: Read<TableEntries>, sources: TableSources | undefined): Promise<Read<TableEntries>> {
    if (!entries.ok || sources === undefined) return entries;
    if (isEmpty(entries)) {
      const where = whereTablesAre(sources);
      const unknown = whyUnknown(sources);
      if (where !== undefined) return readFailed(`the response has no table configuration, but ${where}`);
      return unknown === undefined ? entries : readFailed(`the response has no table configuration, and ${unknown}`);
    }
    if (unlisted(entries.value, sources).length === 0) return entries;
    await this.#reader.read(() => this.#reader.sleep(this.#settleMs));
    const again = await this.#configurations();
    if (!again.ok) return again;
    const reason = 'the list of table configurations lacks it, although its node exists';
    const missing = unlisted(again.value, sources).map((name) => [name, reason] as const);
    return readOk({ ...again.value, broken: new Map([...again.value.broken, ...missing]) });
  }

  /** The sources of a run; read again after a delay if they differ. */
  async #confirmed(names: Promise<TableSources>): Promise<TableSources> {
    const first = await names;
    if (!disagree(first) || this.#reader.signal.aborted) return first;
    await this.#reader.read(() => this.#reader.sleep(this.#settleMs));
    return this.#readAgain(first);
  }

  async #readAgain(first: TableSources): Promise<TableSources> {
    return bothReads(first, await readSources(this.#reader, this.#calls));
  }

  get #settleMs(): number {
    return this.#options.settleMs ?? SETTLE_MS;
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
    const stamps = await this.#inTime(read);
    if (stamps?.ok !== true) return undefined;
    readings.begin(stamps.value);
    return { readings, run: { stamps: stamps.value, now, maxAgeMs } };
  }

  /** @returns the value; undefined if it takes longer than tables wait */
  async #inTime<T>(value: Promise<T>): Promise<T | undefined> {
    const late = sleep(this.#options.clock, MAX_WAIT_MS, this.#ending.signal).catch(() => undefined);
    return Promise.race([value, late.then(() => undefined)]);
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

function isEmpty(entries: Read<TableEntries>): boolean {
  return entries.ok && entries.value.tables.length + entries.value.broken.size === 0;
}

/** Names that have a configuration according to the list of names, but not in the response. */
function unlisted({ tables, broken }: TableEntries, { configurations }: TableSources): string[] {
  const known = new Set([...tables.map(({ name }) => name), ...broken.keys()]);
  return namesIn(configurations).filter((name) => !known.has(name));
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
    unconfiguredInstances: [],
    instanceHealth: new Map(),
    disks: new Map(),
    minionTasks: failure,
    nodeSizes: failure,
    clusterConfig: failure,
    sources: {
      configurations: failure,
      idealStates: failure,
      externalViews: failure,
      segmentMetadata: failure,
      listed: failure,
    },
    tables: failure,
    unreadableTables: new Map(),
    schemas: failure,
    instancePartitions: failure,
    brokerResource: failure,
    leaders: failure,
    queries: new Map(),
    policies: failure,
  };
}
