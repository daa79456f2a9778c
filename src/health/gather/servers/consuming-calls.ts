import type { Assignment, ConsumingRows, ConsumingSegment, Consumption } from '../../snapshot.ts';
import { StatusError } from '../calls/call.ts';
import type { ClusterCalls } from '../cluster/cluster.ts';
import { type TableEntry } from '../configs.ts';
import { objectOf } from '../json-values.ts';
import {
  allConsume,
  parseConsumingInfo,
  partitionConsumption,
  type ConsumingInfo,
  type ConsumptionMemory,
} from './consumption.ts';
import { FAN_OUT_TIMEOUT_MS } from './fan-outs.ts';
import type { EngineReader } from '../calls/reader.ts';
import type { ConsumingStart } from '../tables/segment-metadata.ts';

/** These calls start after queries and before the other calls that the controller forwards; see `PRIORITY` of those. */
const PRIORITY = 3;
/** The reason code of a pause by an administrator. */
const ADMINISTRATIVE = 'ADMINISTRATIVE';
const MAX_COMMENT_LENGTH = 300;

export interface ConsumingCallsOptions {
  readonly reader: EngineReader;
  readonly calls: ClusterCalls;
  readonly memory: ConsumptionMemory;
  /** Milliseconds before possibly transient states are read again. */
  readonly settleMs: number;
}

/** The calls about the consuming segments of a table, which the controller forwards to its servers. */
export class ConsumingCalls {
  readonly #options: ConsumingCallsOptions;
  /** The latest response by table. */
  readonly #consuming = new WeakMap<TableEntry, Promise<ConsumingInfo>>();

  constructor(options: ConsumingCallsOptions) {
    this.#options = options;
  }

  /** Rows of consuming segments, for streams with numeric offsets. @param starts by segment */
  async rows(table: TableEntry, starts: ReadonlyMap<string, ConsumingStart>): Promise<ConsumingRows> {
    const info = await this.#consumingInfo(table);
    const servers = new Map<string, number>();
    const segments = new Map<string, ConsumingSegment>();
    for (const [segment, replicas] of info.segments) {
      const start = starts.get(segment);
      if (start === undefined) continue;
      let rows = 0;
      for (const { server, offset } of replicas) {
        const count = Number(offset) - start.offset;
        if (count > 0) servers.set(server, (servers.get(server) ?? 0) + count);
        if (count > rows) rows = count;
      }
      if (rows === 0) continue;
      const withRowsMs = this.#options.memory.withRowsMs(`${table.name} ${segment}`);
      segments.set(segment, { createdAt: start.createdAt, rows, withRowsMs });
    }
    return { servers, segments };
  }

  /**
   * The consumption of a realtime table. Reads it again after a delay if a replica does not consume, as while a segment is committed.
   * @param origin of the table; another one if it was deleted and created again
   */
  async consumption(table: TableEntry, assignment: Assignment, origin: string): Promise<Consumption> {
    const { consumingPartitions: expected, idlePartitions } = assignment;
    const { memory } = this.#options;
    const known = new Set([...expected.keys(), ...idlePartitions]);
    const missingPartitions = table.config.partitionsFromZero
      ? memory.missingPartitions(`${table.name} ${origin}`, known)
      : [];
    const isIdle = idlePartitions.length + missingPartitions.length > 0 || expected.size === 0;
    const pause = isIdle ? await this.#pause(table) : { paused: false, pausedBecause: undefined };
    if (expected.size === 0) return { ...pause, missingPartitions, partitions: [] };
    const readings = [await this.#consumingInfo(table)];
    if (readings.some((info) => !allConsume(expected, info))) {
      await this.#options.reader.sleep(this.#options.settleMs);
      this.#consuming.delete(table);
      readings.push(await this.#consumingInfo(table));
    }
    return { ...pause, missingPartitions, partitions: partitionConsumption(table.name, expected, readings, memory) };
  }

  /** Shared by the parts of the snapshot that use the response. A failed call is made again by the next of them. */
  async #consumingInfo(table: TableEntry): Promise<ConsumingInfo> {
    const known = this.#consuming.get(table);
    if (known !== undefined) return known;
    const path = `/tables/${encodeURIComponent(table.rawName)}/consumingSegmentsInfo`;
    const call = this.#options.calls.call('consuming_segments', path, {
      timeoutMs: FAN_OUT_TIMEOUT_MS,
      priority: PRIORITY,
    });
    const info = this.#options.reader.json(call).then(parseConsumingInfo);
    this.#consuming.set(table, info);
    info.catch(() => this.#consuming.delete(table));
    return info;
  }

  async #pause(table: TableEntry): Promise<Pick<Consumption, 'paused' | 'pausedBecause'>> {
    const path = `/tables/${encodeURIComponent(table.rawName)}/pauseStatus`;
    const call = this.#options.calls.call('pause_status', path, { timeoutMs: FAN_OUT_TIMEOUT_MS });
    try {
      const { pauseFlag, reasonCode, comment } = objectOf(await this.#options.reader.json(call));
      const byPinot = pauseFlag === true && typeof reasonCode === 'string' && reasonCode !== ADMINISTRATIVE;
      const note = typeof comment === 'string' && comment !== '' ? `: ${comment.slice(0, MAX_COMMENT_LENGTH)}` : '';
      return { paused: pauseFlag === true, pausedBecause: byPinot ? `${reasonCode}${note}` : undefined };
    } catch (error) {
      // Engine versions without this endpoint cannot pause the consumption.
      if (error instanceof StatusError && error.status === 404) return { paused: false, pausedBecause: undefined };
      throw error;
    }
  }
}
