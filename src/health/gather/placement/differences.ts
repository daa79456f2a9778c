import type { ReplicaFault, ViewDifference } from '../../snapshot.ts';
import { sampleOf, type Layout } from './layout.ts';
import type { Placement, Placements } from './placements.ts';

/** Groups of faulty replicas that are kept of a table, those with the most segments. */
const MAX_GROUPS = 20;
/** Names of segments that are kept of a group. */
const MAX_GROUP_NAMES = 3;
const MAX_STATE_LENGTH = 32;
/** No placement. */
const ABSENT = -1;

interface Replica {
  readonly server: number;
  readonly state: string;
}

/** How a segment differs. */
interface Fault {
  readonly unserved: boolean;
  readonly replicas: readonly Replica[];
}

interface Group {
  readonly server: number;
  readonly state: string;
  count: number;
  readonly names: string[];
}

/** The segments of a table whose external view differs from the ideal state. */
export class Differences {
  /** Names of all of them. */
  readonly names: string[] = [];
  readonly #layout: Layout;
  readonly #viewPlacements: Placements;
  /** Placement ids by the index of the name; ABSENT if the document does not have the segment. */
  readonly #ideal: number[] = [];
  readonly #view: number[] = [];
  /** The key is both placements: a table has few of them. */
  readonly #faults = new Map<string, Fault>();

  constructor(layout: Layout, viewPlacements: Placements) {
    this.#layout = layout;
    this.#viewPlacements = viewPlacements;
  }

  add(name: string, ideal: number, view: number): void {
    this.names.push(name);
    this.#ideal.push(ideal);
    this.#view.push(view);
  }

  /** Adds the segments of the ideal state that are not in the external view. */
  addMissing(seen: ReadonlySet<number>): void {
    const layout = this.#layout;
    for (let segment = 0; segment < layout.size; segment += 1) {
      if (layout.placed(segment).weight === 0 || seen.has(segment)) continue;
      this.add(layout.segments.name(segment), layout.placementOf(segment), ABSENT);
    }
  }

  /** @param among only segments with these names @param viewMissing whether the table has no external view */
  summary(viewMissing: boolean, among?: ReadonlySet<string>): ViewDifference {
    const names: string[] = [];
    const unserved: string[] = [];
    const groups = new Map<string, Group>();
    this.names.forEach((name, index) => {
      if (among !== undefined && !among.has(name)) return;
      names.push(name);
      const fault = this.#faultOf(this.#ideal[index] as number, this.#view[index] as number);
      if (fault.unserved) unserved.push(name);
      for (const { server, state } of fault.replicas) count(groups, server, state, name);
    });
    const sorted = [...groups.values()].toSorted((a, b) => b.count - a.count);
    return {
      viewMissing,
      segments: sampleOf(names),
      unserved: sampleOf(unserved),
      replicas: sorted.slice(0, MAX_GROUPS).map((group) => this.#fault(group)),
      moreReplicaGroups: Math.max(0, sorted.length - MAX_GROUPS),
    };
  }

  #faultOf(idealId: number, viewId: number): Fault {
    const key = `${idealId} ${viewId}`;
    const known = this.#faults.get(key);
    if (known !== undefined) return known;
    const ideal = this.#layout.placements.all[idealId];
    const view = this.#viewPlacements.all[viewId];
    const unserved = ideal !== undefined && ideal.weight !== 0 && !isServed(view);
    const fault = { unserved, replicas: this.#replicas(ideal, view) };
    this.#faults.set(key, fault);
    return fault;
  }

  /** The servers whose replica differs, with its state in the external view. */
  #replicas(ideal: Placement | undefined, view: Placement | undefined): Replica[] {
    const faults: Replica[] = [];
    ideal?.servers.forEach((server, index) => {
      const at = view?.servers.indexOf(server) ?? ABSENT;
      if (at < 0) faults.push({ server, state: view?.offline.includes(server) === true ? 'OFFLINE' : 'missing' });
      else if (view?.states[at] !== ideal.states[index]) {
        faults.push({ server, state: this.#stateName(view?.states[at] ?? 0) });
      }
    });
    for (const server of view?.servers ?? []) {
      if (ideal?.servers.includes(server) !== true) faults.push({ server, state: 'unexpected' });
    }
    return faults;
  }

  #stateName(state: number): string {
    return this.#viewPlacements.stateName(state).slice(0, MAX_STATE_LENGTH);
  }

  #fault({ server, state, count: segments, names }: Group): ReplicaFault {
    return { server: this.#layout.names.servers.name(server), state, segments: { count: segments, names } };
  }
}

function isServed(view: Placement | undefined): boolean {
  return view !== undefined && (view.consuming || view.online);
}

function count(groups: Map<string, Group>, server: number, state: string, name: string): void {
  const key = `${server} ${state}`;
  const group = groups.get(key) ?? { server, state, count: 0, names: [] };
  groups.set(key, group);
  group.count += 1;
  if (group.names.length < MAX_GROUP_NAMES) group.names.push(name);
}
