import type { Assignment, ServerLoad } from '../snapshot.ts';
import { ByteInterner } from './byte-interner.ts';
import { tokenIs, type JsonVisitor } from './json-scanner.ts';

/** A segment that one of two documents lacks; its weight can be no other's. */
const ABSENT = -1;
const MAX_NAMES = 10;
const OFFLINE = Buffer.from('OFFLINE');
const ONLINE = Buffer.from('ONLINE');
const CONSUMING = Buffer.from('CONSUMING');
/** The state of nearly all replicas; others are numbered from 1. */
const ONLINE_STATE = 0;
const LOW_BITS = 2 ** 16;

/**
 * Where the ideal state of one table puts its segments. Lives only while that table is read: it knows each segment by name, which the
 * external view, the metadata and the sizes are held against as they stream by.
 */
export class Layout {
  /** False where the table has no ideal state at all. */
  found = false;
  /** The document as it came, for comparison; empty where it is too large to be kept. */
  raw: readonly Buffer[] = [];
  readonly segments = new ByteInterner();
  readonly servers = new ByteInterner();
  readonly states = new ByteInterner();
  /** By segment: a sum over its replicas, the same for the same servers in the same states, in whatever order. */
  readonly weights: number[] = [];
  /** By segment: index into `sets`. */
  readonly setOf: number[] = [];
  /** Distinct sets of servers that hold a segment together. */
  readonly sets: number[][] = [];
  /** By segment: 1 while it is consuming. */
  readonly consuming: number[] = [];
  readonly #setByKey = new Map<number | string, number>();
  readonly #weights: number[][] = [];

  /** A number of 42 bits that stands for one replica, so that the sum over two thousand of them is exact; two sums are equal by chance once in 2⁴². */
  replicaWeight(server: number, state: number): number {
    const row = (this.#weights[server] ??= []);
    return (row[state] ??= scattered(server, state));
  }

  add(segment: number, replicas: Replicas): void {
    this.weights[segment] = replicas.weight;
    this.consuming[segment] = replicas.consuming ? 1 : 0;
    const key = setKey(replicas.servers);
    let set = this.#setByKey.get(key);
    if (set === undefined) {
      set = this.sets.length;
      this.sets.push(replicas.servers.slice());
      this.#setByKey.set(key, set);
    }
    this.setOf[segment] = set;
  }

  /** Names of the segments that some server should hold. */
  expected(): string[] {
    const names: string[] = [];
    this.weights.forEach((weight, segment) => {
      if (weight !== 0) names.push(this.segments.name(segment));
    });
    return names;
  }

  /** Numbers of the servers that hold the segment. */
  serversOf(segment: number): readonly number[] {
    return this.sets[this.setOf[segment] ?? -1] ?? [];
  }

  /** Spreads amounts by set of servers over the servers' names. */
  byServer(amountBySet: ArrayLike<number>): Map<string, number> {
    const result = new Map<string, number>();
    this.sets.forEach((servers, set) => {
      for (const server of servers) {
        const name = this.servers.name(server);
        result.set(name, (result.get(name) ?? 0) + (amountBySet[set] ?? 0));
      }
    });
    return result;
  }

  /** @param keyed true for tables whose partitions matter: upsert and deduplication */
  assignment(keyed: boolean): Assignment {
    const segmentsBySet = new Float64Array(this.sets.length);
    const consumingBySet = new Float64Array(this.sets.length);
    let consumingSegments = 0;
    let segments = 0;
    for (let segment = 0; segment < this.setOf.length; segment += 1) {
      const set = this.setOf[segment] ?? 0;
      const consumes = this.consuming[segment] ?? 0;
      segments += 1;
      consumingSegments += consumes;
      segmentsBySet[set] = (segmentsBySet[set] ?? 0) + 1;
      consumingBySet[set] = (consumingBySet[set] ?? 0) + consumes;
    }
    const consuming = this.byServer(consumingBySet);
    const servers = new Map<string, ServerLoad>();
    for (const [server, count] of this.byServer(segmentsBySet)) {
      servers.set(server, { segments: count, consuming: consuming.get(server) ?? 0 });
    }
    const partitions = keyed ? this.#partitions() : { partitions: new Map<number, string[]>(), unknown: 0 };
    return {
      segments,
      consumingSegments,
      servers,
      partitions: partitions.partitions,
      segmentsWithoutPartition: partitions.unknown,
    };
  }

  #partitions(): { partitions: Map<number, string[]>; unknown: number } {
    const found = new Map<number, Set<number>>();
    let unknown = 0;
    for (let segment = 0; segment < this.setOf.length; segment += 1) {
      const partition = partitionOf(this.segments.name(segment));
      if (partition === undefined) {
        unknown += 1;
        continue;
      }
      const servers = found.get(partition) ?? new Set<number>();
      for (const server of this.serversOf(segment)) servers.add(server);
      found.set(partition, servers);
    }
    const partitions = new Map<number, string[]>();
    for (const [partition, servers] of [...found].toSorted(([a], [b]) => a - b)) {
      partitions.set(partition, [...servers].map((server) => this.servers.name(server)).toSorted());
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

/** What stands for a list of servers: for up to three of the first thousand a small integer, which a map finds fastest. */
function setKey(servers: readonly number[]): number | string {
  if (servers.length > 3) return servers.join(' ');
  let key = servers.length;
  for (const server of servers) {
    if (server >= 512) return servers.join(' ');
    key = key * 512 + server;
  }
  return key;
}

/** Two rounds of a 32-bit finaliser over the pair, put together to 42 bits. */
function scattered(server: number, state: number): number {
  const seed = Math.imul(server + 1, 0x9e3779b1) ^ Math.imul(state + 1, 0x85ebca6b);
  return (finalised(seed) % LOW_BITS) * 2 ** 26 + (finalised(seed ^ 0x5bd1e995) % 2 ** 26);
}

function finalised(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

interface Replicas {
  readonly servers: readonly number[];
  readonly weight: number;
  readonly consuming: boolean;
}

/** Reads `{"OFFLINE": {segment: {server: state}} | null, "REALTIME": …}`, of which the one type matters. */
abstract class StateVisitor implements JsonVisitor {
  /** True where the table has a document of this type at all. */
  found = false;
  protected readonly layout: Layout;
  readonly #type: Buffer;
  #relevant = false;
  #server = 0;
  readonly #servers: number[] = [];
  #weight = 0;
  #consuming = false;

  constructor(layout: Layout, type: string) {
    this.layout = layout;
    this.#type = Buffer.from(type);
  }

  protected abstract segment(bytes: Buffer, start: number, end: number): void;
  protected abstract done(replicas: Replicas): void;

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 1) this.#relevant = tokenIs(bytes, start, end, this.#type);
    if (!this.#relevant) return;
    if (depth === 2) {
      this.found = true;
      this.#servers.length = 0;
      this.#weight = 0;
      this.#consuming = false;
      this.segment(bytes, start, end);
    } else if (depth === 3) {
      this.#server = this.layout.servers.intern(bytes, start, end);
    }
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (!this.#relevant || depth !== 3) return;
    const { layout } = this;
    let state = ONLINE_STATE;
    if (!tokenIs(bytes, start, end, ONLINE)) {
      // Offline in the ideal state and absent from the external view are the same.
      if (tokenIs(bytes, start, end, OFFLINE)) return;
      if (tokenIs(bytes, start, end, CONSUMING)) this.#consuming = true;
      state = 1 + layout.states.intern(bytes, start, end);
    }
    this.#servers.push(this.#server);
    this.#weight += layout.replicaWeight(this.#server, state);
  }

  endObject(depth: number): void {
    if (!this.#relevant) return;
    if (depth === 2) this.found = true;
    if (depth === 3) {
      this.done({
        servers: this.#servers,
        weight: this.#weight,
        consuming: this.#consuming,
      });
    }
  }
}

export class IdealStateVisitor extends StateVisitor {
  #segment = 0;

  protected override segment(bytes: Buffer, start: number, end: number): void {
    this.#segment = this.layout.segments.intern(bytes, start, end);
  }

  protected override done(replicas: Replicas): void {
    this.layout.add(this.#segment, replicas);
  }
}

/** Holds an external view against a layout. */
export class ExternalViewVisitor extends StateVisitor {
  readonly #seen = new Set<number>();
  readonly #differing: string[] = [];
  #segment = ABSENT;
  #unknown = '';

  protected override segment(bytes: Buffer, start: number, end: number): void {
    this.#segment = this.layout.segments.lookup(bytes, start, end);
    this.#unknown = this.#segment === ABSENT ? bytes.toString('utf8', start, end) : '';
  }

  protected override done({ weight }: Replicas): void {
    if (this.#segment === ABSENT) {
      // Gone from the ideal state and still served; with no replica left it is as good as gone.
      if (weight !== 0) this.#differing.push(this.#unknown);
      return;
    }
    this.#seen.add(this.#segment);
    if (weight !== this.layout.weights[this.#segment]) this.#differing.push(this.layout.segments.name(this.#segment));
  }

  /** Names of all segments that differ. */
  differing(): string[] {
    const { weights, segments } = this.layout;
    const missing: string[] = [];
    for (let segment = 0; segment < weights.length; segment += 1) {
      if (weights[segment] !== 0 && !this.#seen.has(segment)) missing.push(segments.name(segment));
    }
    return [...this.#differing, ...missing];
  }
}

/** The first few names, and how many there are. */
export function sampleOf(names: readonly string[]): { count: number; names: readonly string[] } {
  return { count: names.length, names: names.slice(0, MAX_NAMES) };
}
