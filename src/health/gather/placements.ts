import { ByteInterner } from './byte-interner.ts';
import { tokenIs } from './json-scanner.ts';

const OFFLINE = Buffer.from('OFFLINE');
const ONLINE = Buffer.from('ONLINE');
const CONSUMING = Buffer.from('CONSUMING');
/** The state of nearly all replicas; others are numbered from 1. */
const ONLINE_STATE = 0;
const LOW_BITS = 2 ** 16;

/** Where the replicas of a segment are. */
export interface Placement {
  /** Numbers of the servers. */
  readonly servers: readonly number[];
  /** A sum over the replicas, the same for the same servers in the same states, in whatever order. */
  readonly weight: number;
  readonly consuming: boolean;
}

/** Numbers of servers and of states, the same in all documents of a table. */
export class Names {
  readonly servers = new ByteInterner();
  readonly states = new ByteInterner();
}

/**
 * The distinct placements of the segments in one document. A table has few of them: an object that says the same, byte by byte, as one before is
 * not read again.
 */
export class Placements {
  readonly all: Placement[] = [];
  readonly #names: Names;
  readonly #byWeight = new Map<number, number>();
  readonly #objects = new ByteInterner();
  /** By object: its placement. */
  readonly #byObject: number[] = [];
  readonly #weights: number[][] = [];
  #servers: number[] = [];
  #weight = 0;
  #consuming = false;
  #server = 0;

  constructor(names: Names) {
    this.#names = names;
  }

  /** The placement of an object of which all members are at hand; see `JsonVisitor.members`. */
  ofMembers(bytes: Buffer, marks: Uint32Array, from: number, to: number): number {
    const start = marks[from] as number;
    const end = marks[to - 1] as number;
    const known = this.#objects.lookup(bytes, start, end);
    if (known >= 0) return this.#byObject[known] as number;
    this.begin();
    this.addMembers(bytes, marks, from, to);
    const placement = this.end();
    this.#byObject[this.#objects.add(bytes, start, end)] = placement;
    return placement;
  }

  /** Begins an object that comes member by member. */
  begin(): void {
    this.#servers = [];
    this.#weight = 0;
    this.#consuming = false;
  }

  addMembers(bytes: Buffer, marks: Uint32Array, from: number, to: number): void {
    for (let mark = from; mark < to; mark += 4) {
      this.server(bytes, (marks[mark] as number) + 1, marks[mark + 1] as number);
      this.state(bytes, (marks[mark + 2] as number) + 1, marks[mark + 3] as number);
    }
  }

  server(bytes: Buffer, start: number, end: number): void {
    this.#server = this.#names.servers.intern(bytes, start, end);
  }

  state(bytes: Buffer, start: number, end: number): void {
    let state = ONLINE_STATE;
    if (!tokenIs(bytes, start, end, ONLINE)) {
      // Offline in the ideal state and absent from the external view are the same.
      if (tokenIs(bytes, start, end, OFFLINE)) return;
      if (tokenIs(bytes, start, end, CONSUMING)) this.#consuming = true;
      state = 1 + this.#names.states.intern(bytes, start, end);
    }
    this.#servers.push(this.#server);
    this.#weight += this.#replicaWeight(this.#server, state);
  }

  /** The placement of the object that ends here. */
  end(): number {
    const known = this.#byWeight.get(this.#weight);
    if (known !== undefined) return known;
    const id = this.all.length;
    this.all.push({ servers: this.#servers, weight: this.#weight, consuming: this.#consuming });
    this.#byWeight.set(this.#weight, id);
    return id;
  }

  /** A number of 42 bits that stands for one replica, so that the sum over two thousand of them is exact; two sums are equal by chance once in 2⁴². */
  #replicaWeight(server: number, state: number): number {
    const row = (this.#weights[server] ??= []);
    return (row[state] ??= scattered(server, state));
  }
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
