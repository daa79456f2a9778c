import type { Need } from '../../check.ts';
import type { GatherRequest } from '../../run/run.ts';
import { rounded } from '../../numbers.ts';
import {
  NOT_READ,
  readOk,
  type Assignment,
  type Consumption,
  type ConsumingRows,
  type FileSample,
  type PrimaryKeys,
  type Read,
  type RebalanceSummary,
  type ReloadSummary,
  type SegmentSummary,
  type SizeSummary,
  type TableSnapshot,
  type ViewDifference,
} from '../../snapshot.ts';
import type { ClusterCalls } from '../cluster/cluster.ts';
import type { KeptPart } from '../cluster/cluster-stamps.ts';
import type { TableEntry } from '../configs.ts';
import type { Layout } from '../placement/layout.ts';
import { StatusError, type ControllerCall } from '../calls/call.ts';
import { Layouts } from '../placement/layouts.ts';
import { OrphanNames } from '../placement/orphans.ts';
import type { EngineReader } from '../calls/reader.ts';
import { SegmentMetadataVisitor, type ConsumingStart, type MetadataShape } from './segment-metadata.ts';
import { readSizes } from './sizes.ts';
import {
  ExternalViewReading,
  IdealStateReading,
  withoutView,
  type ViewComparison,
} from '../placement/state-readings.ts';

const DOCUMENT_TIMEOUT_MS = 20_000;
/** The controller requests the sizes from the servers and waits up to 30 s by default. */
const SIZE_TIMEOUT_MS = 40_000;
/** Tables are read after the whole cluster. */
const STATE_PRIORITY = 1;
/** External views are read before further ideal states, because an ideal state that waits for its external view takes memory. */
const VIEW_PRIORITY = 0;
const SIZE_PRIORITY = 8;
/** These calls come last: a table whose layout cannot be kept needs its ideal state once more for each further document. */
const LATE_STATE_PRIORITY = 9;

/** The parts of a table that have been read so far. */
export interface TableState {
  readonly entry: TableEntry;
  /** Parts that are unchanged since an earlier run, whose readings the state has. They are not read. */
  kept: ReadonlySet<KeptPart>;
  enabled: boolean;
  assignment: Read<Assignment>;
  difference: Read<ViewDifference>;
  /** Names of all segments that differed in the first read. */
  differing: ReadonlySet<string>;
  segments: Read<SegmentSummary>;
  size: Read<SizeSummary>;
  consumingStarts: ReadonlyMap<string, ConsumingStart>;
  /** The names of the first read. */
  orphans: OrphanNames;
  reload: Read<ReloadSummary>;
  primaryKeys: Read<PrimaryKeys>;
  consumingRows: Read<ConsumingRows>;
  files: Read<FileSample>;
  rebalance: Read<RebalanceSummary>;
  consumption: Read<Consumption>;
}

export function newState(entry: TableEntry): TableState {
  return {
    entry,
    kept: new Set(),
    enabled: true,
    assignment: NOT_READ,
    difference: NOT_READ,
    differing: new Set(),
    segments: NOT_READ,
    size: NOT_READ,
    consumingStarts: new Map(),
    orphans: new OrphanNames(),
    reload: NOT_READ,
    primaryKeys: NOT_READ,
    consumingRows: NOT_READ,
    files: NOT_READ,
    rebalance: NOT_READ,
    consumption: NOT_READ,
  };
}

/** A snapshot of the state; later changes of the state do not change it. */
export function snapshotOf(state: TableState): TableSnapshot {
  const { entry, kept: _kept, differing: _names, consumingStarts: _starts, orphans: _orphans, ...parts } = state;
  return { name: entry.name, rawName: entry.rawName, type: entry.type, config: entry.config, ...parts };
}

export interface TableDocumentsOptions {
  readonly reader: EngineReader;
  readonly calls: ClusterCalls;
  readonly request: GatherRequest;
  /** Whether to try the shorter format of segment metadata (engine 1.0 and later). After the first 404 it is not tried again. */
  readonly terseMetadata: boolean;
}

/** Reads the documents of a table: ideal state, external view, and the metadata and sizes of its segments. */
export class TableDocuments {
  readonly #options: TableDocumentsOptions;
  readonly #reader: EngineReader;
  readonly #layouts = new Layouts<TableState>();
  #hasTerseMetadata: boolean;

  constructor(options: TableDocumentsOptions) {
    this.#options = options;
    this.#reader = options.reader;
    this.#hasTerseMetadata = options.terseMetadata;
  }

  /** Reads the ideal state. Without it, no other document can be read. */
  async assignment(state: TableState): Promise<void> {
    if (!this.#needs('assignment') || state.kept.has('assignment')) return;
    const { entry } = state;
    const layout = await this.#reader.read(() => this.#idealState(entry));
    if (!layout.ok) {
      Object.assign(state, { assignment: layout, difference: layout, segments: layout, size: layout });
      return;
    }
    state.assignment = readOk(
      layout.value.assignment(entry.config.upsert || entry.config.dedup, entry.type === 'REALTIME'),
    );
    this.#layouts.keep(state, layout.value);
  }

  /** Compares the external view with the ideal state. */
  async externalView(state: TableState): Promise<void> {
    if (!this.#needs('externalView') || state.kept.has('externalView') || !state.assignment.ok) return;
    const view = await this.#reader.read(async () => this.#differing(state.entry, await this.#layout(state)));
    this.#layouts.releaseDocument(state);
    if (!view.ok) {
      state.difference = view;
      return;
    }
    const { differences, missing } = view.value;
    state.differing = new Set(differences.names);
    state.difference = readOk(differences.summary(missing));
  }

  /** Reads both states again. Only segments that differ in both reads remain. */
  async compareAgain(state: TableState): Promise<void> {
    const again = await this.#reader.read(async () => {
      const layout = await this.#idealState(state.entry);
      return this.#differing(state.entry, layout);
    });
    if (!again.ok) {
      state.difference = again;
      return;
    }
    state.difference = readOk(again.value.differences.summary(again.value.missing, state.differing));
  }

  /** Frees what is kept of a table until its documents are read. */
  release(state: TableState): void {
    this.#layouts.release(state);
  }

  #needs(...needs: readonly Need[]): boolean {
    return needs.some((need) => this.#options.request.needs.has(need));
  }

  async #idealState(entry: TableEntry): Promise<Layout> {
    const layout = await this.#reader.pieces(
      this.#document(entry, 'idealstate'),
      () => new IdealStateReading(entry.type),
    );
    if (!layout.found) throw new Error('the table has no ideal state');
    return layout;
  }

  async #layout(state: TableState): Promise<Layout> {
    return this.#layouts.get(state) ?? this.#idealState(state.entry);
  }

  async #differing(entry: TableEntry, layout: Layout): Promise<ViewComparison> {
    try {
      const call = this.#document(entry, 'externalview');
      return await this.#reader.pieces(call, () => new ExternalViewReading(layout, entry.type));
    } catch (error) {
      // The response of some engine versions for a table without an external view.
      if (!(error instanceof StatusError && error.status === 404)) throw error;
      return withoutView(layout);
    }
  }

  #document(entry: TableEntry, document: 'idealstate' | 'externalview'): ControllerCall {
    const path = `/tables/${encodeURIComponent(entry.name)}/${document}`;
    const statePriority = this.#layouts.isHalfFull ? LATE_STATE_PRIORITY : STATE_PRIORITY;
    const priority = document === 'externalview' ? VIEW_PRIORITY : statePriority;
    return this.#options.calls.call(document, path, { timeoutMs: DOCUMENT_TIMEOUT_MS, priority });
  }

  async segmentMetadata(state: TableState): Promise<void> {
    const { entry, assignment } = state;
    if (
      !this.#needs('segmentMetadata', 'consumingRows', 'files') ||
      state.kept.has('segmentMetadata') ||
      !assignment.ok
    )
      return;
    const metadata = await this.#reader.read(async () => {
      const visitor = await this.#segmentMetadata(entry, await this.#layout(state));
      const summary = plausible(visitor.summary(), assignment.value);
      const { consumingStarts: starts, orphans } = visitor;
      return { summary, starts, orphans };
    });
    if (!metadata.ok) {
      state.segments = metadata;
      state.size = metadata;
      return;
    }
    state.segments = readOk(metadata.value.summary);
    state.orphans = metadata.value.orphans;
    state.consumingStarts = metadata.value.starts;
  }

  /** Reads the ideal state and the metadata again if they differed. Only segments that differ in both reads are orphans. */
  async confirmOrphans(state: TableState): Promise<void> {
    const { entry, segments, orphans: before } = state;
    if (!segments.ok || before.isEmpty) return;
    const orphans = await this.#reader.read(async () => {
      const visitor = await this.#segmentMetadata(entry, await this.#idealState(entry));
      visitor.summary();
      return before.persistent(visitor.orphans);
    });
    state.segments = readOk({ ...segments.value, orphans });
  }

  async size(state: TableState): Promise<void> {
    const { entry, segments } = state;
    if (!this.#needs('size') || !segments.ok) return;
    const { smallSegmentBytes: smallBytes, smallSegmentFraction: smallFraction } = this.#options.request;
    const call = (verbose: boolean) =>
      this.#options.calls.call('table_size', `/tables/${encodeURIComponent(entry.name)}/size?verbose=${verbose}`, {
        timeoutMs: SIZE_TIMEOUT_MS,
        priority: SIZE_PRIORITY,
      });
    state.size = await this.#reader.read(async () => {
      const table = { layout: await this.#layout(state), segments: segments.value };
      return readSizes(this.#reader, call, table, { smallBytes, smallFraction });
    });
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
      // A table without segments may have no node for them.
      if (error instanceof StatusError && error.status === 404 && layout.size === 0) return visitor('nodes');
      throw error;
    }
  }
}

/** @throws a response without metadata of segments that the ideal state has */
function plausible(summary: SegmentSummary, { segments, consumingSegments }: Assignment): SegmentSummary {
  const expected = segments - consumingSegments;
  if (summary.completed > 0 || expected === 0) return summary;
  throw new Error(`the response has no metadata of completed segments, but the ideal state has ${rounded(expected)}`);
}
