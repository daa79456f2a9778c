import { ByteInterner } from '../calls/byte-interner.ts';
import { JsonScanner, tokenIs } from '../calls/json-scanner.ts';

const OFFLINE = Buffer.from('OFFLINE');
const ONLINE = Buffer.from('ONLINE');
const CONSUMING = Buffer.from('CONSUMING');
/** The id of `ONLINE`, the state of nearly all replicas; other states have ids from 1. */
const ONLINE_STATE = 0;
/** The id of `OFFLINE` in weights only: it is not in a placement's states. */
const OFFLINE_STATE = 1023;
const LOW_BITS = 2 ** 16;

/** The servers of a segment's replicas. */
export interface Placement {
  /** Ids of the servers in `Names`, without those whose replica is OFFLINE. */
  readonly servers: readonly number[];
  /** The state of each of the servers; see `Placements.stateName`. */
  readonly states: readonly number[];
  /** Ids of the servers whose replica is OFFLINE. */
  readonly offline: readonly number[];
  /** A sum over the replicas: equal for the same servers in the same states, in any order. */
  readonly weight: number;
  /** Whether a replica is ONLINE. */
  readonly online: boolean;
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
  #states: number[] = [];
  #offline: number[] = [];
  #weight = 0;
  #offlineWeight = 0;
  #consuming = false;
  #server = 0;

  constructor(names: Names) {
    this.#names = names;
  }

  /** The placement of the object `{server: state, …}` in these bytes. */
  ofObject(bytes: Buffer, start: number, end: number): number {
    const known = this.#objects.lookup(bytes, start, end);
    if (known >= 0) return this.#byObject[known] as number;
    this.#begin();
    const scanner = new JsonScanner({
      key: (json, from, to) => (this.#server = this.#names.servers.intern(json, from, to)),
      scalar: (json, from, to) => this.#addReplica(json, from, to),
    });
    scanner.push(bytes.subarray(start, end));
    scanner.end();
    const placement = this.#end();
    this.#byObject[this.#objects.add(bytes, start, end)] = placement;
    return placement;
  }

  #begin(): void {
    this.#servers = [];
    this.#states = [];
    this.#offline = [];
    this.#weight = 0;
    this.#offlineWeight = 0;
    this.#consuming = false;
  }

  /** Adds the replica on the last server in the state that the bytes name. */
  #addReplica(bytes: Buffer, start: number, end: number): void {
    let state = ONLINE_STATE;
    if (!tokenIs(bytes, start, end, ONLINE)) {
      // OFFLINE in the ideal state is equal to absence from the external view.
      if (tokenIs(bytes, start, end, OFFLINE)) {
        this.#offline.push(this.#server);
        this.#offlineWeight += this.#replicaWeight(this.#server, OFFLINE_STATE);
        return;
      }
      if (tokenIs(bytes, start, end, CONSUMING)) this.#consuming = true;
      state = 1 + this.#names.states.intern(bytes, start, end);
    }
    this.#servers.push(this.#server);
    this.#states.push(state);
    this.#weight += this.#replicaWeight(this.#server, state);
  }

  /** @returns the placement of the replicas that were added */
  #end(): number {
    const key = this.#weight + this.#offlineWeight;
    const known = this.#byWeight.get(key);
    if (known !== undefined) return known;
    const id = this.all.length;
    this.all.push({
      servers: this.#servers,
      states: this.#states,
      offline: this.#offline,
      weight: this.#weight,
      online: this.#states.includes(ONLINE_STATE),
      consuming: this.#consuming,
    });
    this.#byWeight.set(key, id);
    return id;
  }

  /** The name of a state of a placement. */
  stateName(state: number): string {
    return state === ONLINE_STATE ? 'ONLINE' : this.#names.states.name(state - 1);
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
