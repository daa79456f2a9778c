import type { Engine } from '../../engine/types.ts';
import type { Assignment, PrimaryKeys, QueryOutcome, RebalanceSummary, ReloadSummary } from '../snapshot.ts';
import type { ClusterCalls } from './cluster.ts';
import { objectOf, type SchemaEntry, type TableEntry } from './configs.ts';
import { tokenIs, tokenText, type JsonVisitor } from './json-scanner.ts';
import { partitionOf, sampleOf } from './layout.ts';
import { IndexVisitor } from './index-visitor.ts';
import { StatusError, type Reader } from './reader.ts';

/** Calls that the controller answers by asking the servers of the table: they take longer than others. */
const FAN_OUT_TIMEOUT_MS = 60_000;
const QUERY_TIMEOUT_MS = 15_000;
/** Without an endpoint of its own, reloads are told by 11 KB of metadata for each segment: affordable up to here. */
const MAX_SEGMENTS_BY_METADATA = 2_000;
/** The default limit of rows that the engine returns from a query with groups. */
const MAX_GROUPS = 100_000;
const TABLE_NOT_FOUND = 190;

/** The calls that tell something of one table and are answered by its servers. */
export class TableCalls {
  readonly #reader: Reader;
  readonly #engine: Engine;
  readonly #calls: ClusterCalls;
  /** Whether this version of the engine tells reloads; asked once, by whoever comes first. */
  #reloadEndpoint: Promise<boolean> | undefined;

  readonly #summaries: boolean;

  /** @param summaries true where the engine can be asked for the summary of a dry run alone; older ones do not know the parameter */
  constructor(reader: Reader, engine: Engine, calls: ClusterCalls, summaries: boolean) {
    this.#summaries = summaries;
    this.#reader = reader;
    this.#engine = engine;
    this.#calls = calls;
  }

  async enabled(table: TableEntry): Promise<boolean> {
    const path = `/tables/${encodeURIComponent(table.name)}/state?type=${table.type}`;
    const body = objectOf(await this.#reader.json(this.#calls.call('table_state', path)));
    return body.state !== 'disabled';
  }

  async reload(table: TableEntry, assignment: Assignment, schema: SchemaEntry | undefined): Promise<ReloadSummary> {
    let own: ReloadSummary | undefined;
    // The first table finds out for all; while it does, the others wait for its answer and not for the endpoint's.
    this.#reloadEndpoint ??= this.#needReload(table, assignment).then((summary) => {
      own = summary;
      return summary !== undefined;
    });
    const exists = await this.#reloadEndpoint.catch((error: unknown) => {
      // That table could not tell whether the endpoint exists: the next one tries.
      this.#reloadEndpoint = undefined;
      throw error;
    });
    if (own !== undefined) return own;
    const summary = exists ? await this.#needReload(table, assignment) : undefined;
    return summary ?? this.#reloadByMetadata(table, assignment, schema);
  }

  /** @returns undefined where the endpoint does not exist */
  async #needReload(table: TableEntry, assignment: Assignment): Promise<ReloadSummary | undefined> {
    // The type suffix is a must: for any other name the engine answers that nothing is needed.
    const path = `/segments/${encodeURIComponent(table.name)}/needReload?verbose=true`;
    try {
      const body = objectOf(
        await this.#reader.json(this.#calls.call('need_reload', path, { timeoutMs: FAN_OUT_TIMEOUT_MS })),
      );
      const servers = objectOf(body.serverToSegmentsCheckReloadList);
      const needed = Object.keys(servers).filter((server) => objectOf(servers[server]).needReload === true);
      // A server that is down is left out without a word.
      const silent = [...assignment.servers.keys()].filter((server) => !(server in servers));
      return { needed: sampleOf(needed), unit: 'server', silent };
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #reloadByMetadata(
    table: TableEntry,
    assignment: Assignment,
    schema: SchemaEntry | undefined,
  ): Promise<ReloadSummary> {
    const completed = assignment.segments - assignment.consumingSegments;
    if (completed === 0) return { needed: sampleOf([]), unit: 'segment', silent: [] };
    if (completed > MAX_SEGMENTS_BY_METADATA) {
      throw new Error(
        `this version of the engine tells it by the metadata of each segment alone, and there are ${completed}, more than ${MAX_SEGMENTS_BY_METADATA}`,
      );
    }
    const path = `/segments/${encodeURIComponent(table.name)}/metadata?columns=*`;
    const expected = { columns: schema?.columnNames ?? [], indexes: table.config.indexes };
    const call = this.#calls.call('segments_metadata', path, { timeoutMs: FAN_OUT_TIMEOUT_MS });
    const visitor = await this.#reader.stream(call, () => new IndexVisitor(expected));
    if (visitor.segments < completed) {
      throw new Error(`the servers told the metadata of ${visitor.segments} of ${completed} segments`);
    }
    if (visitor.untold.length > 0) {
      throw new Error(`this version of the engine does not tell whether there is a ${visitor.untold.join(', ')}`);
    }
    return { needed: sampleOf(visitor.stale), unit: 'segment', silent: [] };
  }

  async primaryKeys(table: TableEntry, assignment: Assignment): Promise<PrimaryKeys> {
    const path = `/tables/${encodeURIComponent(table.name)}/metadata`;
    const call = this.#calls.call('table_metadata', path, { timeoutMs: FAN_OUT_TIMEOUT_MS });
    const counts = objectOf(await this.#reader.json(call)).upsertPartitionToServerPrimaryKeyCountMap;
    if (counts === undefined) return this.#countKeys(table, assignment);
    const partitions = new Map<number, Map<string, number>>();
    for (const [partition, servers] of Object.entries(objectOf(counts))) {
      const entries = Object.entries(objectOf(servers)).map(([server, count]) => [server, Number(count)] as const);
      partitions.set(Number(partition), new Map(entries));
    }
    for (const [partition, servers] of assignment.partitions) {
      const silent = servers.find((server) => partitions.get(partition)?.has(server) !== true);
      if (silent !== undefined) throw new Error(`\`${silent}\` did not tell its count of partition ${partition}`);
    }
    return { partitions, estimated: false };
  }

  /** Rows that a query sees are the primary keys, but for deleted and expired ones. */
  async #countKeys(table: TableEntry, assignment: Assignment): Promise<PrimaryKeys> {
    const limit = Math.min(MAX_GROUPS, Math.max(1, assignment.segments));
    const sql = `SELECT $segmentName, COUNT(*) FROM ${quoted(table.rawName)} GROUP BY $segmentName LIMIT ${limit}`;
    const answer = await this.#query(table.rawName, sql);
    const fault = exceptionIn(answer);
    if (fault !== undefined) throw new Error(`the query that counts them failed: ${fault}`);
    const byPartition = new Map<number, number>();
    const { rows } = objectOf(answer.resultTable);
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

  /** Rows of consuming segments by server, where the engine and the stream tell offsets that are numbers. */
  async consumingRows(table: TableEntry, beginnings: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const path = `/tables/${encodeURIComponent(table.rawName)}/consumingSegmentsInfo`;
    const call = this.#calls.call('consuming_segments', path, { timeoutMs: FAN_OUT_TIMEOUT_MS });
    const segments = objectOf(objectOf(await this.#reader.json(call))._segmentToConsumingInfoMap);
    const rows = new Map<string, number>();
    for (const [segment, infos] of Object.entries(segments)) {
      const begin = beginnings.get(segment);
      if (begin === undefined || !Array.isArray(infos)) continue;
      for (const info of infos.map(objectOf)) {
        const count = Number(Object.values(objectOf(info.partitionToOffsetMap))[0]) - begin;
        const server = String(info.serverName);
        if (count > 0) rows.set(server, (rows.get(server) ?? 0) + count);
      }
    }
    return rows;
  }

  async rebalance(table: TableEntry): Promise<RebalanceSummary> {
    const consuming = table.type === 'REALTIME' ? '&includeConsuming=true' : '';
    const summary = this.#summaries ? '&summary=true' : '';
    const path = `/tables/${encodeURIComponent(table.rawName)}/rebalance?type=${table.type}&dryRun=true${consuming}${summary}`;
    const call = this.#calls.call('rebalance_dry_run', path, { method: 'POST', timeoutMs: FAN_OUT_TIMEOUT_MS });
    const { status, description } = await this.#reader.stream(call, () => new RebalanceVisitor());
    if (status === 'NO_OP') return { needed: false, detail: description };
    // Instances were assigned anew and no segment would move.
    if (status === 'DONE') return { needed: !description.includes('already balanced'), detail: description };
    throw new Error(`the dry run of a rebalance ended as \`${status}\`: ${description}`);
  }

  /** Whether the table answers a query at all. */
  async queryHealth(rawName: string): Promise<QueryOutcome> {
    try {
      const answer = await this.#query(rawName, `SELECT $docId FROM ${quoted(rawName)} LIMIT 1`);
      const fault = exceptionIn(answer);
      return fault === undefined ? { ok: true, detail: 'OK' } : { ok: false, detail: fault };
    } catch (error) {
      // No broker, or none that answers: the query failed, whatever the reason. Only a run that ended knows nothing.
      if (this.#reader.signal.aborted) throw error;
      return { ok: false, detail: this.#reader.explain(error) };
    }
  }

  async #query(rawName: string, sql: string): Promise<Readonly<Record<string, unknown>>> {
    const endpoint = await this.#engine.brokerFor([rawName], this.#reader.signal);
    const answer = await this.#reader.answer({
      name: 'query',
      endpoint,
      path: '/query/sql',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql }),
      timeoutMs: QUERY_TIMEOUT_MS,
    });
    const body = objectOf(jsonOrNothing(answer.body));
    // Newer releases can be told to answer a failed query by a status; its exceptions say more than the status.
    if (answer.status !== 200 && body.exceptions === undefined) {
      return { exceptions: [{ errorCode: answer.status, message: answer.body.slice(0, 200) }] };
    }
    return body;
  }
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { exceptions: [{ errorCode: 'no JSON', message: text.slice(0, 200) }] };
  }
}

/** The first fault of a query's answer; undefined where it has none. */
function exceptionIn(answer: Readonly<Record<string, unknown>>): string | undefined {
  const { exceptions } = answer;
  if (!Array.isArray(exceptions)) return 'the answer has no `exceptions`';
  if (exceptions.length === 0) return undefined;
  const { errorCode, message } = objectOf(exceptions[0]);
  const words = typeof message === 'string' ? message.split('\n')[0]?.slice(0, 300) : '';
  const hint = errorCode === TABLE_NOT_FOUND ? ' (the broker does not know the table)' : '';
  return `error ${String(errorCode)}${words === '' ? '' : `: ${words}`}${hint}`;
}

/** A name that is a reserved word, or holds a dot, is a name only within quotes. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const STATUS = Buffer.from('status');
const DESCRIPTION = Buffer.from('description');

/** Reads `status` and `description` and lets the new assignment of every segment, which follows them, pass by. */
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
