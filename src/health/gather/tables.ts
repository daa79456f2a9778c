import type { Engine } from '../../engine/types.ts';
import type { Need } from '../check.ts';
import type { GatherRequest } from '../run.ts';
import {
  NOT_READ,
  readFailed,
  readOk,
  type Assignment,
  type PrimaryKeys,
  type QueryOutcome,
  type Read,
  type SegmentSummary,
  type SizeSummary,
  type TableSnapshot,
  type ViewDifference,
} from '../snapshot.ts';
import type { ClusterCalls } from './cluster.ts';
import type { SchemaEntry, TableEntry } from './configs.ts';
import { TableCalls } from './fan-outs.ts';
import { sampleOf, type Layout } from './layout.ts';
import { ExternalViewReading, IdealStateReading } from './state-readings.ts';
import { StatusError, type Reader } from './reader.ts';
import { SegmentMetadataVisitor, type MetadataShape } from './segment-metadata.ts';
import { readSizes } from './sizes.ts';

/** How many tables are read at once: each holds the names of its segments while it is read. */
const TABLES_AT_ONCE = 6;
const DOCUMENT_TIMEOUT_MS = 60_000;

export interface TablesGathererOptions {
  readonly reader: Reader;
  readonly calls: ClusterCalls;
  readonly engine: Engine;
  readonly request: GatherRequest;
  readonly schemas: Read<ReadonlyMap<string, SchemaEntry>>;
  /** Of the engine; undefined where it does not tell. */
  readonly version: string | undefined;
  readonly settleMs: number;
  /** So many steps were done, and so many more are to do. */
  readonly progress: (done: number, more?: number) => void;
}

export interface GatheredTables {
  readonly tables: Read<readonly TableSnapshot[]>;
  readonly brokerResource: Read<ReadonlyMap<string, readonly string[]>>;
  readonly queries: ReadonlyMap<string, Read<QueryOutcome>>;
}

/** What is known of a table after its documents were read and before its servers are asked. */
interface TableState {
  readonly entry: TableEntry;
  enabled: boolean;
  assignment: Read<Assignment>;
  difference: Read<ViewDifference>;
  /** Names of all segments that differed at the first look. */
  differing: ReadonlySet<string>;
  segments: Read<SegmentSummary>;
  size: Read<SizeSummary>;
  consumingOffsets: ReadonlyMap<string, number>;
}

/** Reads the tables: their documents first, a second look at what may be passing, then what their servers tell. */
export class TablesGatherer {
  readonly #options: TablesGathererOptions;
  readonly #reader: Reader;
  readonly #tableCalls: TableCalls;
  /** Releases since 1.0 tell segments' metadata in a quarter fewer bytes; one that does not is asked for it once. */
  #hasTerseMetadata: boolean;

  constructor(options: TablesGathererOptions) {
    this.#options = options;
    this.#reader = options.reader;
    this.#hasTerseMetadata = majorVersion(options.version) >= 1;
    this.#tableCalls = new TableCalls(
      options.reader,
      options.engine,
      options.calls,
      majorVersion(options.version) >= 1,
    );
  }

  async gather(entries: readonly TableEntry[]): Promise<GatheredTables> {
    this.#options.progress(0, entries.length * 2);
    const [states, firstResource] = await Promise.all([
      pooled(entries, TABLES_AT_ONCE, async (entry) => {
        const state = await this.#documents(entry);
        this.#options.progress(1);
        return state;
      }),
      this.#brokerResource(),
    ]);
    const brokerResource = await this.#settle(states, firstResource);
    await pooled(states, TABLES_AT_ONCE, (state) => this.#enabled(state));
    const queries = new Map<string, Read<QueryOutcome>>();
    const [tables] = await Promise.all([
      pooled(states, TABLES_AT_ONCE, async (state) => {
        const table = await this.#fanOut(state);
        this.#options.progress(1);
        return table;
      }),
      this.#queries(states, queries),
    ]);
    return { tables: readOk(await this.#remaining(tables)), brokerResource, queries };
  }

  #needs(...needs: Need[]): boolean {
    return needs.some((need) => this.#options.request.needs.has(need));
  }

  /** Ideal state, external view and segments' metadata, one after the other, for the later are held against the first. */
  async #documents(entry: TableEntry): Promise<TableState> {
    const state: TableState = {
      entry,
      enabled: true,
      assignment: NOT_READ,
      difference: NOT_READ,
      differing: new Set(),
      segments: NOT_READ,
      size: NOT_READ,
      consumingOffsets: new Map(),
    };
    if (!this.#needs('assignment')) return state;
    const layout = await this.#reader.read(() => this.#idealState(entry));
    if (!layout.ok) {
      const failed = readFailed(layout.error);
      return { ...state, assignment: failed, difference: failed, segments: failed, size: failed };
    }
    const keyed = entry.config.upsert || entry.config.dedup;
    state.assignment = readOk(layout.value.assignment(keyed));
    if (this.#needs('externalView')) await this.#compare(state, layout.value);
    if (this.#needs('segmentMetadata', 'consumingRows')) await this.#segments(state, layout.value);
    return state;
  }

  async #idealState(entry: TableEntry): Promise<Layout> {
    const layout = await this.#reader.chunks(
      this.#document(entry, 'idealstate'),
      () => new IdealStateReading(entry.type),
    );
    if (!layout.found) throw new Error('the table has no ideal state');
    return layout;
  }

  async #compare(state: TableState, layout: Layout): Promise<void> {
    const view = await this.#reader.read(() => this.#differing(state.entry, layout));
    if (!view.ok) {
      state.difference = view;
      return;
    }
    state.differing = new Set(view.value.names);
    state.difference = readOk({ viewMissing: view.value.missing, segments: sampleOf(view.value.names) });
  }

  async #differing(entry: TableEntry, layout: Layout): Promise<{ names: string[]; missing: boolean }> {
    try {
      const call = this.#document(entry, 'externalview');
      return await this.#reader.chunks(call, () => new ExternalViewReading(layout, entry.type));
    } catch (error) {
      // Some releases answer so for a table whose view was not made yet.
      if (!(error instanceof StatusError && error.status === 404)) throw error;
      return { names: layout.expected(), missing: true };
    }
  }

  #document(entry: TableEntry, document: 'idealstate' | 'externalview') {
    const path = `/tables/${encodeURIComponent(entry.name)}/${document}`;
    return this.#options.calls.call(document, path, { timeoutMs: DOCUMENT_TIMEOUT_MS });
  }

  async #segments(state: TableState, layout: Layout): Promise<void> {
    const { request, calls } = this.#options;
    const { smallSegmentBytes: smallBytes, smallSegmentFraction: smallFraction } = request;
    const { entry } = state;
    const metadata = await this.#reader.read(() => this.#segmentMetadata(entry, layout));
    if (!metadata.ok) {
      state.segments = metadata;
      state.size = metadata;
      return;
    }
    state.segments = readOk(metadata.value.summary());
    state.consumingOffsets = metadata.value.consumingOffsets;
    if (!this.#needs('size') || !state.segments.ok) return;
    const segments = state.segments.value;
    const call = (verbose: boolean) =>
      calls.call('table_size', `/tables/${encodeURIComponent(entry.name)}/size?verbose=${verbose}`, {
        timeoutMs: DOCUMENT_TIMEOUT_MS,
      });
    state.size = await this.#reader.read(() =>
      readSizes(this.#reader, call, { layout, segments }, { smallBytes, smallFraction }),
    );
  }

  async #segmentMetadata(entry: TableEntry, layout: Layout): Promise<SegmentMetadataVisitor> {
    const { calls, request } = this.#options;
    const visitor = (shape: MetadataShape) => new SegmentMetadataVisitor(layout, request.smallSegmentBytes, shape);
    try {
      if (this.#hasTerseMetadata)
        return await this.#reader.stream(calls.terseMetadata(entry.name), () => visitor('map'));
    } catch (error) {
      if (!(error instanceof StatusError && error.status === 404)) throw error;
      this.#hasTerseMetadata = false;
    }
    try {
      return await this.#reader.stream(calls.segmentMetadata(entry.name), () => visitor('nodes'));
    } catch (error) {
      // A table that never had a segment has no node for them.
      if (error instanceof StatusError && error.status === 404 && layout.setOf.length === 0) return visitor('nodes');
      throw error;
    }
  }

  async #brokerResource(): Promise<Read<ReadonlyMap<string, readonly string[]>>> {
    if (!this.#needs('brokerResource')) return NOT_READ;
    return this.#reader.read(() => this.#options.calls.brokerResource());
  }

  /**
   * A table that is being made, a segment that is being committed or pushed, a broker that is being told: for moments all of these look like
   * faults. So what differs is looked at once more, a few seconds later, and only what still differs counts.
   */
  async #settle(
    states: readonly TableState[],
    resource: Read<ReadonlyMap<string, readonly string[]>>,
  ): Promise<Read<ReadonlyMap<string, readonly string[]>>> {
    const doubtful = states.filter((state) => isDoubtful(state, this.#needs('externalView')));
    const unserved = resource.ok && states.some(({ entry }) => (resource.value.get(entry.name) ?? []).length === 0);
    if ((doubtful.length === 0 && !unserved) || this.#reader.signal.aborted) return resource;
    await this.#reader.read(() => this.#reader.sleep(this.#options.settleMs));
    await pooled(doubtful, TABLES_AT_ONCE, (state) => this.#lookAgain(state));
    return unserved ? this.#brokerResource() : resource;
  }

  async #lookAgain(state: TableState): Promise<void> {
    if (!state.assignment.ok) {
      Object.assign(state, await this.#documents(state.entry));
      return;
    }
    const again = await this.#reader.read(async () => {
      const layout = await this.#idealState(state.entry);
      return this.#differing(state.entry, layout);
    });
    if (!again.ok) {
      state.difference = again;
      return;
    }
    const lasting = again.value.names.filter((name) => state.differing.has(name));
    state.difference = readOk({ viewMissing: again.value.missing, segments: sampleOf(lasting) });
  }

  /** A disabled table holds nothing on purpose. Its view always differs, so only those that differ are asked. */
  async #enabled(state: TableState): Promise<void> {
    const suspicious = !state.difference.ok || state.difference.value.segments.count > 0;
    if (!this.#needs('assignment', 'queries', 'rebalance') || !suspicious) return;
    const enabled = await this.#reader.read(() => this.#tableCalls.enabled(state.entry));
    // A table whose state cannot be told is judged like any other.
    state.enabled = !enabled.ok || enabled.value;
  }

  async #fanOut(state: TableState): Promise<TableSnapshot> {
    const { entry, enabled, assignment, difference, segments, size } = state;
    const [reload, primaryKeys, consumingRows, rebalance] = enabled
      ? await Promise.all([
          this.#when('reload', assignment, (value) => this.#tableCalls.reload(entry, value, this.#schema(entry))),
          this.#primaryKeys(entry, assignment),
          this.#consumingRows(state),
          this.#when('rebalance', assignment, () => this.#tableCalls.rebalance(entry)),
        ])
      : [NOT_READ, NOT_READ, NOT_READ, NOT_READ];
    return {
      name: entry.name,
      rawName: entry.rawName,
      type: entry.type,
      config: entry.config,
      enabled,
      assignment,
      difference,
      segments,
      size,
      reload,
      primaryKeys,
      consumingRows,
      rebalance,
    };
  }

  /** Reads a part that builds on the assignment, where the part is asked for. */
  async #when<T>(need: Need, assignment: Read<Assignment>, work: (value: Assignment) => Promise<T>): Promise<Read<T>> {
    if (!this.#needs(need)) return NOT_READ;
    return assignment.ok ? this.#reader.read(() => work(assignment.value)) : assignment;
  }

  async #primaryKeys(entry: TableEntry, assignment: Read<Assignment>): Promise<Read<PrimaryKeys>> {
    if (!entry.config.upsert && !entry.config.dedup) return NOT_READ;
    return this.#when('primaryKeys', assignment, (value) => this.#tableCalls.primaryKeys(entry, value));
  }

  async #consumingRows(state: TableState): Promise<Read<ReadonlyMap<string, number>>> {
    const { entry, assignment, consumingOffsets } = state;
    return this.#when('consumingRows', assignment, async ({ consumingSegments }) =>
      consumingSegments === 0 ? new Map<string, number>() : this.#tableCalls.consumingRows(entry, consumingOffsets),
    );
  }

  #schema(entry: TableEntry): SchemaEntry | undefined {
    const { schemas } = this.#options;
    if (!schemas.ok) return undefined;
    return schemas.value.get(entry.rawName) ?? schemas.value.get(entry.config.schemaName ?? '');
  }

  /** One query for each table by its raw name: both parts of a hybrid table are one to a query. */
  async #queries(states: readonly TableState[], queries: Map<string, Read<QueryOutcome>>): Promise<void> {
    if (!this.#needs('queries')) return;
    const names = [...new Set(states.filter(({ enabled }) => enabled).map(({ entry }) => entry.rawName))];
    await pooled(names, TABLES_AT_ONCE, async (name) => {
      const outcome = await this.#reader.read(() => this.#tableCalls.queryHealth(name));
      queries.set(name, outcome);
    });
  }

  /** Tables that are still there: what was read of one that was deleted meanwhile says nothing. */
  async #remaining(tables: readonly TableSnapshot[]): Promise<readonly TableSnapshot[]> {
    if (tables.length === 0) return tables;
    const names = await this.#reader.read(() => this.#options.calls.tableNames());
    return names.ok ? tables.filter(({ name }) => names.value.has(name)) : tables;
  }
}

function majorVersion(version: string | undefined): number {
  return Number.parseInt(version ?? '0', 10);
}

function isDoubtful(state: TableState, viewRead: boolean): boolean {
  if (!state.assignment.ok) return state.assignment !== NOT_READ;
  if (!viewRead || !state.difference.ok) return false;
  return state.difference.value.segments.count > 0 || state.difference.value.viewMissing;
}

/** Maps with at most `limit` items in work at once; keeps their order. */
async function pooled<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
