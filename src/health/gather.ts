import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../engine/types.ts';
import type { Need } from './check.ts';
import { ClusterCalls } from './gather/cluster.ts';
import { GrowingSnapshot } from './gather/growing-snapshot.ts';
import { Reader } from './gather/reader.ts';
import { TablesGatherer } from './gather/tables.ts';
import { NO_METRICS, type HealthMetrics } from './metrics.ts';
import type { Gather, GatherRequest } from './run.ts';
import {
  NOT_READ,
  readFailed,
  type ClusterSnapshot,
  type Instance,
  type InstanceHealth,
  type Read,
} from './snapshot.ts';

/** The engine as the health task uses it, for callers that may not import the engine's folder. */
export type HealthEngine = Engine;

export interface GatherOptions {
  readonly engine: HealthEngine;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly metrics?: HealthMetrics;
  /** How many calls to the engine may be under way at once. */
  readonly concurrency?: number;
  /** How often a call is made at most. */
  readonly attempts?: number;
  /** Milliseconds between two looks at what may be a passing state. */
  readonly settleMs?: number;
  /** How instances are asked for their health: `http` or `https`. */
  readonly instanceScheme?: 'http' | 'https';
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const CONCURRENCY = 12;
const ATTEMPTS = 3;
const SETTLE_MS = 3_000;

/** Reads a cluster by the engine's REST interface. */
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
      random: options.random,
      signal: request.signal,
      concurrency: options.concurrency ?? CONCURRENCY,
      attempts: options.attempts ?? ATTEMPTS,
      sleep: options.sleep ?? ((ms, signal) => delay(ms, undefined, { signal })),
    });
    this.#calls = new ClusterCalls(this.#reader, options.engine);
  }

  async gather(): Promise<ClusterSnapshot> {
    const cluster = await this.#reader.read(() => this.#calls.info());
    if (!cluster.ok) return unreachable(cluster.error);
    this.#step(1);
    const { name: clusterName, version: engineVersion } = cluster.value;
    const snapshot = new GrowingSnapshot({ ...nothing(NOT_READ), clusterName, engineVersion }, this.#request.onFacts);
    const [instances, entries, schemas] = await Promise.all([
      // Tables are always judged by the servers and brokers there are; two calls.
      this.#reader.read(() => this.#calls.instances()),
      this.#reader.read(() => this.#calls.tables()),
      this.#part(['schemas', 'reload'], () => this.#calls.schemas()),
      this.#part(['clusterConfig'], () => this.#calls.clusterConfig()).then((clusterConfig) =>
        snapshot.put({ clusterConfig }, 'clusterConfig'),
      ),
      this.#part(['instancePartitions'], () => this.#calls.instancePartitions()).then((instancePartitions) =>
        snapshot.put({ instancePartitions }, 'instancePartitions'),
      ),
      this.#part(['leaders'], () => this.#calls.leaders()).then((leaders) => snapshot.put({ leaders }, 'leaders')),
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

  async #part<T>(needs: readonly Need[], work: () => Promise<T>): Promise<Read<T>> {
    if (!needs.some((need) => this.#request.needs.has(need))) return NOT_READ;
    return this.#reader.read(work);
  }

  async #instanceHealth(instances: Read<readonly Instance[]>): Promise<Map<string, InstanceHealth>> {
    const health = new Map<string, InstanceHealth>();
    if (!instances.ok || !this.#request.needs.has('instanceHealth')) return health;
    const asked = instances.value.filter(({ type, enabled }) => enabled && (type === 'server' || type === 'broker'));
    this.#step(0, asked.length);
    await Promise.all(
      asked.map(async (instance) => {
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
  return { ...nothing(readFailed(error)), unreachable: error };
}

/** @param why what stands in every part */
function nothing(why: { readonly ok: false; readonly error: string }): ClusterSnapshot {
  return {
    unreachable: undefined,
    clusterName: 'cluster',
    engineVersion: undefined,
    instances: why,
    instanceHealth: new Map(),
    clusterConfig: why,
    tables: why,
    schemas: why,
    instancePartitions: why,
    brokerResource: why,
    leaders: why,
    queries: new Map(),
  };
}
