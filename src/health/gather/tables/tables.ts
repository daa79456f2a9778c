import type { Engine } from '../../../pinot/types.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Need } from '../../check.ts';
import type { GatherRequest } from '../../run/run.ts';
import {
  CONSISTENCY_CHECK,
  contradictingLists,
  isIn,
  isMissingIn,
  NOT_READ,
  readFailed,
  readOk,
  readReported,
  type ClusterSnapshot,
  type QueryOutcome,
  type Read,
  type TableSources,
} from '../../snapshot.ts';
import type { ClusterCalls } from '../cluster/cluster.ts';
import type { KeptPart } from '../cluster/cluster-stamps.ts';
import type { TableEntries } from '../configs.ts';
import { ConsumingCalls } from '../servers/consuming-calls.ts';
import type { ArrivalMemory } from './arrivals.ts';
import type { ConsumptionMemory } from '../servers/consumption.ts';
import { TableCalls } from '../servers/fan-outs.ts';
import type { GrowingSnapshot } from '../growing-snapshot.ts';
import type { KeptReadings, RunStamps } from './kept-readings.ts';
import type { EngineReader } from '../calls/reader.ts';
import { SERVER_PARTS, ServerReadings, type ServerPart, type ServerPartsOptions } from '../servers/server-parts.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';
import { Stall } from './stall.ts';
import { FileReadings } from './file-readings.ts';
import { newState, snapshotOf, TableDocuments, type TableState } from './table-documents.ts';

/** Calls of one kind at once: a kind without responses does not delay the others. */
const AT_ONCE = {
  idealState: 6,
  externalView: 6,
  enabled: 6,
  segmentMetadata: 6,
  size: 4,
  files: 4,
  queries: 6,
} as const;
/** If no ideal state or external view arrives for this time, the states of the remaining tables (enabled or disabled) are requested. */
const STALL_MS = 3_000;

export interface TablesGathererOptions extends Omit<ServerPartsOptions, 'calls' | 'consuming' | 'originOf'> {
  readonly reader: EngineReader;
  readonly calls: ClusterCalls;
  readonly engine: Engine;
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly request: GatherRequest;
  /** Engine version; undefined if it does not report one. */
  readonly version: string | undefined;
  readonly settleMs: number;
  /** The names of tables in each source; complete only after a second read if they differ. */
  readonly sources: Promise<TableSources>;
  /** As `sources`; undefined if they take too long for the checks that need only the tables. */
  readonly sourcesInTime: Promise<TableSources | undefined>;
  /** The names that both an earlier reading and another one have. */
  readonly readSourcesAgain: (first: TableSources) => Promise<TableSources>;
  readonly memory: ConsumptionMemory;
  readonly arrivals: ArrivalMemory;
  /** Receives the parts that were read. */
  readonly snapshot: GrowingSnapshot;
  /** Aborts when the run ends. */
  readonly ending: AbortSignal;
  /** Readings of earlier runs; undefined if all tables are read. */
  readonly kept: { readonly readings: KeptReadings; readonly run: RunStamps } | undefined;
  /** @param done steps done @param more additional steps that are now known */
  readonly progress: (done: number, more?: number) => void;
}

/** The parts of one table that are being read. They never reject. */
interface TableReads {
  readonly state: TableState;
  readonly assignment: Promise<void>;
  readonly enabled: Promise<void>;
  readonly externalView: Promise<void>;
  readonly segmentMetadata: Promise<void>;
}

/**
 * Reads the tables. A part of a table waits only for the parts that it is computed from, and each kind of call has a queue of its own, so
 * that a slow table or endpoint delays only what depends on it.
 */
export class TablesGatherer {
  readonly #options: TablesGathererOptions;
  readonly #reader: EngineReader;
  readonly #documents: TableDocuments;
  readonly #tableCalls: TableCalls;
  readonly #stall: Stall;
  readonly #serverParts: ServerReadings;
  readonly #files: FileReadings;
  readonly #queues = {
    idealState: FairQueue.ofJobs('idealState', AT_ONCE.idealState),
    externalView: FairQueue.ofJobs('externalView', AT_ONCE.externalView),
    enabled: FairQueue.ofJobs('enabled', AT_ONCE.enabled),
    segmentMetadata: FairQueue.ofJobs('segmentMetadata', AT_ONCE.segmentMetadata),
    size: FairQueue.ofJobs('size', AT_ONCE.size),
    files: FairQueue.ofJobs('files', AT_ONCE.files),
    queries: FairQueue.ofJobs('queries', AT_ONCE.queries),
  };
  #states: readonly TableState[] = [];
  /** The creation transactions of the tables before they were read. */
  #before: Promise<Read<ReadonlyMap<string, string>>> = Promise.resolve(NOT_READ);

  constructor(options: TablesGathererOptions) {
    const { reader, engine, calls, request, clock, ending } = options;
    const isNew = Number.parseInt(options.version ?? '0', 10) >= 1;
    this.#options = options;
    this.#reader = reader;
    this.#files = new FileReadings(reader, calls);
    this.#documents = new TableDocuments({ reader, calls, request, terseMetadata: isNew });
    this.#tableCalls = new TableCalls(reader, engine, calls, isNew);
    this.#serverParts = new ServerReadings({
      ...options,
      calls: this.#tableCalls,
      consuming: new ConsumingCalls(options),
      originOf: (table) => this.#originOf(table),
    });
    this.#stall = new Stall(clock, STALL_MS, ending);
  }

  /** Reads all needed parts of the tables into the snapshot, except those that are unchanged since an earlier run. */
  async gather({ tables: entries, broken }: TableEntries): Promise<void> {
    const { kept, request, snapshot, sources, sourcesInTime } = this.#options;
    this.#states = entries.map(newState);
    if (request.fresh !== true) kept?.readings.recall(this.#states, request.needs, kept.run);
    const listed = sourcesInTime.then((value) => {
      snapshot.put({ ...(value && { sources: value }), unreadableTables: broken });
      this.#complete('tables');
    });
    this.#before = this.#origins();
    const tables = this.#states.map((state) => this.#start(state));
    const completed = async (need: Need, parts: readonly Promise<void>[]): Promise<void> => {
      await Promise.all(parts);
      this.#complete(need);
    };
    await Promise.all([
      listed,
      sources.then((first) => this.#compareSources(first, tables)),
      this.#brokerResource(),
      this.#queries(tables),
      completed('assignment', this.#all(tables, 'assignment')),
      completed('enabled', this.#all(tables, 'enabled')),
      completed('externalView', this.#all(tables, 'externalView')),
      completed('segmentMetadata', this.#all(tables, 'segmentMetadata')),
      completed(
        'size',
        this.#counted(
          tables.map((table) => this.#size(table)),
          'size',
        ),
      ),
      completed(
        'files',
        this.#counted(
          tables.map((table) => this.#readFiles(table)),
          'files',
        ),
      ),
      ...SERVER_PARTS.map((part) =>
        completed(
          part,
          this.#counted(
            tables.map((table) => this.#serverPart(part, table)),
            part,
          ),
        ),
      ),
    ]);
    await this.#dropDeleted(await this.#before);
    kept?.readings.keep(this.#states, kept.run);
  }

  /**
   * A table that was created while the names were read is in some of the lists only: they are read again. Waits only for the parts that
   * lists have: the servers may take longer to respond.
   */
  async #compareSources(first: TableSources, tables: readonly TableReads[]): Promise<void> {
    await Promise.all(
      tables.flatMap(({ assignment, externalView, segmentMetadata }) => [assignment, externalView, segmentMetadata]),
    );
    const differ = this.#states.some((state) => contradictingLists(snapshotOf(state), first).length > 0);
    const sources = differ ? await this.#options.readSourcesAgain(first) : first;
    this.#options.snapshot.put({ sources }, 'sources');
  }

  #complete(...needs: readonly Need[]): void {
    this.#options.snapshot.put({ tables: readOk(this.#states.map(snapshotOf)) }, ...needs);
  }

  #needs(...needs: readonly Need[]): boolean {
    return needs.some((need) => this.#options.request.needs.has(need));
  }

  /** A part of all tables. */
  #all(tables: readonly TableReads[], part: Exclude<keyof TableReads, 'state'> & Need): Promise<void>[] {
    return this.#counted(
      tables.map((table) => table[part]),
      part,
    );
  }

  /** Counts the reads of a part as steps of the run if the part is needed; most tables need no call for `enabled`. */
  #counted(reads: readonly Promise<void>[], need: Need): Promise<void>[] {
    if (!this.#needs(need) || need === 'enabled') return [...reads];
    this.#options.progress(0, reads.length);
    return reads.map((read) => read.then(() => this.#options.progress(1)));
  }

  #start(state: TableState): TableReads {
    const documents = this.#documents;
    const read = (queue: FairQueue, part: 'assignment' | 'segments', work: () => Promise<void>): Promise<void> =>
      this.#twice(
        () => queue.run(work),
        () => isRetryable(state[part]),
      );
    const assignment = read(this.#queues.idealState, 'assignment', () => documents.assignment(state))
      .then(() => this.#reportMissing(state, 'idealStates'))
      .then(() => this.#stall.progress());
    const firstView = assignment
      .then(() => this.#queues.externalView.run(() => documents.externalView(state)))
      .then(() => this.#stall.progress());
    const enabled = this.#enabled(state, firstView);
    const segmentMetadata = Promise.all([assignment, enabled]).then(async () => {
      if (state.enabled) {
        await read(this.#queues.segmentMetadata, 'segments', () => documents.segmentMetadata(state));
        await this.#reportMissing(state, 'segmentMetadata');
        await this.#recallArrivals(state);
        await this.#confirmOrphans(state);
      }
    });
    return { state, assignment, enabled, externalView: firstView.then(() => this.#settle(state)), segmentMetadata };
  }

  /** A view that a list of views has, and the response has not, may be hidden: nothing is known about it. */
  async #doubtMissingView(state: TableState): Promise<void> {
    const { difference, entry } = state;
    if (!difference.ok || !difference.value.viewMissing) return;
    if (!isIn((await this.#options.sources).externalViews, entry.name)) return;
    state.difference = readFailed('the response has no external view, although its node exists');
  }

  /** Marks parts that could not be read because the cluster does not have them: that is the finding of a check of its own. */
  async #reportMissing(state: TableState, source: 'idealStates' | 'segmentMetadata'): Promise<void> {
    const read = source === 'idealStates' ? state.assignment : state.segments;
    if (read.ok || read === NOT_READ || read.reportedBy !== undefined) return;
    if (!isMissingIn((await this.#options.sources)[source], state.entry.name)) return;
    const reported = readReported(read.error, CONSISTENCY_CHECK);
    if (source === 'idealStates') Object.assign(state, { assignment: reported, difference: reported });
    Object.assign(state, { segments: reported, size: reported });
  }

  /** Repeats failed work once, after a delay: creating a table or restarting a controller looks like a fault for a moment. */
  async #twice(work: () => Promise<void>, failed: () => boolean): Promise<void> {
    await work();
    if (!failed() || this.#reader.signal.aborted) return;
    await this.#pause();
    await work();
  }

  async #pause(): Promise<void> {
    await this.#reader.read(() => this.#reader.sleep(this.#options.settleMs));
  }

  /**
   * Reads whether a table is disabled. The documents of a disabled table always differ, so the state of a table without differences is not requested. A slow external
   * view is not waited for, because nearly all checks need to know it.
   */
  async #enabled(state: TableState, view: Promise<void>): Promise<void> {
    if (!this.#needs('enabled')) return;
    await Promise.race([view, this.#stall.stalled]);
    const { difference, entry } = state;
    if (difference.ok && difference.value.segments.count === 0) return;
    const enabled = await this.#queues.enabled.run(() => this.#reader.read(() => this.#tableCalls.enabled(entry)));
    // A table whose state cannot be read counts as enabled.
    state.enabled = !enabled.ok || enabled.value;
  }

  /** Reads states that differ again after a few seconds. Committing or pushing a segment looks like a fault for a moment. */
  async #settle(state: TableState): Promise<void> {
    const { difference } = state;
    const again = difference.ok
      ? difference.value.segments.count > 0 || difference.value.viewMissing
      : isRetryable(difference);
    if (!again || !state.assignment.ok || this.#reader.signal.aborted) return;
    await this.#pause();
    await this.#queues.externalView.run(() =>
      difference.ok ? this.#documents.compareAgain(state) : this.#documents.externalView(state),
    );
    await this.#doubtMissingView(state);
  }

  /** Segments that are being added or removed are not orphans, so the documents are read again after a delay if they differ. */
  async #confirmOrphans(state: TableState): Promise<void> {
    if (state.orphans.isEmpty || this.#reader.signal.aborted) return;
    await this.#pause();
    await this.#queues.segmentMetadata.run(() => this.#documents.confirmOrphans(state));
  }

  async #size({ state, assignment, externalView, segmentMetadata }: TableReads): Promise<void> {
    await Promise.all([assignment, segmentMetadata]);
    if (this.#needs('size') && !state.kept.has('size') && state.enabled && state.segments.ok) {
      const read = async (): Promise<void> => {
        const hanging = await this.#serverParts.hanging(state);
        if (hanging === undefined) await this.#queues.size.run(() => this.#documents.size(state));
        else state.size = hanging;
      };
      await this.#twice(read, () => isRetryable(state.size));
    }
    void externalView.then(() => this.#documents.release(state));
  }

  async #readFiles({ state, segmentMetadata }: TableReads): Promise<void> {
    await segmentMetadata;
    if (!this.#needs('files') || !state.enabled || state.kept.has('files')) return;
    state.files = await this.#files.read(state, {
      turn: (calls) => this.#queues.files.run(calls),
      pause: () => this.#pause(),
    });
  }

  async #serverPart(part: ServerPart, { state, assignment, enabled, segmentMetadata }: TableReads): Promise<void> {
    await Promise.all([assignment, enabled, part === 'consumingRows' ? segmentMetadata : undefined]);
    if (!this.#needs(part) || !state.enabled || state.kept.has(part as KeptPart)) return;
    const read = async (): Promise<void> => {
      Object.assign(state, { [part]: await this.#serverParts.read(part, state) });
    };
    await this.#twice(read, () => isRetryable(state[part]));
  }

  async #brokerResource(): Promise<void> {
    let brokerResource: ClusterSnapshot['brokerResource'] = NOT_READ;
    if (this.#needs('brokerResource')) {
      const read = async (): Promise<void> => {
        brokerResource = await this.#reader.read(() => this.#options.calls.brokerResource());
      };
      const served = (name: string): boolean => !brokerResource.ok || (brokerResource.value.get(name) ?? []).length > 0;
      await this.#twice(
        read,
        () => isRetryable(brokerResource) || !this.#states.every(({ entry }) => served(entry.name)),
      );
    }
    this.#options.snapshot.put({ brokerResource }, 'brokerResource');
  }

  /** One query for each raw table name: the two parts of a hybrid table are queried as one table. */
  async #queries(tables: readonly TableReads[]): Promise<void> {
    const queries = new Map<string, Read<QueryOutcome>>();
    if (this.#needs('queries')) {
      const byName = new Map<string, TableReads[]>();
      for (const table of tables) {
        const { rawName } = table.state.entry;
        byName.set(rawName, [...(byName.get(rawName) ?? []), table]);
      }
      const reads = [...byName].map(async ([name, parts]) => {
        await Promise.all(parts.map(({ enabled }) => enabled));
        if (!parts.some(({ state }) => state.enabled)) return;
        const query = async (): Promise<void> => {
          const response = await this.#queues.queries.run(() =>
            this.#reader.read<QueryOutcome>(() => this.#tableCalls.queryHealth(name)),
          );
          queries.set(name, response);
        };
        await this.#twice(query, () => shouldRepeat(queries.get(name) ?? NOT_READ));
      });
      await Promise.all(this.#counted(reads, 'queries'));
    }
    this.#options.snapshot.put({ queries }, 'queries');
  }

  /** The creation transactions of the tables; see `ClusterCalls.tableOrigins`. */
  async #origins(): Promise<Read<ReadonlyMap<string, string>>> {
    const { size } = this.#options.snapshot.current.unreadableTables;
    return this.#states.length + size === 0 ? NOT_READ : this.#reader.read(() => this.#options.calls.tableOrigins());
  }

  async #originOf(table: string): Promise<string> {
    const origins = await this.#before;
    return (origins.ok ? origins.value.get(table) : undefined) ?? '';
  }

  async #recallArrivals(state: TableState): Promise<void> {
    const { name } = state.entry;
    const key = `${name} ${await this.#originOf(name)}`;
    if (!state.segments.ok) return;
    const arrivals = this.#options.arrivals.recall(key, state.segments.value.arrivals);
    state.segments = readOk({ ...state.segments.value, arrivals });
  }

  /** Removes tables that were deleted during the run, also if a table of the same name was created since. */
  async #dropDeleted(before: Read<ReadonlyMap<string, string>>): Promise<void> {
    const after = await this.#origins();
    if (!after.ok) return;
    const stayed = (name: string): boolean => {
      const origin = after.value.get(name);
      return origin !== undefined && (!before.ok || before.value.get(name) === origin);
    };
    this.#states = this.#states.filter(({ entry }) => stayed(entry.name));
    const { snapshot } = this.#options;
    const broken = [...snapshot.current.unreadableTables].filter(([name]) => stayed(name));
    snapshot.put({ unreadableTables: new Map(broken) });
    this.#complete();
  }
}

function isRetryable(read: Read<unknown>): boolean {
  return !read.ok && read !== NOT_READ && read.hung !== true && read.reportedBy === undefined;
}

/** A new table may not be served yet. */
function shouldRepeat(read: Read<QueryOutcome>): boolean {
  if (!read.ok) return isRetryable(read);
  const { ok, lacks, hung } = read.value;
  return (!ok || lacks !== undefined) && hung !== true;
}
