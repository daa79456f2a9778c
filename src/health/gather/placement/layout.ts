import type { Assignment, ServerLoad } from '../../snapshot.ts';
import { ByteInterner, grown } from '../calls/byte-interner.ts';
import { Names, Placements, type Placement } from './placements.ts';

/** Maximum number of names in a sample. */
export const MAX_NAMES = 10;

/**
 * The ideal state of one table: the placement of each segment by name. The external view, the metadata and the sizes are compared with it
 * while they stream in. It is discarded once the table has been read.
 */
export class Layout {
  /** False if the table has no ideal state. */
  found = false;
  /** The bytes of the document, for comparison; empty after `releaseDocument` and for large documents. */
  raw: readonly Buffer[] = [];
  readonly names = new Names();
  readonly segments = new ByteInterner();
  readonly placements = new Placements(this.names);
  #placementOf = new Int32Array(256);

  get size(): number {
    return this.segments.size;
  }

  get documentBytes(): number {
    return this.raw.reduce((sum, { length }) => sum + length, 0);
  }

  /** Frees the document after the last comparison with it. */
  releaseDocument(): void {
    this.raw = [];
  }

  place(segment: number, placement: number): void {
    if (segment >= this.#placementOf.length) this.#placementOf = grown(this.#placementOf, segment * 2);
    this.#placementOf[segment] = placement;
  }

  /** The id of the segment's placement. */
  placementOf(segment: number): number {
    return this.#placementOf[segment] as number;
  }

  placed(segment: number): Placement {
    return this.placements.all[this.#placementOf[segment] as number] as Placement;
  }

  /** Converts amounts by placement to amounts by server. */
  byServer(amountByPlacement: ArrayLike<number>): Map<string, number> {
    const result = new Map<string, number>();
    this.placements.all.forEach(({ servers }, placement) => {
      for (const server of servers) {
        const name = this.names.servers.name(server);
        result.set(name, (result.get(name) ?? 0) + (amountByPlacement[placement] ?? 0));
      }
    });
    return result;
  }

  /** @param keyed whether to collect partitions: for upsert and deduplication tables @param realtime whether to collect those of the stream */
  assignment(keyed: boolean, realtime = false): Assignment {
    const { all } = this.placements;
    const segments = new Float64Array(all.length);
    for (let segment = 0; segment < this.size; segment += 1) {
      const placement = this.placementOf(segment);
      segments[placement] = (segments[placement] as number) + 1;
    }
    const consuming = segments.map((count, placement) => (all[placement]?.consuming === true ? count : 0));
    const consumingByServer = this.byServer(consuming);
    const servers = new Map<string, ServerLoad>();
    for (const [server, count] of this.byServer(segments)) {
      servers.set(server, { segments: count, consuming: consumingByServer.get(server) ?? 0 });
    }
    const partitions = keyed ? this.#partitions() : { partitions: new Map<number, string[]>(), unknown: 0 };
    return {
      segments: this.size,
      consumingSegments: consuming.reduce((sum, count) => sum + count, 0),
      servers,
      partitions: partitions.partitions,
      segmentsWithoutPartition: partitions.unknown,
      ...(realtime ? this.#streamPartitions() : { consumingPartitions: new Map(), idlePartitions: [] }),
    };
  }

  /** The stream partitions with and without a consuming segment. Uploaded segments do not show that a partition is consumed. */
  #streamPartitions(): Pick<Assignment, 'consumingPartitions' | 'idlePartitions'> {
    const idle = new Set<number>();
    const consuming = new Map<number, readonly string[]>();
    for (let segment = 0; segment < this.size; segment += 1) {
      const name = this.segments.name(segment);
      const { consuming: consumes, servers } = this.placed(segment);
      const partition = consumes ? partitionOf(name) : consumedPartitionOf(name);
      if (partition === undefined) continue;
      if (consumes) {
        consuming.set(
          partition,
          servers.map((server) => this.names.servers.name(server)),
        );
      } else {
        idle.add(partition);
      }
    }
    for (const partition of consuming.keys()) idle.delete(partition);
    return { consumingPartitions: consuming, idlePartitions: [...idle].toSorted((a, b) => a - b) };
  }

  #partitions(): { partitions: Map<number, string[]>; unknown: number } {
    const found = new Map<number, Set<number>>();
    let unknown = 0;
    for (let segment = 0; segment < this.size; segment += 1) {
      const partition = partitionOf(this.segments.name(segment));
      if (partition === undefined) {
        unknown += 1;
        continue;
      }
      const servers = found.get(partition) ?? new Set<number>();
      for (const server of this.placed(segment).servers) servers.add(server);
      found.set(partition, servers);
    }
    const partitions = new Map<number, string[]>();
    for (const [partition, servers] of [...found].toSorted(([a], [b]) => a - b)) {
      partitions.set(partition, [...servers].map((server) => this.names.servers.name(server)).toSorted());
    }
    return { partitions, unknown };
  }
}

/**
 * The stream partition in a segment's name: `<table>__<partition>__<sequence>__<time>` for a consumed segment,
 * `<prefix>__<table>__<partition>__<time>__<suffix>` for one that was uploaded to a realtime table.
 */
export function partitionOf(segment: string): number | undefined {
  const parts = segment.split('__');
  const partition = parts.length === 4 ? parts[1] : parts.length === 5 ? parts[2] : undefined;
  return partition !== undefined && /^[0-9]+$/u.test(partition) ? Number(partition) : undefined;
}

/** The stream partition of a segment that was consumed, not uploaded. */
function consumedPartitionOf(segment: string): number | undefined {
  return segment.split('__').length === 4 ? partitionOf(segment) : undefined;
}

/** The number of names, and the first few of them. */
export function sampleOf(names: readonly string[]): { count: number; names: readonly string[] } {
  return { count: names.length, names: names.slice(0, MAX_NAMES) };
}
