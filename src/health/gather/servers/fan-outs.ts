import { tableNameOf } from '../../../pinot/table-name.ts';
import type { Engine } from '../../../pinot/types.ts';
import type { Assignment, PrimaryKeys, QueryOutcome, RebalanceSummary, ReloadSummary } from '../../snapshot.ts';
import { rounded } from '../../numbers.ts';
import type { ClusterCalls } from '../cluster/cluster.ts';
import { HangingError } from '../calls/endpoint-guards.ts';
import { exceptionText } from './exception-text.ts';
import { type SchemaEntry, type TableEntry } from '../configs.ts';
import { objectOf } from '../json-values.ts';
import { tokenIs, type JsonVisitor } from '../calls/json-scanner.ts';
import { tokenText } from '../../../platform/json/valid-json.ts';
import { partitionOf, sampleOf } from '../placement/layout.ts';
import { IndexVisitor } from './index-visitor.ts';
import { ReportedError, StatusError, type ControllerCall } from '../calls/call.ts';
import type { EngineReader } from '../calls/reader.ts';

/** Applies to calls that the controller forwards to the servers of the table. */
export const FAN_OUT_TIMEOUT_MS = 40_000;
/** Waiting calls with a lower number start first: the most informative ones, then the cheapest. */
const PRIORITY = { query: 2, primaryKeys: 4, reload: 5, rebalance: 6 } as const;
const QUERY_TIMEOUT_MS = 15_000;
/** Checks wait for the state of a table; a table without a known state counts as enabled. */
const STATE_CALL = { timeoutMs: 4_000, retryHanging: false, priority: 0 } as const;
/** Limit for engine versions without a reload endpoint: the metadata that is read instead has 11 KB for each segment. */
const MAX_SEGMENTS_BY_METADATA = 2_000;
/** The engine's default limit of groups in a query result. */
const MAX_GROUPS = 100_000;
const TABLE_NOT_FOUND = 190;

/** The calls about one table that the controller forwards to its servers. */
export class TableCalls {
  readonly #reader: EngineReader;
  readonly #engine: Engine;
  readonly #calls: ClusterCalls;
  /** Whether this engine version has the reload endpoint; for old versions determined by the first call, for which the others wait. */
  #hasReloadEndpoint: Promise<boolean> | undefined;
  readonly #isNew: boolean;

  /** @param isNew whether the engine version has the reload endpoint and can return only the summary of a rebalance dry run: 1.0 and later */
  constructor(reader: EngineReader, engine: Engine, calls: ClusterCalls, isNew: boolean) {
    this.#isNew = isNew;
    this.#reader = reader;
    this.#engine = engine;
    this.#calls = calls;
  }

  async enabled(table: TableEntry): Promise<boolean> {
    const path = `/tables/${encodeURIComponent(table.name)}/state?type=${table.type}`;
    const body = objectOf(await this.#reader.json(this.#calls.call('table_state', path, STATE_CALL)));
    return body.state !== 'disabled';
  }

  /** @param schema called for engine versions without the reload endpoint */
  async reload(table: TableEntry, assignment: Assignment, schema: () => Promise<SchemaEntry>): Promise<ReloadSummary> {
    if (this.#isNew)
      return (await this.#needReload(table, assignment)) ?? this.#reloadByMetadata(table, assignment, schema);
    let own: ReloadSummary | undefined;
    this.#hasReloadEndpoint ??= this.#needReload(table, assignment).then((summary) => {
      own = summary;
      return summary !== undefined;
    });
    const exists = await this.#hasReloadEndpoint.catch((error: unknown) => {
      // The response does not show whether the endpoint exists: the next table tries again.
      this.#hasReloadEndpoint = undefined;
      throw error;
    });
    if (own !== undefined) return own;
    const summary = exists ? await this.#needReload(table, assignment) : undefined;
    return summary ?? this.#reloadByMetadata(table, assignment, schema);
  }

  /** @returns undefined if the endpoint does not exist */
  async #needReload(table: TableEntry, assignment: Assignment): Promise<ReloadSummary | undefined> {
    // The type suffix is required: for any other name the engine reports that no reload is needed.
    const path = `/segments/${encodeURIComponent(table.name)}/needReload?verbose=true`;
    try {
      const body = objectOf(await this.#reader.json(this.#fanOut('need_reload', path, PRIORITY.reload)));
      const servers = objectOf(body.serverToSegmentsCheckReloadList);
      const needed = Object.keys(servers).filter((server) => objectOf(servers[server]).needReload === true);
      // The response omits servers that are down.
      const silent = [...assignment.servers.keys()].filter((server) => !(server in servers));
      return { needed: sampleOf(needed), unit: 'server', silent, oneReplica: false };
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #reloadByMetadata(
    table: TableEntry,
    assignment: Assignment,
    schema: () => Promise<SchemaEntry>,
  ): Promise<ReloadSummary> {
    const completed = assignment.segments - assignment.consumingSegments;
    if (completed === 0) return { needed: sampleOf([]), unit: 'segment', silent: [], oneReplica: false };
    if (completed > MAX_SEGMENTS_BY_METADATA) {
      throw new Error(
        `this engine version reports it only in the metadata of each segment, which is read for at most ${rounded(MAX_SEGMENTS_BY_METADATA)} segments; the table has ${rounded(completed)}`,
      );
    }
    const path = `/segments/${encodeURIComponent(table.name)}/metadata?columns=*`;
    const { indexes, rawColumns } = table.config;
    const expected = { columns: (await schema()).columnNames, indexes, rawColumns };
    const call = this.#fanOut('segments_metadata', path, PRIORITY.reload);
    const visitor = await this.#reader.stream(call, () => new IndexVisitor(expected));
    if (visitor.segments < completed) {
      throw new Error(
        `the servers returned the metadata of ${rounded(visitor.segments)} of ${rounded(completed)} segments`,
      );
    }
    if (visitor.unreported.length > 0) {
      throw new Error(`this engine version does not report whether segments have ${visitor.unreported.join(', ')}`);
    }
    const replicas = [...assignment.servers.values()].reduce((sum, { segments }) => sum + segments, 0);
    const oneReplica = replicas > assignment.segments;
    return { needed: sampleOf(visitor.stale), unit: 'segment', silent: [], oneReplica };
  }

  async primaryKeys(table: TableEntry, assignment: Assignment): Promise<PrimaryKeys> {
    const path = `/tables/${encodeURIComponent(table.name)}/metadata`;
    const call = this.#fanOut('table_metadata', path, PRIORITY.primaryKeys);
    const counts = objectOf(await this.#reader.json(call)).upsertPartitionToServerPrimaryKeyCountMap;
    if (counts === undefined) return this.#countKeys(table, assignment);
    const partitions = new Map<number, Map<string, number>>();
    for (const [partition, servers] of Object.entries(objectOf(counts))) {
      const entries = Object.entries(objectOf(servers)).map(([server, count]) => [server, Number(count)] as const);
      partitions.set(Number(partition), new Map(entries));
    }
    for (const [partition, servers] of assignment.partitions) {
      const silent = servers.find((server) => partitions.get(partition)?.has(server) !== true);
      if (silent !== undefined) throw new Error(`\`${silent}\` did not report its count for partition ${partition}`);
    }
    return { partitions, estimated: false };
  }

  /** An estimate: the number of rows that a query returns is the number of keys without deleted and expired ones. */
  async #countKeys(table: TableEntry, assignment: Assignment): Promise<PrimaryKeys> {
    const limit = Math.min(MAX_GROUPS, Math.max(1, assignment.segments));
    const sql = `SELECT $segmentName, COUNT(*) FROM ${quoted(table.rawName)} GROUP BY $segmentName LIMIT ${limit}`;
    const response = await this.#query(table.rawName, sql);
    const fault = exceptionIn(response);
    if (fault !== undefined) throw new Error(`the query for primary-key counts failed: ${fault}`);
    const byPartition = new Map<number, number>();
    const { rows } = objectOf(response.resultTable);
    for (const row of Array.isArray(rows) ? (rows as unknown[][]) : []) {
      const partition = partitionOf(String(row[0]));
      if (partition !== undefined) byPartition.set(partition, (byPartition.get(partition) ?? 0) + Number(row[1]));
    }
    const partitions = new Map<number, Map<string, number>>();
    for (const [partition, servers] of assignment.partitions) {
      const count = byPartition.get(partition) ?? 0;
      partitions.set(partition, new Map(servers.map((server) => [server, count])));
    }
    return { partitions, estimated: true };
  }

  async rebalance(table: TableEntry): Promise<RebalanceSummary> {
    const consuming = table.type === 'REALTIME' ? '&includeConsuming=true' : '';
    const summary = this.#isNew ? '&summary=true' : '';
    const path = `/tables/${encodeURIComponent(table.rawName)}/rebalance?type=${table.type}&dryRun=true${consuming}${summary}`;
    const call = { ...this.#fanOut('rebalance_dry_run', path, PRIORITY.rebalance), method: 'POST' };
    const { status, description } = await this.#reader.stream(call, () => new RebalanceVisitor());
    if (status === 'NO_OP') return { needed: false, detail: description };
    // `DONE` with "already balanced": instances would be assigned again, but no segment would move.
    if (status === 'DONE') return { needed: !description.includes('already balanced'), detail: description };
    // The controller cannot compute an assignment for a tag without servers.
    if (/No (?:enabled )?instance (?:has the|found with) tag/iu.test(description)) {
      throw new ReportedError(description, 'TENANT_SERVERS_CHECK');
    }
    throw new Error(`the rebalance dry run ended with status \`${status}\`: ${description}`);
  }

  /** Runs the specification's query on the table. */
  async queryHealth(rawName: string): Promise<QueryOutcome> {
    try {
      const response = await this.#query(rawName, `SELECT $docId FROM ${quoted(rawName)} LIMIT 1`);
      const fault = exceptionIn(response);
      return fault === undefined ? { ok: true, detail: 'OK', lacks: lackOf(response) } : { ok: false, detail: fault };
    } catch (error) {
      const hung = error instanceof HangingError;
      // A missing broker and a time-out are failed queries, too. A query that was not run has no result.
      if (this.#reader.signal.aborted || (hung && !error.called)) throw error;
      return { ok: false, detail: this.#reader.explain(error), ...(hung && { hung }) };
    }
  }

  #fanOut(name: string, path: string, priority: number): ControllerCall {
    return this.#calls.call(name, path, { timeoutMs: FAN_OUT_TIMEOUT_MS, priority });
  }

  async #query(rawName: string, sql: string): Promise<Readonly<Record<string, unknown>>> {
    const endpoint = await this.#engine.brokerFor([tableNameOf(rawName)], this.#reader.signal);
    const response = await this.#reader.response({
      name: 'query',
      endpoint,
      path: '/query/sql',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql }),
      timeoutMs: QUERY_TIMEOUT_MS,
      retryHanging: false,
      priority: PRIORITY.query,
    });
    const body = objectOf(parseOrException(response.body));
    // Newer engine versions can report a failed query with an error status; the exceptions in the body are more precise.
    if (response.status !== 200 && body.exceptions === undefined) {
      return { exceptions: [{ errorCode: response.status, message: response.body.slice(0, 200) }] };
    }
    return body;
  }
}

function parseOrException(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { exceptions: [{ errorCode: 'not JSON', message: text.slice(0, 200) }] };
  }
}

/** The first exception in the response to a query; undefined if it has none. */
function exceptionIn(response: Readonly<Record<string, unknown>>): string | undefined {
  const { exceptions } = response;
  if (!Array.isArray(exceptions)) return 'the response has no `exceptions`';
  if (exceptions.length === 0) return undefined;
  const { errorCode, message } = objectOf(exceptions[0]);
  const text = typeof message === 'string' ? exceptionText(message) : '';
  const hint = errorCode === TABLE_NOT_FOUND ? ' (the broker does not know the table)' : '';
  return `error ${String(errorCode)}${text === '' ? '' : `: ${text}`}${hint}`;
}

/** See `QueryOutcome.lacks`. A broker may exclude all segments because they are empty, which is no lack. */
function lackOf(response: Readonly<Record<string, unknown>>): QueryOutcome['lacks'] {
  if (Number(response.numSegmentsPrunedByBroker ?? 0) > 0) return undefined;
  if (response.numServersQueried === 0) return 'servers';
  return response.resultTable === undefined || response.resultTable === null ? 'result' : undefined;
}

/** A quoted SQL identifier: names may be reserved words or contain dots. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const STATUS = Buffer.from('status');
const DESCRIPTION = Buffer.from('description');

/** Reads `status` and `description`; skips the new assignment of every segment, which follows them. */
class RebalanceVisitor implements JsonVisitor {
  status = '';
  description = '';
  #member: 'status' | 'description' | undefined;

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth !== 1) return;
    this.#member = undefined;
    if (tokenIs(bytes, start, end, STATUS)) this.#member = 'status';
    else if (tokenIs(bytes, start, end, DESCRIPTION)) this.#member = 'description';
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 1 && this.#member !== undefined) this[this.#member] = tokenText(bytes, start, end);
  }

  satisfied(): boolean {
    return this.status !== '' && this.description !== '';
  }
}
