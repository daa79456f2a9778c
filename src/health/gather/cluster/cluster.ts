import { basename, dirname } from 'node:path/posix';
import { EngineError, type Engine } from '../../../pinot/types.ts';
import type { Instance, InstanceHealth, NodeSize, Read } from '../../snapshot.ts';
import {
  parseBrokerResource,
  parseInstancePartitions,
  parseInstances,
  parseLeaders,
  parseSchemas,
  parseTables,
  type SchemaEntry,
  type TableEntries,
} from '../configs.ts';
import { objectOf, textOf } from '../json-values.ts';
import { StatusError, type ControllerCall } from '../calls/call.ts';
import type { StatLists } from './cluster-stamps.ts';
import { HangingError } from '../calls/endpoint-guards.ts';
import { nodeSizesOf, parseStats, type NodeStats } from './node-stats.ts';
import type { EngineReader } from '../calls/reader.ts';

/** Two attempts end within 10 s. */
const HEALTH_TIMEOUT_MS = 4_000;
/** One response has the configurations of all tables. */
const CHILDREN_TIMEOUT_MS = 20_000;
/** Applies to the metadata of all segments of a table: the controller reads all of it before it responds. */
const METADATA_TIMEOUT_MS = 60_000;
const METADATA_PRIORITY = 7;
const TASK_QUEUE = 'TaskQueue_';
const REBALANCE_JOBS = 'PROPERTYSTORE/CONTROLLER_JOBS/TABLE_REBALANCE';

const STAT_PATHS: Readonly<Record<keyof StatLists, string>> = {
  root: '',
  idealStates: 'IDEALSTATES',
  externalViews: 'EXTERNALVIEW',
  tableConfigs: 'PROPERTYSTORE/CONFIGS/TABLE',
  schemas: 'PROPERTYSTORE/SCHEMAS',
  segments: 'PROPERTYSTORE/SEGMENTS',
  instances: 'CONFIGS/PARTICIPANT',
  liveInstances: 'LIVEINSTANCES',
  instancePartitions: 'PROPERTYSTORE/INSTANCE_PARTITIONS',
  clusterConfigs: 'CONFIGS/CLUSTER',
};

/** The calls about the whole cluster. */
export class ClusterCalls {
  readonly #reader: EngineReader;
  readonly #engine: Engine;
  /** Path of the cluster's root node in ZooKeeper; set by `info`. */
  #root = '';
  /** By path of the parent. */
  readonly #lists = new Map<string, Promise<unknown>>();

  constructor(reader: EngineReader, engine: Engine) {
    this.#reader = reader;
    this.#engine = engine;
  }

  /** The cluster's name, which all other calls need, and the engine's version if it is reported. */
  async info(): Promise<{ name: string; version: string | undefined }> {
    const response = await this.#reader.jsonResponse(this.call('cluster_info', '/cluster/info'));
    const name = objectOf(response.body).clusterName;
    if (typeof name !== 'string' || name === '')
      throw new Error('the response to `GET /cluster/info` has no `clusterName`');
    this.#root = `/${name}`;
    // `1.5.1-020ff0d0…`: version and commit.
    const header = response.headers['pinot-controller-version'];
    return { name, version: typeof header === 'string' ? header.split('-')[0] : undefined };
  }

  /** The configured instances, and the ids of live ones without a configuration. */
  async instances(): Promise<{ configured: Instance[]; unconfigured: string[] }> {
    const [configs, live] = await Promise.all([
      this.#reader.json(this.#zk('getChildren', 'CONFIGS/PARTICIPANT', 'instances')),
      this.#reader.json(this.#zk('ls', 'LIVEINSTANCES', 'live_instances')),
    ]);
    if (!Array.isArray(live) || live.length === 0) {
      throw new Error('the list of live instances is empty, although a controller responded');
    }
    const ids = new Set(live.map(String));
    const configured = parseInstances(configs, ids);
    if (configured.length === 0) {
      throw new Error(`the list of configured instances is empty, although ${ids.size} are live`);
    }
    for (const { id } of configured) ids.delete(id);
    return { configured, unconfigured: [...ids] };
  }

  /** When each live instance joined, milliseconds since the epoch: its node exists for as long as its session. */
  async joinTimes(): Promise<Map<string, number>> {
    return new Map([...(await this.#stats('LIVEINSTANCES'))].map(([id, { ctime }]) => [id, ctime]));
  }

  /** Tables with a rebalance in progress: Pinot keeps the jobs of each, from version 1.0 on. */
  async rebalancing(): Promise<Set<string>> {
    return rebalancingTables(await this.#listOrNone('get', REBALANCE_JOBS, 'rebalance_jobs'));
  }

  async tables(): Promise<TableEntries> {
    return parseTables(await this.#childrenOrNone('PROPERTYSTORE/CONFIGS/TABLE', 'table_configs'));
  }

  /** Names of tables with a configuration; none if there was no table yet. */
  async configuredTables(): Promise<string[]> {
    return Object.keys(objectOf(await this.#listOrNone('lsl', 'PROPERTYSTORE/CONFIGS/TABLE', 'table_names')));
  }

  /** Names of tables with a node in this place. @throws {StatusError} 404 for a place that does not exist */
  async tableNodes(place: 'IDEALSTATES' | 'EXTERNALVIEW'): Promise<string[]> {
    return tableNames(await this.#reader.json(this.#zk('ls', place, 'table_names')));
  }

  /** Names of tables with segment metadata; none if there was no segment yet. */
  async tablesWithMetadata(): Promise<string[]> {
    return tableNames(await this.#listOrNone('ls', 'PROPERTYSTORE/SEGMENTS', 'table_names'));
  }

  /** Raw names of the tables of the default database. */
  async listedTables(): Promise<string[]> {
    const { tables } = objectOf(await this.#reader.json(this.call('tables', '/tables')));
    if (!Array.isArray(tables)) throw new Error('the response to `GET /tables` has no `tables`');
    return tables.map(String);
  }

  /** The id of the transaction that created each table, by name: it differs if a table was deleted and created again. */
  async tableOrigins(): Promise<Map<string, string>> {
    const stats = objectOf(await this.#reader.json(this.#zk('lsl', 'PROPERTYSTORE/CONFIGS/TABLE', 'table_names')));
    return new Map(Object.keys(stats).map((name) => [name, String(objectOf(stats[name]).czxid)]));
  }

  /** The lists of nodes that show what has changed since an earlier run. */
  async stats(): Promise<StatLists> {
    const entries = await Promise.all(
      Object.entries(STAT_PATHS).map(async ([list, path]) => {
        return [list, await this.#stats(path)] as const;
      }),
    );
    return Object.fromEntries(entries) as unknown as StatLists;
  }

  /** Nothing is concluded about nodes without a stat, so a list that does not exist is empty. */
  async #stats(path: string): Promise<NodeStats> {
    try {
      return parseStats(await this.#children(path));
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return new Map();
      throw error;
    }
  }

  /** The sizes of the nodes that grow with the segments of a table. @throws {Error} a list that lacks nodes */
  async nodeSizes(): Promise<NodeSize[]> {
    const [idealStates, externalViews] = await Promise.all([
      this.#children('IDEALSTATES').then((stats) => nodeSizesOf(stats, 'ideal state')),
      this.#children('EXTERNALVIEW').then((stats) => nodeSizesOf(stats, 'external view')),
    ]);
    // Pinot makes ideal states of its own when a cluster is set up, and their views with the first table.
    if (idealStates.length === 0 || (externalViews.length === 0 && idealStates.some(({ name }) => isTable(name)))) {
      throw new Error(`the list of ${idealStates.length === 0 ? 'ideal states' : 'external views'} is empty`);
    }
    return [...idealStates, ...externalViews];
  }

  /** The node of a segment's metadata; undefined if there is none. */
  async segmentNode(table: string, segment: string): Promise<{ downloadUrl: string | undefined } | undefined> {
    try {
      const node = await this.#reader.json(
        this.#zk('get', `PROPERTYSTORE/SEGMENTS/${table}/${segment}`, 'segment_node'),
      );
      return { downloadUrl: textOf(objectOf(objectOf(node).simpleFields)['segment.download.url']) };
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** The stats of the children of a node, read once in a run. */
  #children(path: string): Promise<unknown> {
    const known = this.#lists.get(path);
    if (known !== undefined) return known;
    const list = this.#reader.json(this.#zk('lsl', path, 'node_stats'));
    this.#lists.set(path, list);
    return list;
  }

  async schemas(): Promise<Map<string, Read<SchemaEntry>>> {
    return parseSchemas(await this.#childrenOrNone('PROPERTYSTORE/SCHEMAS', 'schemas'));
  }

  async instancePartitions(): Promise<ReturnType<typeof parseInstancePartitions>> {
    return parseInstancePartitions(
      await this.#childrenOrNone('PROPERTYSTORE/INSTANCE_PARTITIONS', 'instance_partitions'),
    );
  }

  async brokerResource(): Promise<Map<string, string[]>> {
    return parseBrokerResource(
      await this.#reader.json(this.#zk('get', 'EXTERNALVIEW/brokerResource', 'broker_resource')),
    );
  }

  /** Types of minion tasks: Helix has a queue for each. `GET /tasks/tasktypes` responds with 500 where there is none (Pinot 0.11). */
  async taskTypes(): Promise<string[]> {
    const names = await this.#listOrNone('ls', 'CONFIGS/RESOURCE', 'task_queues');
    const queues = (Array.isArray(names) ? names.map(String) : []).filter((name) => name.startsWith(TASK_QUEUE));
    // The tasks of a queue have its name and their own.
    return queues.map((name) => name.slice(TASK_QUEUE.length)).filter((type) => !type.includes('_Task_'));
  }

  async leaders(): Promise<Map<string, number>> {
    return parseLeaders(await this.#reader.json(this.call('leaders', '/leader/tables')));
  }

  async clusterConfig(): Promise<Record<string, string>> {
    return objectOf(await this.#reader.json(this.call('cluster_config', '/cluster/configs'))) as Record<string, string>;
  }

  segmentMetadata(table: string): ControllerCall {
    const call = this.#zk('getChildren', `PROPERTYSTORE/SEGMENTS/${table}`, 'segment_metadata');
    return { ...call, timeoutMs: METADATA_TIMEOUT_MS, priority: METADATA_PRIORITY };
  }

  terseMetadata(table: string): ControllerCall {
    const path = `/segments/${encodeURIComponent(table)}/zkmetadata`;
    return this.call('segment_metadata', path, { timeoutMs: METADATA_TIMEOUT_MS, priority: METADATA_PRIORITY });
  }

  /** A call to the controller. @param name name of the endpoint in metrics */
  call(name: string, path: string, more: Partial<ControllerCall> = {}): ControllerCall {
    return { name, path, endpoint: this.#engine.controller, ...more };
  }

  /** The disk usage of a server. @param adminPort of the server */
  diskUtilization(host: string, adminPort: string, scheme: string): ControllerCall {
    const url = `${scheme}://${urlHost(host)}:${adminPort}`;
    const endpoint = this.#engine.endpoint(url);
    const path = '/instance/diskUtilization';
    return { name: 'disk_utilization', endpoint, path, timeoutMs: HEALTH_TIMEOUT_MS, usesSlot: false };
  }

  /** Requests `/health` of an instance; undefined if its configuration has no host or port for it. */
  async health(instance: Instance, scheme: string): Promise<InstanceHealth | undefined> {
    const port = instance.type === 'server' ? instance.adminPort : instance.port;
    if (port === undefined || port === '' || instance.host === '') return undefined;
    const host = urlHost(instance.host);
    const url = `${scheme}://${host}:${port}/health`;
    try {
      const response = await this.#reader.response({
        name: `${instance.type}_health`,
        endpoint: this.#engine.endpoint(`${scheme}://${host}:${port}`),
        path: '/health',
        timeoutMs: HEALTH_TIMEOUT_MS,
        usesSlot: false,
      });
      const body = response.body.trim().slice(0, 100);
      const healthy = response.status === 200 && body === 'OK';
      return { healthy, unreachable: false, detail: healthy ? 'OK' : `${response.status} ${body}`.trim(), url };
    } catch (error) {
      const skipped = error instanceof HangingError && !error.called;
      const hangs = (error instanceof HangingError && error.called) || isConnectTimeout(error);
      const detail = this.#reader.explain(withoutCall(error));
      return { healthy: false, unreachable: true, detail, url, ...(hangs && { hangs }), ...(skipped && { skipped }) };
    }
  }

  #zk(operation: 'get' | 'getChildren' | 'ls' | 'lsl', path: string, name: string): ControllerCall {
    const full = (path === '' ? this.#root : `${this.#root}/${path}`).split('/').map(encodeURIComponent).join('/');
    return this.call(name, `/zk/${operation}?path=${full}`, { timeoutMs: CHILDREN_TIMEOUT_MS });
  }

  /** The children of a node; none if the node does not exist, as before the first such object. */
  async #childrenOrNone(path: string, name: string): Promise<unknown> {
    return this.#listOrNone('getChildren', path, name);
  }

  /**
   * A list of children; empty if the node does not exist.
   * @throws {StatusError} 404 although the parent lists the node, or cannot be listed: a proxy may hide what exists
   */
  async #listOrNone(operation: 'get' | 'getChildren' | 'ls' | 'lsl', path: string, name: string): Promise<unknown> {
    try {
      return await this.#reader.json(this.#zk(operation, path, name));
    } catch (error) {
      if (!(error instanceof StatusError && error.status === 404)) throw error;
      const parent = await this.#reader.json(this.#zk('ls', dirname(path), 'parent_node'));
      if (!Array.isArray(parent) || parent.includes(basename(path))) throw error;
      return [];
    }
  }
}

/** The tables of the jobs with the status IN_PROGRESS. */
function rebalancingTables(body: unknown): Set<string> {
  const jobs = Object.values(objectOf(objectOf(body).mapFields)).map(objectOf);
  const running = jobs.filter(({ REBALANCE_PROGRESS_STATS: stats }) => {
    return typeof stats === 'string' && /"status"\s*:\s*"IN_PROGRESS"/u.test(stats);
  });
  return new Set(running.map(({ tableName }) => String(tableName)));
}

function tableNames(body: unknown): string[] {
  if (!Array.isArray(body)) throw new Error('the response is not a list of names');
  return body.map(String).filter(isTable);
}

function isTable(name: string): boolean {
  return /._(?:OFFLINE|REALTIME)$/u.test(name);
}

/** Whether there was no response to the connection, as from a host that is gone or behind a firewall. */
function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && /TIMEDOUT|CONNECT_TIMEOUT/u.test(error.message);
}

/** The error of a call without the name of the call, which is told by its URL here. */
function withoutCall(error: unknown): unknown {
  return error instanceof EngineError ? (error.cause ?? error) : error;
}

/** The host in a URL: an IPv6 address is in brackets. */
function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
