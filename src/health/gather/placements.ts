import { ByteInterner } from './byte-interner.ts';
import { tokenIs } from './json-scanner.ts';

const OFFLINE = Buffer.from('OFFLINE');
const ONLINE = Buffer.from('ONLINE');
const CONSUMING = Buffer.from('CONSUMING');
/** The id of `ONLINE`, the state of nearly all replicas; other states have ids from 1. */
const ONLINE_STATE = 0;
const LOW_BITS = 2 ** 16;

/** The servers of a segment's replicas. */
export interface Placement {
  /** Ids of the servers in `Names`. */
  readonly servers: readonly number[];
  /** A sum over the replicas: equal for the same servers in the same states, in any order. */
  readonly weight: number;
  readonly consuming: boolean;
}

/** Ids of servers and states, shared by all documents of a table. */
export class Names {
  readonly servers = new ByteInterner();
  readonly states = new ByteInterner();
}

/**
 * The distinct placements of the segments in one document. A table has few of them, so an object with the same bytes as an earlier one is not
 * parsed again.
 */
export class Placements {
  readonly all: Placement[] = [];
  readonly #names: Names;
  readonly #byWeight = new Map<number, number>();
  readonly #objects = new ByteInterner();
  /** Placement id by object id. */
  readonly #byObject: number[] = [];
  readonly #weights: number[][] = [];
  #servers: number[] = [];
  #weight = 0;
  #consuming = false;
  #server = 0;

  constructor(names: Names) {
    this.#names = names;
  }

  /** The placement of an object whose members came in one call; see `JsonVisitor.members`. */
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

  /** Starts an object whose members come in several calls. */
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
      // OFFLINE in the ideal state is equal to absence from the external view.
      if (tokenIs(bytes, start, end, OFFLINE)) return;
      if (tokenIs(bytes, start, end, CONSUMING)) this.#consuming = true;
      state = 1 + this.#names.states.intern(bytes, start, end);
    }
    this.#servers.push(this.#server);
    this.#weight += this.#replicaWeight(this.#server, state);
  }

  /** Ends the object and returns its placement. */
  end(): number {
    const known = this.#byWeight.get(this.#weight);
    if (known !== undefined) return known;
    const id = this.all.length;
    this.all.push({ servers: this.#servers, weight: this.#weight, consuming: this.#consuming });
    this.#byWeight.set(this.#weight, id);
    return id;
  }

  /** A pseudo-random 42-bit number for a replica: sums over 2,000 replicas are exact, and two different sums are equal with probability 2⁻⁴². */
  #replicaWeight(server: number, state: number): number {
    const row = (this.#weights[server] ??= []);
    return (row[state] ??= hash42(server, state));
  }
}

/** Two rounds of a 32-bit finalizer over the pair, combined to 42 bits. */
function hash42(server: number, state: number): number {
  const seed = Math.imul(server + 1, 0x9e3779b1) ^ Math.imul(state + 1, 0x85ebca6b);
  return (finalize(seed) % LOW_BITS) * 2 ** 26 + (finalize(seed ^ 0x5bd1e995) % 2 ** 26);
}

function finalize(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
