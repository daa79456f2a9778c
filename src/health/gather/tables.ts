import type { Engine } from '../../pinot/types.ts';
import type { Need } from '../check.ts';
import type { GatherRequest } from '../run.ts';
import { NOT_READ, readOk, type Assignment, type ClusterSnapshot, type QueryOutcome, type Read } from '../snapshot.ts';
import type { ClusterCalls } from './cluster.ts';
import type { SchemaEntry, TableEntry } from './configs.ts';
import { TableCalls } from './fan-outs.ts';
import type { GrowingSnapshot } from './growing-snapshot.ts';
import { inPasses, pooled, type Pass } from './pooled.ts';
import type { Reader } from './reader.ts';
import { hasFailed, newState, snapshotOf, TableDocuments, type TableState } from './table-documents.ts';

/** Number of tables whose documents are read at once; each keeps the names of its segments in memory meanwhile. */
const TABLES_AT_ONCE = 6;
/** Number of concurrent calls to servers and brokers; the reader may allow fewer. */
const CALLS_AT_ONCE = 12;

export interface TablesGathererOptions {
  readonly reader: Reader;
  readonly calls: ClusterCalls;
  readonly engine: Engine;
  readonly request: GatherRequest;
  readonly schemas: Read<ReadonlyMap<string, SchemaEntry>>;
  /** Engine version; undefined if it does not report one. */
  readonly version: string | undefined;
  readonly settleMs: number;
  /** Receives the parts that were read. */
  readonly snapshot: GrowingSnapshot;
  /** @param done steps done @param more additional steps that are now known */
  readonly progress: (done: number, more?: number) => void;
}

/** Parts that are read from servers and brokers, the cheapest first. */
const FAN_OUT_PARTS = ['queries', 'consumingRows', 'primaryKeys', 'reload', 'rebalance'] as const;
type TablePart = Exclude<(typeof FAN_OUT_PARTS)[number], 'queries'>;

type BrokerResource = ClusterSnapshot['brokerResource'];

/** Reads the tables: first their documents, then suspicious documents again, then the parts that are read from servers and brokers. */
export class TablesGatherer {
  readonly #options: TablesGathererOptions;
  readonly #reader: Reader;
  readonly #documents: TableDocuments;
  readonly #tableCalls: TableCalls;

  constructor(options: TablesGathererOptions) {
    const { reader, engine, calls, request } = options;
    const isNew = Number.parseInt(options.version ?? '0', 10) >= 1;
    this.#options = options;
    this.#reader = reader;
    this.#documents = new TableDocuments({ reader, calls, request, terseMetadata: isNew });
    this.#tableCalls = new TableCalls(reader, engine, calls, isNew);
  }

  /** Reads all needed parts of the tables into the snapshot. */
  async gather(entries: readonly TableEntry[]): Promise<void> {
    const { snapshot, progress } = this.#options;
    snapshot.put({ tables: readOk(entries.map((entry) => snapshotOf(newState(entry)))) }, 'tables');
    const origins = this.#origins(entries);
    const parts = FAN_OUT_PARTS.filter((part) => this.#needs(part));
    progress(0, entries.length * (1 + parts.length));
    const [states, firstResource] = await Promise.all([
      pooled(entries, TABLES_AT_ONCE, async (entry) => {
        const state = await this.#documents.read(entry);
        progress(1);
        return state;
      }),
      this.#brokerResource(),
    ]);
    const brokerResource = await this.#settle(states, firstResource);
    await pooled(states, TABLES_AT_ONCE, (state) => this.#enabled(state));
    snapshot.put(
      { tables: readOk(states.map(snapshotOf)), brokerResource },
      'enabled',
      'assignment',
      'externalView',
      'segmentMetadata',
      'size',
      'brokerResource',
    );
    await inPasses(
      parts.map((part) => (part === 'queries' ? this.#queries(states) : this.#tablePart(part, states))),
      CALLS_AT_ONCE,
    );
    await this.#dropDeleted(states, await origins);
  }

  #needs(...needs: readonly Need[]): boolean {
    return needs.some((need) => this.#options.request.needs.has(need));
  }

  async #brokerResource(): Promise<BrokerResource> {
    if (!this.#needs('brokerResource')) return NOT_READ;
    return this.#reader.read(() => this.#options.calls.brokerResource());
  }

  /**
   * Reads suspicious documents again after a few seconds. Creating a table, committing or pushing a segment and updating the broker resource look
   * like faults for a moment; only what differs in both reads is a fault.
   */
  async #settle(states: readonly TableState[], resource: BrokerResource): Promise<BrokerResource> {
    const suspicious = states.filter((state) => isSuspicious(state, this.#needs('externalView')));
    const unserved = resource.ok && states.some(({ entry }) => (resource.value.get(entry.name) ?? []).length === 0);
    if ((suspicious.length === 0 && !unserved) || this.#reader.signal.aborted) return resource;
    await this.#reader.read(() => this.#reader.sleep(this.#options.settleMs));
    await pooled(suspicious, TABLES_AT_ONCE, (state) => this.#documents.readAgain(state));
    return unserved ? this.#brokerResource() : resource;
  }

  /** Reads whether a table is disabled. The documents of a disabled table always differ, so tables without differences are not queried. */
  async #enabled(state: TableState): Promise<void> {
    const differs = !state.difference.ok || state.difference.value.segments.count > 0;
    if (!this.#needs('enabled') || !differs) return;
    const enabled = await this.#reader.read(() => this.#tableCalls.enabled(state.entry));
    // A table whose state cannot be read counts as enabled.
    state.enabled = !enabled.ok || enabled.value;
  }

  /** A part of all enabled tables; set in the snapshot after all of them have been read. */
  #tablePart(part: TablePart, states: readonly TableState[]): Pass {
    const enabled = states.filter((state) => state.enabled);
    this.#options.progress(states.length - enabled.length);
    return this.#pass(
      enabled,
      (state) => this.#readPart(part, state),
      (answer) => !answer.ok && answer !== NOT_READ,
      (answers) => {
        for (const [state, answer] of answers) Object.assign(state, { [part]: answer });
        this.#options.snapshot.put({ tables: readOk(states.map(snapshotOf)) }, part);
      },
    );
  }

  async #readPart(part: TablePart, { entry, assignment, consumingOffsets }: TableState): Promise<Read<unknown>> {
    const calls = this.#tableCalls;
    switch (part) {
      case 'consumingRows':
        return this.#withAssignment(assignment, async ({ consumingSegments }) =>
          consumingSegments === 0 ? new Map<string, number>() : calls.consumingRows(entry, consumingOffsets),
        );
      case 'primaryKeys':
        if (!entry.config.upsert && !entry.config.dedup) return NOT_READ;
        return this.#withAssignment(assignment, (value) => calls.primaryKeys(entry, value));
      case 'reload':
        return this.#withAssignment(assignment, (value) => calls.reload(entry, value, this.#schema(entry)));
      case 'rebalance':
        return this.#withAssignment(assignment, () => calls.rebalance(entry));
    }
  }

  /** Reads a part that depends on the assignment. */
  async #withAssignment<T>(assignment: Read<Assignment>, work: (value: Assignment) => Promise<T>): Promise<Read<T>> {
    return assignment.ok ? this.#reader.read(() => work(assignment.value)) : assignment;
  }

  #schema(entry: TableEntry): SchemaEntry | undefined {
    const { schemas } = this.#options;
    if (!schemas.ok) return undefined;
    return schemas.value.get(entry.rawName) ?? schemas.value.get(entry.config.schemaName ?? '');
  }

  /** One query for each raw table name: the two parts of a hybrid table are queried as one table. */
  #queries(states: readonly TableState[]): Pass {
    const names = [...new Set(states.filter(({ enabled }) => enabled).map(({ entry }) => entry.rawName))];
    this.#options.progress(states.length - names.length);
    return this.#pass(
      names,
      (name) => this.#reader.read<QueryOutcome>(() => this.#tableCalls.queryHealth(name)),
      (answer) => !answer.ok || !answer.value.ok || answer.value.lacks !== undefined,
      (queries) => this.#options.snapshot.put({ queries }, 'queries'),
    );
  }

  /** Reads a value for each item. Suspicious values are read again after a delay: a new table may not be served yet. */
  #pass<K, V>(
    items: readonly K[],
    read: (item: K) => Promise<V>,
    suspicious: (value: V) => boolean,
    done: (values: ReadonlyMap<K, V>) => void,
  ): Pass {
    const values = new Map<K, V>();
    return {
      jobs: items.map((item) => async () => {
        values.set(item, await read(item));
        this.#options.progress(1);
      }),
      done: async () => {
        const again = items.filter((item) => suspicious(values.get(item) as V));
        if (again.length > 0 && !this.#reader.signal.aborted) {
          await this.#reader.read(() => this.#reader.sleep(this.#options.settleMs));
          await pooled(again, CALLS_AT_ONCE, async (item) => values.set(item, await read(item)));
        }
        done(values);
      },
    };
  }

  /** The creation transactions of the tables; see `ClusterCalls.tableOrigins`. */
  async #origins(entries: readonly TableEntry[]): Promise<Read<ReadonlyMap<string, string>>> {
    return entries.length === 0 ? NOT_READ : this.#reader.read(() => this.#options.calls.tableOrigins());
  }

  /** Removes tables that were deleted during the run, also if a table of the same name was created since. */
  async #dropDeleted(states: readonly TableState[], before: Read<ReadonlyMap<string, string>>): Promise<void> {
    const after = await this.#origins(states.map(({ entry }) => entry));
    if (!after.ok) return;
    const remaining = states.filter(({ entry: { name } }) => {
      const origin = after.value.get(name);
      return origin !== undefined && (!before.ok || before.value.get(name) === origin);
    });
    this.#options.snapshot.put({ tables: readOk(remaining.map(snapshotOf)) });
  }
}

function isSuspicious(state: TableState, viewRead: boolean): boolean {
  if (hasFailed(state)) return true;
  if (!viewRead || !state.difference.ok) return false;
  return state.difference.value.segments.count > 0 || state.difference.value.viewMissing;
}
