import {
  CONSISTENCY_CHECK,
  NOT_READ,
  readOk,
  schemaOf,
  type Assignment,
  type ConsumingRows,
  type FailedRead,
  type Read,
} from '../../snapshot.ts';
import type { SchemaEntry, TableEntry } from '../configs.ts';
import type { ConsumingCalls } from './consuming-calls.ts';
import type { TableCalls } from './fan-outs.ts';
import { ReportedError } from '../calls/call.ts';
import type { EngineReader } from '../calls/reader.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';
import type { TableState } from '../tables/table-documents.ts';

/** Parts of a table that the controller computes or requests from the servers. */
export const SERVER_PARTS = ['consumingRows', 'consumption', 'primaryKeys', 'reload', 'rebalance'] as const;
export type ServerPart = (typeof SERVER_PARTS)[number];

const NO_ROWS: ConsumingRows = { servers: new Map(), segments: new Map() };
/** Calls of one kind at once. */
const CALLS_AT_ONCE = 4;

export interface ServerPartsOptions {
  readonly reader: EngineReader;
  readonly calls: TableCalls;
  readonly consuming: ConsumingCalls;
  /** The transaction that created a table; empty if it is not known. */
  readonly originOf: (table: string) => Promise<string>;
  readonly schemas: Promise<Read<ReadonlyMap<string, Read<SchemaEntry>>>>;
  /** Why the servers get no calls; undefined if they do. */
  readonly hanging: (servers: readonly string[]) => Promise<FailedRead | undefined>;
}

/** Reads the parts of tables that are requested from servers. */
export class ServerReadings {
  readonly #options: ServerPartsOptions;
  readonly #queues = new Map(SERVER_PARTS.map((part) => [part, FairQueue.ofJobs(part, CALLS_AT_ONCE)]));

  constructor(options: ServerPartsOptions) {
    this.#options = options;
  }

  async read(part: ServerPart, state: TableState): Promise<Read<unknown>> {
    const { calls, consuming, reader } = this.#options;
    const { entry, assignment, consumingStarts } = state;
    if (part === 'primaryKeys' && !entry.config.upsert && !entry.config.dedup) return NOT_READ;
    if (!assignment.ok) return assignment;
    switch (part) {
      case 'consumingRows':
        if (assignment.value.consumingSegments === 0) return readOk(NO_ROWS);
        return this.#fromServers(part, assignment.value, () => consuming.rows(entry, consumingStarts));
      case 'consumption':
        if (entry.type !== 'REALTIME') return NOT_READ;
        return this.#fromServers(part, assignment.value, async (value) =>
          consuming.consumption(entry, value, await this.#options.originOf(entry.name)),
        );
      case 'primaryKeys':
        return this.#fromServers(part, assignment.value, (value) => calls.primaryKeys(entry, value));
      case 'reload':
        return this.#fromServers(part, assignment.value, (value) =>
          calls.reload(entry, value, () => this.#schema(entry)),
        );
      case 'rebalance':
        // The controller computes it without the servers.
        return this.#queued(part, () => reader.read(() => calls.rebalance(entry)));
    }
  }

  /** Why the servers of the table get no calls; undefined if they do. */
  async hanging({ assignment }: TableState): Promise<FailedRead | undefined> {
    return assignment.ok ? this.#options.hanging([...assignment.value.servers.keys()]) : undefined;
  }

  async #fromServers<T>(
    part: ServerPart,
    assignment: Assignment,
    work: (assignment: Assignment) => Promise<T>,
  ): Promise<Read<T>> {
    // This is done outside of the queue: other tables do not wait for the health of the servers of this one.
    const hanging = await this.#options.hanging([...assignment.servers.keys()]);
    return hanging ?? this.#queued(part, () => this.#options.reader.read(() => work(assignment)));
  }

  async #queued<T>(part: ServerPart, work: () => Promise<T>): Promise<T> {
    return (this.#queues.get(part) as FairQueue).run(work);
  }

  /** @throws {Error} the schemas, or the table's schema, could not be read */
  async #schema(entry: TableEntry): Promise<SchemaEntry> {
    const schemas = await this.#options.schemas;
    if (!schemas.ok) throw new Error(`could not read the schemas: ${schemas.error}`);
    const schema = schemaOf(schemas.value, entry);
    // Whether a segment follows a schema that is missing is not known.
    if (schema?.ok !== true) throw new ReportedError(schema?.error ?? 'the table has no schema', CONSISTENCY_CHECK);
    return schema.value;
  }
}
