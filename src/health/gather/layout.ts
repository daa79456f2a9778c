import { releasePiece } from '../../engine/wire/slabs.ts';
import type { Assignment, ServerLoad } from '../snapshot.ts';
import { ByteInterner, grown } from './byte-interner.ts';
import { Names, Placements, type Placement } from './placements.ts';

/** How many names stand for all that were counted. */
export const MAX_NAMES = 10;

/**
 * Where the ideal state of one table puts its segments. Lives only while that table is read: it knows each segment by name, which the
 * external view, the metadata and the sizes are held against as they stream by.
 */
export class Layout {
  /** False where the table has no ideal state at all. */
  found = false;
  /** The document as it came, for comparison, until `releaseDocument`; empty where it is too large to be kept. */
  raw: readonly Buffer[] = [];
  readonly names = new Names();
  readonly segments = new ByteInterner();
  readonly placements = new Placements(this.names);
  #placementOf = new Int32Array(256);

  get size(): number {
    return this.segments.size;
  }

  /** Gives the document's memory back: nothing is compared with it any more. */
  releaseDocument(): void {
    for (const piece of this.raw) releasePiece(piece);
    this.raw = [];
  }

  place(segment: number, placement: number): void {
    if (segment >= this.#placementOf.length) this.#placementOf = grown(this.#placementOf, segment * 2);
    this.#placementOf[segment] = placement;
  }

  /** Number of the segment's placement. */
  placementOf(segment: number): number {
    return this.#placementOf[segment] as number;
  }

  placed(segment: number): Placement {
    return this.placements.all[this.#placementOf[segment] as number] as Placement;
  }

  /** Names of the segments that some server should hold. */
  expected(): string[] {
    const names: string[] = [];
    for (let segment = 0; segment < this.size; segment += 1) {
      if (this.placed(segment).weight !== 0) names.push(this.segments.name(segment));
    }
    return names;
  }

  /** Spreads amounts by placement over the servers' names. */
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

  /** @param keyed true for tables whose partitions matter: upsert and deduplication */
  assignment(keyed: boolean): Assignment {
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
    };
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
 * The stream partition of a segment: `table__P__sequence__time` of a consumed one, `prefix__table__P__time__suffix` of one
 * that was uploaded to a realtime table.
 */
export function partitionOf(segment: string): number | undefined {
  const parts = segment.split('__');
  const partition = parts.length === 4 ? parts[1] : parts.length === 5 ? parts[2] : undefined;
  return partition !== undefined && /^[0-9]+$/u.test(partition) ? Number(partition) : undefined;
}

/** The first few names, and how many there are. */
export function sampleOf(names: readonly string[]): { count: number; names: readonly string[] } {
  return { count: names.length, names: names.slice(0, MAX_NAMES) };
}
