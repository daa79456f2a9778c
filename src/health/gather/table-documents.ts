import type { Need } from '../check.ts';
import type { GatherRequest } from '../run.ts';
import {
  NOT_READ,
  readFailed,
  readOk,
  type Assignment,
  type PrimaryKeys,
  type Read,
  type RebalanceSummary,
  type ReloadSummary,
  type SegmentSummary,
  type SizeSummary,
  type TableSnapshot,
  type ViewDifference,
} from '../snapshot.ts';
import type { ClusterCalls } from './cluster.ts';
import type { TableEntry } from './configs.ts';
import { sampleOf, type Layout } from './layout.ts';
import { StatusError, type Call, type Reader } from './reader.ts';
import { SegmentMetadataVisitor, type MetadataShape } from './segment-metadata.ts';
import { readSizes } from './sizes.ts';
import { ExternalViewReading, IdealStateReading, type ViewComparison } from './state-readings.ts';

const DOCUMENT_TIMEOUT_MS = 60_000;

/** The parts of a table that have been read so far. */
export interface TableState {
  readonly entry: TableEntry;
  enabled: boolean;
  assignment: Read<Assignment>;
  difference: Read<ViewDifference>;
  /** Names of all segments that differed in the first read. */
  differing: ReadonlySet<string>;
  segments: Read<SegmentSummary>;
  size: Read<SizeSummary>;
  consumingOffsets: ReadonlyMap<string, number>;
  reload: Read<ReloadSummary>;
  primaryKeys: Read<PrimaryKeys>;
  consumingRows: Read<ReadonlyMap<string, number>>;
  rebalance: Read<RebalanceSummary>;
}

export function newState(entry: TableEntry): TableState {
  return {
    entry,
    enabled: true,
    assignment: NOT_READ,
    difference: NOT_READ,
    differing: new Set(),
    segments: NOT_READ,
    size: NOT_READ,
    consumingOffsets: new Map(),
    reload: NOT_READ,
    primaryKeys: NOT_READ,
    consumingRows: NOT_READ,
    rebalance: NOT_READ,
  };
}

/** A snapshot of the state; later changes of the state do not change it. */
export function snapshotOf(state: TableState): TableSnapshot {
  const { entry, differing: _names, consumingOffsets: _offsets, ...parts } = state;
  return { name: entry.name, rawName: entry.rawName, type: entry.type, config: entry.config, ...parts };
}

/** Whether a document could not be read. */
export function hasFailed({ assignment, difference, segments, size }: TableState): boolean {
  return [assignment, difference, segments, size].some((read) => !read.ok && read !== NOT_READ);
}

export interface TableDocumentsOptions {
  readonly reader: Reader;
  readonly calls: ClusterCalls;
  readonly request: GatherRequest;
  /** Whether to try the shorter format of segment metadata (engine 1.0 and later). After the first 404 it is not tried again. */
  readonly terseMetadata: boolean;
}

/** Reads the documents of a table: ideal state, external view, and the metadata and sizes of its segments. */
export class TableDocuments {
  readonly #options: TableDocumentsOptions;
  readonly #reader: Reader;
  #hasTerseMetadata: boolean;

  constructor(options: TableDocumentsOptions) {
    this.#options = options;
    this.#reader = options.reader;
    this.#hasTerseMetadata = options.terseMetadata;
  }

  /** Reads one document after the other, because the later ones are compared with the ideal state. */
  async read(entry: TableEntry): Promise<TableState> {
    const state = newState(entry);
    if (!this.#needs('assignment')) return state;
    const layout = await this.#reader.read(() => this.#idealState(entry));
    if (!layout.ok) {
      const failed = readFailed(layout.error);
      return { ...state, assignment: failed, difference: failed, segments: failed, size: failed };
    }
    const keyed = entry.config.upsert || entry.config.dedup;
    state.assignment = readOk(layout.value.assignment(keyed));
    if (this.#needs('externalView')) await this.#compare(state, layout.value);
    layout.value.releaseDocument();
    if (this.#needs('segmentMetadata', 'consumingRows')) await this.#segments(state, layout.value);
    return state;
  }

  /** Reads a suspicious table again. Only segments that differ in both reads remain. */
  async readAgain(state: TableState): Promise<void> {
    if (hasFailed(state)) {
      const { difference, differing } = state;
      Object.assign(state, await this.read(state.entry));
      if (!difference.ok || !state.difference.ok) return;
      const persistent = [...state.differing].filter((name) => differing.has(name));
      state.difference = readOk({ ...state.difference.value, segments: sampleOf(persistent) });
      return;
    }
    const again = await this.#reader.read(async () => {
      const layout = await this.#idealState(state.entry);
      const difference = await this.#differing(state.entry, layout);
      layout.releaseDocument();
      return difference;
    });
    if (!again.ok) {
      state.difference = again;
      return;
    }
    const persistent = again.value.names.filter((name) => state.differing.has(name));
    state.difference = readOk({ viewMissing: again.value.missing, segments: sampleOf(persistent) });
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

  async #compare(state: TableState, layout: Layout): Promise<void> {
    const view = await this.#reader.read(() => this.#differing(state.entry, layout));
    if (!view.ok) {
      state.difference = view;
      return;
    }
    state.differing = new Set(view.value.names);
    state.difference = readOk({ viewMissing: view.value.missing, segments: sampleOf(view.value.names) });
  }

  async #differing(entry: TableEntry, layout: Layout): Promise<ViewComparison> {
    try {
      const call = this.#document(entry, 'externalview');
      return await this.#reader.pieces(call, () => new ExternalViewReading(layout, entry.type));
    } catch (error) {
      // The response of some engine versions for a table without an external view.
      if (!(error instanceof StatusError && error.status === 404)) throw error;
      return { names: layout.expected(), missing: true };
    }
  }

  #document(entry: TableEntry, document: 'idealstate' | 'externalview'): Call {
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
      // A table without segments may have no node for them.
      if (error instanceof StatusError && error.status === 404 && layout.size === 0) return visitor('nodes');
      throw error;
    }
  }
}
