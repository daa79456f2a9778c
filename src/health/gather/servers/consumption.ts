import type { MonotonicClock } from '../../../platform/clock.ts';
import { LruCache } from '../../../platform/lru.ts';
import type { PartitionConsumption, ReplicaConsumption } from '../../snapshot.ts';
import { objectOf } from '../json-values.ts';
import { partitionOf } from '../placement/layout.ts';

/** What the servers report about the consuming segments of a table. */
export interface ConsumingInfo {
  /** The key is the segment. A segment about which no server reported is absent. */
  readonly segments: ReadonlyMap<string, readonly ConsumingReplica[]>;
  /** Number of servers without a response; undefined if the engine version does not report it. */
  readonly silentServers: number | undefined;
}

interface ConsumingReplica extends ReplicaConsumption {
  /** Offset of the next row in the stream, as the engine writes it; undefined if it is not reported. */
  readonly offset: string | undefined;
}

/** Parses the response to `GET /tables/{table}/consumingSegmentsInfo`. Engine versions before 1.0 have no `partitionOffsetInfo`. */
export function parseConsumingInfo(body: unknown): ConsumingInfo {
  const { _segmentToConsumingInfoMap: map, serversFailingToRespond: silent } = objectOf(body);
  if (typeof map !== 'object' || map === null) throw new Error('the response has no `_segmentToConsumingInfoMap`');
  const segments = new Map<string, ConsumingReplica[]>();
  for (const [segment, infos] of Object.entries(objectOf(map))) {
    if (Array.isArray(infos) && infos.length > 0) segments.set(segment, infos.map(replicaOf));
  }
  return { segments, silentServers: typeof silent === 'number' ? silent : undefined };
}

function replicaOf(info: unknown): ConsumingReplica {
  const { serverName, consumerState, partitionToOffsetMap, partitionOffsetInfo } = objectOf(info);
  const { latestUpstreamOffsetMap, recordsLagMap, availabilityLagMsMap } = objectOf(partitionOffsetInfo);
  return {
    server: String(serverName),
    consumes: consumerState === 'CONSUMING',
    offset: first(partitionToOffsetMap),
    latestOffset: first(latestUpstreamOffsetMap),
    recordsLag: numberIn(recordsLagMap),
    availabilityLagMs: numberIn(availabilityLagMsMap),
    stalledMs: undefined,
  };
}

/** The value of a map with one entry, by partition. */
function first(map: unknown): string | undefined {
  const [value] = Object.values(objectOf(map));
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Some streams have offsets that are no numbers, and report a lag of `UNKNOWN`. */
function numberIn(map: unknown): number | undefined {
  const value = first(map);
  return value !== undefined && /^[0-9]{1,16}$/u.test(value) ? Number(value) : undefined;
}

/** Replicas whose offset is remembered; each takes about 250 bytes. */
const MAX_REMEMBERED = 100_000;

/** Tables whose partitions are remembered. */
const MAX_REMEMBERED_TABLES = 10_000;
/** The engine numbers the partitions of the second stream of a table from 10,000, of the third from 20,000. */
const PARTITIONS_OF_STREAM = 10_000;
/** The engine has partitions as signed 32-bit numbers; a name can have any. */
const MAX_PARTITION = 2 ** 31 - 1;

interface Remembered {
  readonly offset: string;
  readonly since: number;
}

/** Remembers between runs since when the consumption of a replica has not moved while its stream has further rows. */
export class ConsumptionMemory {
  readonly #clock: MonotonicClock;
  readonly #waiting = new LruCache<string, Remembered>({ maxWeight: MAX_REMEMBERED });
  /** When rows were first seen, by consuming segment. */
  readonly #withRows = new LruCache<string, number>({ maxWeight: MAX_REMEMBERED });
  /** The highest partition by stream of each table. */
  readonly #highest = new LruCache<string, ReadonlyMap<number, number>>({ maxWeight: MAX_REMEMBERED_TABLES });

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /** @returns the time since the first of the runs in a row that saw the replica at this offset with rows waiting; undefined without such a run */
  stalledMs(key: string, { offset, latestOffset, recordsLag }: ConsumingReplica): number | undefined {
    const waits = (recordsLag ?? difference(latestOffset, offset)) > 0;
    if (offset === undefined || !waits) {
      this.#waiting.delete(key);
      return undefined;
    }
    const now = this.#clock.monotonic();
    const known = this.#waiting.get(key);
    if (known?.offset === offset) return now - known.since;
    this.#waiting.set(key, { offset, since: now });
    return undefined;
  }

  /** @param key of a consuming segment that has rows @returns the time since the first run that saw them; 0 in that run */
  withRowsMs(key: string): number {
    const now = this.#clock.monotonic();
    const since = this.#withRows.get(key) ?? now;
    this.#withRows.set(key, since);
    return now - since;
  }

  /**
   * The partitions without any segment: those below one that has a segment, or had one in an earlier run. Retention can have deleted all
   * segments of a partition that is no longer consumed.
   * @param key of the table; another one if it was deleted and created again @param known partitions with a segment
   */
  missingPartitions(key: string, known: ReadonlySet<number>): number[] {
    const highest = new Map(this.#highest.get(key));
    for (const partition of known) {
      if (partition > MAX_PARTITION) continue;
      const stream = Math.floor(partition / PARTITIONS_OF_STREAM);
      highest.set(stream, Math.max(highest.get(stream) ?? 0, partition));
    }
    this.#highest.set(key, highest);
    const missing: number[] = [];
    for (const [stream, last] of highest) {
      for (let partition = stream * PARTITIONS_OF_STREAM; partition <= last; partition += 1) {
        if (!known.has(partition)) missing.push(partition);
      }
    }
    return missing.toSorted((a, b) => a - b);
  }
}

/** 0 if one of the offsets is unknown or no number. */
function difference(latest: string | undefined, offset: string | undefined): number {
  const value = Number(latest) - Number(offset);
  return Number.isNaN(value) ? 0 : value;
}

/**
 * The consumption of each partition that has a consuming segment in the ideal state.
 * @param expected servers by partition @param readings several responses: a segment that is being committed has no consumer for a moment
 */
export function partitionConsumption(
  table: string,
  expected: ReadonlyMap<number, readonly string[]>,
  readings: readonly ConsumingInfo[],
  memory: ConsumptionMemory,
): PartitionConsumption[] {
  const byPartition = new Map<number, Map<string, ConsumingReplica>>();
  for (const { segments } of readings) {
    for (const [segment, replicas] of segments) {
      const partition = partitionOf(segment);
      if (partition === undefined) continue;
      const known = byPartition.get(partition) ?? new Map<string, ConsumingReplica>();
      byPartition.set(partition, known);
      for (const replica of replicas) known.set(replica.server, merged(known.get(replica.server), replica));
    }
  }
  return [...expected].map(([partition, servers]) => ({
    partition,
    servers,
    replicas: [...(byPartition.get(partition)?.values() ?? [])].map((replica) =>
      withStall(replica, memory.stalledMs(`${table} ${partition} ${replica.server}`, replica)),
    ),
  }));
}

function withStall(
  { server, consumes, latestOffset, recordsLag, availabilityLagMs }: ConsumingReplica,
  stalledMs: number | undefined,
): ReplicaConsumption {
  return { server, consumes, latestOffset, recordsLag, availabilityLagMs, stalledMs };
}

function merged(before: ConsumingReplica | undefined, replica: ConsumingReplica): ConsumingReplica {
  return { ...replica, consumes: replica.consumes || before?.consumes === true };
}

/** Whether all servers of each partition report that they consume it. */
export function allConsume(expected: ReadonlyMap<number, readonly string[]>, { segments }: ConsumingInfo): boolean {
  const consuming = new Set<string>();
  for (const [segment, replicas] of segments) {
    for (const { server, consumes } of replicas) if (consumes) consuming.add(`${partitionOf(segment)} ${server}`);
  }
  return [...expected].every(([partition, servers]) =>
    servers.every((server) => consuming.has(`${partition} ${server}`)),
  );
}
