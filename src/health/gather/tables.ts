import type { Engine } from '../../engine/types.ts';
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

/** How many tables' documents are read at once: each holds the names of its segments while it is read. */
const TABLES_AT_ONCE = 6;
/** How many questions to servers and brokers may be under way at once; the reader may allow fewer. */
const QUESTIONS_AT_ONCE = 12;

export interface TablesGathererOptions {
  readonly reader: Reader;
  readonly calls: ClusterCalls;
  readonly engine: Engine;
  readonly request: GatherRequest;
  readonly schemas: Read<ReadonlyMap<string, SchemaEntry>>;
  /** Of the engine; undefined where it does not tell. */
  readonly version: string | undefined;
  readonly settleMs: number;
  /** Where what was read goes, part by part. */
  readonly snapshot: GrowingSnapshot;
  /** So many steps were done, and so many more are to do. */
  readonly progress: (done: number, more?: number) => void;
}

/** What servers and brokers are asked, the cheapest first. */
const QUESTIONS = ['queries', 'consumingRows', 'primaryKeys', 'reload', 'rebalance'] as const;
type TableQuestion = Exclude<(typeof QUESTIONS)[number], 'queries'>;

type BrokerResource = ClusterSnapshot['brokerResource'];

/** Reads the tables: their documents first, a second look at what may be passing, then what their servers tell. */
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

  /** Puts all that is asked for of the tables into the snapshot. */
  async gather(entries: readonly TableEntry[]): Promise<void> {
    const { snapshot, progress } = this.#options;
    snapshot.put({ tables: readOk(entries.map((entry) => snapshotOf(newState(entry)))) }, 'tables');
    const origins = this.#origins(entries);
    const questions = QUESTIONS.filter((question) => this.#needs(question));
    progress(0, entries.length * (1 + questions.length));
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
      questions.map((question) =>
        question === 'queries' ? this.#queries(states) : this.#tableQuestion(question, states),
      ),
      QUESTIONS_AT_ONCE,
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
   * A table that is being made, a segment that is being committed or pushed, a broker that is being told: for moments all of these look like
   * faults. So what differs is looked at once more, a few seconds later, and only what still differs counts.
   */
  async #settle(states: readonly TableState[], resource: BrokerResource): Promise<BrokerResource> {
    const doubtful = states.filter((state) => isDoubtful(state, this.#needs('externalView')));
    const unserved = resource.ok && states.some(({ entry }) => (resource.value.get(entry.name) ?? []).length === 0);
    if ((doubtful.length === 0 && !unserved) || this.#reader.signal.aborted) return resource;
    await this.#reader.read(() => this.#reader.sleep(this.#options.settleMs));
    await pooled(doubtful, TABLES_AT_ONCE, (state) => this.#documents.readAgain(state));
    return unserved ? this.#brokerResource() : resource;
  }

  /** A disabled table holds nothing on purpose. Its view always differs, so only those that differ are asked. */
  async #enabled(state: TableState): Promise<void> {
    const suspicious = !state.difference.ok || state.difference.value.segments.count > 0;
    if (!this.#needs('enabled') || !suspicious) return;
    const enabled = await this.#reader.read(() => this.#tableCalls.enabled(state.entry));
    // A table whose state cannot be told is judged like any other.
    state.enabled = !enabled.ok || enabled.value;
  }

  /** What the servers of each enabled table are asked; it is known of none before all have answered. */
  #tableQuestion(question: TableQuestion, states: readonly TableState[]): Pass {
    const asked = states.filter((state) => state.enabled);
    this.#options.progress(states.length - asked.length);
    return this.#pass(
      asked,
      (state) => this.#answer(question, state),
      (answer) => !answer.ok && answer !== NOT_READ,
      (answers) => {
        for (const [state, answer] of answers) Object.assign(state, { [question]: answer });
        this.#options.snapshot.put({ tables: readOk(states.map(snapshotOf)) }, question);
      },
    );
  }

  async #answer(question: TableQuestion, { entry, assignment, consumingOffsets }: TableState): Promise<Read<unknown>> {
    const calls = this.#tableCalls;
    switch (question) {
      case 'consumingRows':
        return this.#with(assignment, async ({ consumingSegments }) =>
          consumingSegments === 0 ? new Map<string, number>() : calls.consumingRows(entry, consumingOffsets),
        );
      case 'primaryKeys':
        if (!entry.config.upsert && !entry.config.dedup) return NOT_READ;
        return this.#with(assignment, (value) => calls.primaryKeys(entry, value));
      case 'reload':
        return this.#with(assignment, (value) => calls.reload(entry, value, this.#schema(entry)));
      case 'rebalance':
        return this.#with(assignment, () => calls.rebalance(entry));
    }
  }

  /** Reads what builds on the assignment. */
  async #with<T>(assignment: Read<Assignment>, work: (value: Assignment) => Promise<T>): Promise<Read<T>> {
    return assignment.ok ? this.#reader.read(() => work(assignment.value)) : assignment;
  }

  #schema(entry: TableEntry): SchemaEntry | undefined {
    const { schemas } = this.#options;
    if (!schemas.ok) return undefined;
    return schemas.value.get(entry.rawName) ?? schemas.value.get(entry.config.schemaName ?? '');
  }

  /** One query for each table by its raw name: both parts of a hybrid table are one to a query. */
  #queries(states: readonly TableState[]): Pass {
    const names = [...new Set(states.filter(({ enabled }) => enabled).map(({ entry }) => entry.rawName))];
    this.#options.progress(states.length - names.length);
    return this.#pass(
      names,
      (name) => this.#reader.read<QueryOutcome>(() => this.#tableCalls.queryHealth(name)),
      (answer) => !answer.ok || !answer.value.ok,
      (queries) => this.#options.snapshot.put({ queries }, 'queries'),
    );
  }

  /** Asks something of each; what is not well is asked once more after a while, as a table just made may not be served yet. */
  #pass<K, V>(
    items: readonly K[],
    ask: (item: K) => Promise<V>,
    isDoubtful: (answer: V) => boolean,
    done: (answers: ReadonlyMap<K, V>) => void,
  ): Pass {
    const answers = new Map<K, V>();
    return {
      jobs: items.map((item) => async () => {
        answers.set(item, await ask(item));
        this.#options.progress(1);
      }),
      done: async () => {
        const again = items.filter((item) => isDoubtful(answers.get(item) as V));
        if (again.length > 0 && !this.#reader.signal.aborted) {
          await this.#reader.read(() => this.#reader.sleep(this.#options.settleMs));
          await pooled(again, QUESTIONS_AT_ONCE, async (item) => answers.set(item, await ask(item)));
        }
        done(answers);
      },
    };
  }

  async #origins(entries: readonly TableEntry[]): Promise<Read<ReadonlyMap<string, string>>> {
    return entries.length === 0 ? NOT_READ : this.#reader.read(() => this.#options.calls.tableOrigins());
  }

  /** What was read of a table that was deleted meanwhile says nothing, though there be another of its name by now. */
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

function isDoubtful(state: TableState, viewRead: boolean): boolean {
  if (hasFailed(state)) return true;
  if (!viewRead || !state.difference.ok) return false;
  return state.difference.value.segments.count > 0 || state.difference.value.viewMissing;
}
