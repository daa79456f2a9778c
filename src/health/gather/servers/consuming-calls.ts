import type { Assignment, Consumption } from '../../snapshot.ts';
import { StatusError } from '../calls/call.ts';
import type { ClusterCalls } from '../cluster/cluster.ts';
import { objectOf, type TableEntry } from '../configs.ts';
import {
  allConsume,
  parseConsumingInfo,
  partitionConsumption,
  type ConsumingInfo,
  type ConsumptionMemory,
} from './consumption.ts';
import { FAN_OUT_TIMEOUT_MS } from './fan-outs.ts';
import type { EngineReader } from '../calls/reader.ts';

/** These calls start after queries and before the other calls that the controller forwards; see `PRIORITY` of those. */
const PRIORITY = 3;

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

  /** Rows of consuming segments by server, for streams with numeric offsets. @param startOffsets by segment */
  async rows(table: TableEntry, startOffsets: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const { segments } = await this.#consumingInfo(table);
    const rows = new Map<string, number>();
    for (const [segment, replicas] of segments) {
      const start = startOffsets.get(segment);
      if (start === undefined) continue;
      for (const { server, offset } of replicas) {
        const count = Number(offset) - start;
        if (count > 0) rows.set(server, (rows.get(server) ?? 0) + count);
      }
    }
    return rows;
  }

  /** The consumption of a realtime table. Reads it again after a delay if a partition has no consumer, as while a segment is committed. */
  async consumption(table: TableEntry, assignment: Assignment): Promise<Consumption> {
    const { consumingPartitions: expected, idlePartitions } = assignment;
    const isIdle = idlePartitions.length > 0 || expected.size === 0;
    const paused = isIdle && (await this.#isPaused(table));
    if (expected.size === 0) return { paused, partitions: [] };
    const readings = [await this.#consumingInfo(table)];
    if (readings.some((info) => !allConsume(expected, info))) {
      await this.#options.reader.sleep(this.#options.settleMs);
      this.#consuming.delete(table);
      readings.push(await this.#consumingInfo(table));
    }
    return { paused, partitions: partitionConsumption(table.name, expected, readings, this.#options.memory) };
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

  async #isPaused(table: TableEntry): Promise<boolean> {
    const path = `/tables/${encodeURIComponent(table.rawName)}/pauseStatus`;
    const call = this.#options.calls.call('pause_status', path, { timeoutMs: FAN_OUT_TIMEOUT_MS });
    try {
      return objectOf(await this.#options.reader.json(call)).pauseFlag === true;
    } catch (error) {
      // Engine versions without this endpoint cannot pause the consumption.
      if (error instanceof StatusError && error.status === 404) return false;
      throw error;
    }
  }
}
