import { NOT_READ, type Assignment } from '../../snapshot.ts';
import { KEPT_PARTS, type ClusterStamps, type KeptPart } from '../cluster/cluster-stamps.ts';
import type { TableState } from './table-documents.ts';

/** Entries of all maps that are kept; each takes about 120 bytes. Tables beyond it are read in each run. */
const MAX_ENTRIES = 500_000;

interface KeptReading {
  readonly stamp: string;
  /** Start of the run that read it, by the monotonic clock. */
  readonly readAt: number;
  /** What is assigned to the state of the table. */
  readonly parts: Partial<TableState>;
}

interface KeptTable {
  readonly readings: Map<KeptPart, KeptReading>;
  entries: number;
  /** Whether the last run that read it saw segments that need a reload. */
  reloadNeeded: boolean;
}

/** What one run needs to use the readings of earlier runs, and to keep its own. */
export interface RunStamps {
  readonly stamps: ClusterStamps;
  /** Start of the run, by the monotonic clock; milliseconds. */
  readonly now: number;
  /** Readings of this age, in milliseconds, are not used any more. */
  readonly maxAgeMs: number;
}

/**
 * Readings of earlier runs that are still valid. A difference from the external view, a needed reload or a needed rebalance is not kept:
 * each run looks again whether it is still there, because a repair can leave no trace. What is kept are counts by table and server; no names of segments except those of consuming ones.
 */
export class KeptReadings {
  readonly #tables = new Map<string, KeptTable>();
  readonly #maxEntries: number;
  #entries = 0;
  #identity = '';
  #lastTransaction = 0;

  /** @param maxEntries limit for tests */
  constructor(maxEntries = MAX_ENTRIES) {
    this.#maxEntries = maxEntries;
  }

  /** Number of tables of which readings are kept. */
  get size(): number {
    return this.#tables.size;
  }

  /** Forgets all readings if they are of another cluster, or of a later state of the same one. */
  begin({ identity, lastTransaction }: ClusterStamps): void {
    if (identity !== this.#identity || lastTransaction < this.#lastTransaction) this.clear();
    this.#identity = identity;
    this.#lastTransaction = lastTransaction;
  }

  clear(): void {
    this.#tables.clear();
    this.#entries = 0;
  }

  /** Puts the valid readings into the states, and forgets the tables that do not exist any more. */
  recall(states: readonly TableState[], needed: ReadonlySet<string>, run: RunStamps): void {
    const names = new Set(states.map(({ entry }) => entry.name));
    for (const name of this.#tables.keys()) if (!names.has(name)) this.#forget(name);
    for (const state of states) {
      const readings = this.#valid(state, run);
      const missing = LAYOUT_PARTS.some((part) => isNeeded(part, needed) && !readings.has(part));
      // These are read by comparison with the ideal state, which is then read anyway.
      if (missing) readings.delete('assignment');
      for (const { parts } of readings.values()) Object.assign(state, parts);
      state.kept = new Set(readings.keys());
    }
  }

  /** Keeps what the run has read of the tables. */
  keep(states: readonly TableState[], run: RunStamps): void {
    for (const state of states) {
      const { assignment, entry } = state;
      if (!assignment.ok || !state.enabled) {
        this.#forget(entry.name);
        continue;
      }
      const table = this.#tables.get(entry.name) ?? { readings: new Map(), entries: 0, reloadNeeded: false };
      for (const part of KEPT_PARTS) {
        // A run reads sizes before it sees the end of a reload: they can be those of files that the reload has deleted since.
        const parts = part === 'size' && table.reloadNeeded ? undefined : PARTS[part](state);
        const stamp = run.stamps.stamp(part, entry, assignment.value.servers.keys());
        if (parts === undefined || stamp === undefined) table.readings.delete(part);
        else if (parts !== 'unread' && !state.kept.has(part))
          table.readings.set(part, { stamp, readAt: run.now, parts });
      }
      if (state.reload.ok) table.reloadNeeded = state.reload.value.needed.count > 0;
      this.#store(entry.name, table);
    }
  }

  #valid(state: TableState, { stamps, now, maxAgeMs }: RunStamps): Map<KeptPart, KeptReading> {
    const valid = new Map<KeptPart, KeptReading>();
    const kept = this.#tables.get(state.entry.name)?.readings;
    const assignment = kept?.get('assignment')?.parts.assignment;
    if (kept === undefined || assignment?.ok !== true) return valid;
    for (const [part, reading] of kept) {
      const isYoung = now - reading.readAt < maxAgeMs;
      const stamp = isYoung ? stamps.stamp(part, state.entry, assignment.value.servers.keys()) : undefined;
      if (stamp === reading.stamp) valid.set(part, reading);
    }
    return valid.has('assignment') ? valid : new Map<KeptPart, KeptReading>();
  }

  #store(name: string, table: KeptTable): void {
    this.#forget(name);
    table.entries = 0;
    for (const { parts } of table.readings.values()) table.entries += entriesOf(parts);
    if (table.readings.size === 0 || this.#entries + table.entries > this.#maxEntries) return;
    this.#tables.set(name, table);
    this.#entries += table.entries;
  }

  #forget(name: string): void {
    this.#entries -= this.#tables.get(name)?.entries ?? 0;
    this.#tables.delete(name);
  }
}

/** Parts whose reading needs the layout of the table. */
const LAYOUT_PARTS = ['externalView', 'segmentMetadata', 'size'] as const;

function isNeeded(part: KeptPart, needed: ReadonlySet<string>): boolean {
  return needed.has(part) || (part === 'segmentMetadata' && (needed.has('consumingRows') || needed.has('files')));
}

/**
 * What is kept of each part: undefined if it failed or shows a fault, `unread` if the run did not need it.
 */
const PARTS: Readonly<Record<KeptPart, (state: TableState) => Partial<TableState> | undefined | 'unread'>> = {
  assignment: ({ assignment }) => ({ assignment }),
  externalView: ({ difference }) => {
    if (!difference.ok) return unreadOr(difference);
    return difference.value.viewMissing || difference.value.segments.count > 0 ? undefined : { difference };
  },
  segmentMetadata: ({ segments, consumingStarts, orphans }) => {
    if (!segments.ok) return unreadOr(segments);
    return orphans.isEmpty ? { segments, consumingStarts } : undefined;
  },
  files: ({ files }) => {
    if (!files.ok) return unreadOr(files);
    return files.value.missing.count > 0 ? undefined : { files };
  },
  // A reload changes the sizes, and no node in ZooKeeper.
  size: ({ size, reload }) => {
    if (!size.ok) return unreadOr(size);
    return size.value.incomplete !== undefined || (reload.ok && reload.value.needed.count > 0) ? undefined : { size };
  },
  reload: ({ reload }) => {
    if (!reload.ok) return unreadOr(reload);
    // Which replica is seen differs from one reading to the next.
    const { needed, silent, oneReplica } = reload.value;
    return needed.count > 0 || silent.length > 0 || oneReplica ? undefined : { reload };
  },
  rebalance: ({ rebalance }) => {
    if (!rebalance.ok) return unreadOr(rebalance);
    return rebalance.value.needed ? undefined : { rebalance };
  },
};

function unreadOr(read: unknown): undefined | 'unread' {
  return read === NOT_READ ? 'unread' : undefined;
}

function entriesOf({ assignment, segments, consumingStarts, size }: Partial<TableState>): number {
  let entries = 1;
  if (assignment?.ok === true) entries += assignment.value.servers.size + partitionEntries(assignment.value);
  if (segments?.ok === true) entries += segments.value.documents.size + segments.value.packedBytes.size;
  if (size?.ok === true) entries += size.value.bytes.size;
  return entries + (consumingStarts?.size ?? 0);
}

function partitionEntries({ partitions, consumingPartitions, idlePartitions }: Assignment): number {
  let entries = idlePartitions.length;
  for (const servers of [...partitions.values(), ...consumingPartitions.values()]) entries += 1 + servers.length;
  return entries;
}
