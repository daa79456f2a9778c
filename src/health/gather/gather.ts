import type { Engine } from '../../pinot/types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Need } from '../check.ts';
import { ClusterCalls } from './cluster.ts';
import { GrowingSnapshot } from './growing-snapshot.ts';
import { Reader } from './reader.ts';
import { TablesGatherer } from './tables.ts';
import { NO_METRICS, type HealthMetrics } from '../metrics.ts';
import type { Gather, GatherRequest } from '../run.ts';
import {
  NOT_READ,
  readFailed,
  type ClusterSnapshot,
  type Instance,
  type InstanceHealth,
  type Read,
} from '../snapshot.ts';

/** For callers that may not import the engine's folder. */
export type HealthEngine = Engine;

export interface GatherOptions {
  readonly engine: HealthEngine;
  readonly clock: Clock;
  readonly metrics?: HealthMetrics;
  /** Maximum number of concurrent calls to the engine. */
  readonly concurrency?: number;
  /** Maximum number of attempts for one call. */
  readonly attempts?: number;
  /** Milliseconds before possibly transient states are read again. */
  readonly settleMs?: number;
  /** Scheme of the instances' `/health` endpoints. */
  readonly instanceScheme?: 'http' | 'https';
}

const CONCURRENCY = 12;
const ATTEMPTS = 3;
const SETTLE_MS = 3_000;

/** A `Gather` that reads the cluster through the engine's REST interface. */
export function createGather(options: GatherOptions): Gather {
  return (request) => new Gatherer(options, request).gather();
}

class Gatherer {
  readonly #options: GatherOptions;
  readonly #request: GatherRequest;
  readonly #reader: Reader;
  readonly #calls: ClusterCalls;
  #done = 0;
  #total = 1;

  constructor(options: GatherOptions, request: GatherRequest) {
    this.#options = options;
    this.#request = request;
    this.#reader = new Reader({
      metrics: options.metrics ?? NO_METRICS,
      clock: options.clock,
      signal: request.signal,
      concurrency: options.concurrency ?? CONCURRENCY,
      attempts: options.attempts ?? ATTEMPTS,
    });
    this.#calls = new ClusterCalls(this.#reader, options.engine);
  }

  async gather(): Promise<ClusterSnapshot> {
    const cluster = await this.#reader.read(() => this.#calls.info());
    if (!cluster.ok) return unreachable(cluster.error);
    this.#step(1);
    const { name: clusterName, version: engineVersion } = cluster.value;
    const initial = { ...emptySnapshot(NOT_READ), clusterName, engineVersion };
    const snapshot = new GrowingSnapshot(initial, this.#request.onComplete);
    const [instances, entries, schemas] = await Promise.all([
      // Read in every run: nearly all checks need tables and instances.
      this.#reader.read(() => this.#calls.instances()),
      this.#reader.read(() => this.#calls.tables()),
      this.#readIfNeeded(['schemas', 'reload'], () => this.#calls.schemas()),
      this.#readIfNeeded(['clusterConfig'], () => this.#calls.clusterConfig()).then((clusterConfig) =>
        snapshot.put({ clusterConfig }, 'clusterConfig'),
      ),
      this.#readIfNeeded(['instancePartitions'], () => this.#calls.instancePartitions()).then((instancePartitions) =>
        snapshot.put({ instancePartitions }, 'instancePartitions'),
      ),
      this.#readIfNeeded(['leaders'], () => this.#calls.leaders()).then((leaders) =>
        snapshot.put({ leaders }, 'leaders'),
      ),
    ]);
    snapshot.put({ instances, schemas }, 'instances', 'schemas');
    const tables = new TablesGatherer({
      reader: this.#reader,
      calls: this.#calls,
      engine: this.#options.engine,
      request: this.#request,
      schemas,
      version: engineVersion,
      settleMs: this.#options.settleMs ?? SETTLE_MS,
      snapshot,
      progress: (count, more) => this.#step(count, more),
    });
    await Promise.all([
      this.#instanceHealth(instances).then((instanceHealth) => snapshot.put({ instanceHealth }, 'instanceHealth')),
      entries.ok ? tables.gather(entries.value) : snapshot.put({ tables: entries }, 'tables'),
    ]);
    return snapshot.current;
  }

  async #readIfNeeded<T>(needs: readonly Need[], work: () => Promise<T>): Promise<Read<T>> {
    if (!needs.some((need) => this.#request.needs.has(need))) return NOT_READ;
    return this.#reader.read(work);
  }

  async #instanceHealth(instances: Read<readonly Instance[]>): Promise<Map<string, InstanceHealth>> {
    const health = new Map<string, InstanceHealth>();
    if (!instances.ok || !this.#request.needs.has('instanceHealth')) return health;
    const queried = instances.value.filter(({ type, enabled }) => enabled && (type === 'server' || type === 'broker'));
    this.#step(0, queried.length);
    await Promise.all(
      queried.map(async (instance) => {
        const answer = await this.#calls.health(instance, this.#options.instanceScheme ?? 'http');
        if (answer !== undefined) health.set(instance.id, answer);
        this.#step(1);
      }),
    );
    return health;
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
function emptySnapshot(failure: { readonly ok: false; readonly error: string }): ClusterSnapshot {
  return {
    unreachable: undefined,
    clusterName: 'cluster',
    engineVersion: undefined,
    instances: failure,
    instanceHealth: new Map(),
    clusterConfig: failure,
    tables: failure,
    schemas: failure,
    instancePartitions: failure,
    brokerResource: failure,
    leaders: failure,
    queries: new Map(),
  };
}
