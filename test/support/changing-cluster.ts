import { Readable } from 'node:stream';
import {
  EngineError,
  type Engine,
  type EngineEndpoint,
  type EngineRequest,
  type EngineResponse,
} from '../../src/pinot/types.ts';
import type { TableType } from '../../src/health/snapshot.ts';
import { NodeTree } from './node-tree.ts';

const CLUSTER = 'c';
const BROKER = 'Broker_broker-0_8099';
const CONTROLLER = 'Controller_controller-0_9000';

export interface SimulatedSegment {
  consuming: boolean;
  docs: number;
  /** Bytes of the packed file. */
  packed: number;
  /** Bytes on the disk of a server. */
  size: number;
  start: number;
  end: number;
  readonly servers: string[];
  /** Servers that do not serve their replica. */
  readonly failed: Set<string>;
}

export interface SimulatedTable {
  readonly name: string;
  readonly rawName: string;
  readonly type: TableType;
  refresh: boolean;
  tier: boolean;
  /** Segments are old enough for another storage tier. */
  aged: boolean;
  upsert: boolean;
  replication: number;
  enabled: boolean;
  needsReload: boolean;
  /** Bytes on disk for each packed byte. */
  growth: number;
  keys: number;
  columns: number;
  readonly segments: Map<string, SimulatedSegment>;
}

interface SimulatedServer {
  readonly tags: string[];
  enabled: boolean;
  live: boolean;
}

/**
 * A small cluster of Apache Pinot 1.5 in this process that changes like a real one: each change writes the nodes in ZooKeeper that the engine writes, and
 * `/zk/lsl` returns their stats. What a server does without ZooKeeper, such as a reload, writes no node.
 */
export class ChangingCluster implements Engine {
  readonly tables = new Map<string, SimulatedTable>();
  readonly servers = new Map<string, SimulatedServer>();
  readonly clusterConfig: Record<string, string> = {};
  /** `METHOD path` of each request, decoded. */
  readonly requests: string[] = [];
  /** Answers in place of the cluster's own, by the path. */
  readonly answers = new Map<string, unknown>();
  /** Segments whose files the deep store has lost. */
  readonly lostFiles = new Set<string>();
  version = '1.5.1';
  /** Called with each path before the response. */
  onRequest: (path: string) => void = () => undefined;
  readonly controller: EngineEndpoint;
  readonly nodes: NodeTree;

  constructor(createdAt = Date.parse('2025-01-01T00:00:00Z')) {
    this.nodes = new NodeTree(createdAt);
    this.controller = this.endpoint('http://controller');
    for (const root of ['', 'IDEALSTATES', 'EXTERNALVIEW', 'CONFIGS', 'PROPERTYSTORE', 'LIVEINSTANCES']) {
      this.nodes.write(root === '' ? '' : `/${root}`);
    }
    for (const parent of ['CONFIGS/TABLE', 'SCHEMAS', 'SEGMENTS', 'INSTANCE_PARTITIONS']) {
      this.nodes.write(`/PROPERTYSTORE/${parent}`);
    }
    for (const parent of ['PARTICIPANT', 'CLUSTER', `CLUSTER/${CLUSTER}`]) this.nodes.write(`/CONFIGS/${parent}`);
    for (const id of [BROKER, CONTROLLER]) {
      this.nodes.write(`/CONFIGS/PARTICIPANT/${id}`);
      this.nodes.write(`/LIVEINSTANCES/${id}`);
    }
  }

  async brokerFor(): Promise<EngineEndpoint> {
    return this.endpoint('http://broker');
  }

  endpoint(url: string): EngineEndpoint {
    return { url, request: (request) => this.#respond(url, request) };
  }

  async close(): Promise<void> {
    this.answers.clear();
  }

  async #respond(url: string, request: EngineRequest): Promise<EngineResponse> {
    const path = decodeURIComponent(request.path);
    this.requests.push(`${request.method} ${path}`);
    this.onRequest(path);
    if (request.signal?.aborted === true) throw new EngineError('aborted', 'the caller gave up');
    const body = this.answers.has(path) ? this.answers.get(path) : this.#body(url, path, request.method);
    return {
      status: body === undefined ? 404 : 200,
      headers: { 'pinot-controller-version': `${this.version}-stub` },
      body: Readable.from([Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? { code: 404 }))]),
    };
  }

  #body(url: string, path: string, method: string): unknown {
    if (method === 'HEAD') return this.#file(path);
    if (path === '/health')
      return this.servers.get(`Server_${new URL(url).hostname}_8098`)?.live === false ? 'DOWN' : 'OK';
    if (path === '/query/sql') return { resultTable: { rows: [[0]] }, exceptions: [], numServersQueried: 2 };
    const [, operation, node = ''] = /^\/zk\/(\w+)\?path=\/c(.*)$/u.exec(path) ?? [];
    if (operation === 'lsl') return this.nodes.children(node);
    if (operation === 'ls') return Object.keys(this.nodes.children(node) ?? {});
    if (operation === 'get') return this.#segmentNode(node);
    if (operation !== undefined) return this.#nodes(node);
    if (path === '/cluster/info') return { clusterName: CLUSTER };
    if (path === '/cluster/configs') return this.clusterConfig;
    if (path === '/tables') return { tables: [...this.tables.values()].map(({ rawName }) => rawName) };
    if (path === '/leader/tables') {
      const tableNames = [...this.tables.values()].map(({ rawName }) => rawName);
      return { leadControllerEntryMap: { p0: { leadControllerId: CONTROLLER, tableNames } } };
    }
    return this.#tableBody(path);
  }

  #segmentNode(node: string): unknown {
    const [, name = '', segment = ''] = /^\/PROPERTYSTORE\/SEGMENTS\/([^/]+)\/(.+)$/u.exec(node) ?? [];
    const table = this.tables.get(name);
    const state = table?.segments.get(segment);
    if (table === undefined || state === undefined) return undefined;
    return { id: segment, simpleFields: metadata(table, segment, state) };
  }

  #nodes(node: string): unknown {
    const znode = (id: string, simpleFields: object, more: object = {}) => ({
      id,
      simpleFields,
      mapFields: {},
      listFields: {},
      ...more,
    });
    const tables = [...this.tables.values()];
    switch (node) {
      case '/PROPERTYSTORE/CONFIGS/TABLE':
        return tables.map((table) => znode(table.name, tableConfig(table)));
      case '/PROPERTYSTORE/SCHEMAS':
        return tables.map(({ rawName, columns }) => {
          const dimensionFieldSpecs = Array.from({ length: columns }, (_, column) => ({ name: `c${column}` }));
          return znode(rawName, { schemaJSON: JSON.stringify({ dimensionFieldSpecs, dateTimeFieldSpecs: [] }) });
        });
      case '/PROPERTYSTORE/INSTANCE_PARTITIONS':
        return [];
      case '/CONFIGS/PARTICIPANT':
        return [
          ...[...this.servers].map(([id, { tags, enabled }]) => {
            const HELIX_HOST = id.split('_')[1];
            const fields = { HELIX_HOST, HELIX_PORT: '8098', adminPort: '8097', HELIX_ENABLED: String(enabled) };
            return znode(id, fields, { listFields: { TAG_LIST: tags } });
          }),
          znode(
            BROKER,
            { HELIX_HOST: 'broker-0', HELIX_PORT: '8099' },
            { listFields: { TAG_LIST: ['DefaultTenant_BROKER'] } },
          ),
          znode(CONTROLLER, { HELIX_HOST: 'controller-0', HELIX_PORT: '9000' }),
        ];
      case '/EXTERNALVIEW/brokerResource':
        return znode(
          'brokerResource',
          {},
          {
            mapFields: Object.fromEntries(tables.map(({ name }) => [name, { [BROKER]: 'ONLINE' }])),
          },
        );
      default:
        return undefined;
    }
  }

  /** The head of a segment's file. */
  #file(path: string): string | undefined {
    const [, rawName = '', segment = ''] = /^\/segments\/([^/]+)\/([^/]+)$/u.exec(path) ?? [];
    const known = [...this.tables.values()].some((table) => table.rawName === rawName && table.segments.has(segment));
    return known && !this.lostFiles.has(segment) ? '' : undefined;
  }

  #tableBody(path: string): unknown {
    const [, name = ''] = /^\/(?:tables|segments)\/([^/?]+)\//u.exec(path) ?? [];
    const type = /[?&]type=(\w+)/u.exec(path)?.[1];
    const table = this.tables.get(type === undefined ? name : `${name}_${type}`) ?? this.tables.get(`${name}_REALTIME`);
    if (table === undefined) return undefined;
    const ofSegments = (value: (segment: SimulatedSegment) => unknown) =>
      Object.fromEntries([...table.segments].map(([segment, state]) => [segment, value(state)]));
    const live = (server: string) => this.servers.get(server)?.live === true;
    const used = [...new Set([...table.segments.values()].flatMap(({ servers }) => servers))];
    const other = table.type === 'OFFLINE' ? 'REALTIME' : 'OFFLINE';
    const state = ({ consuming }: SimulatedSegment) => (consuming ? 'CONSUMING' : 'ONLINE');
    if (path.endsWith('/idealstate')) {
      const states = ofSegments((segment) =>
        Object.fromEntries(segment.servers.map((server) => [server, state(segment)])),
      );
      return { [table.type]: states, [other]: null };
    }
    if (path.endsWith('/externalview')) {
      const served = (segment: SimulatedSegment, server: string) => {
        if (!table.enabled) return 'OFFLINE';
        return segment.failed.has(server) ? 'ERROR' : state(segment);
      };
      const states = ofSegments((segment) =>
        Object.fromEntries(segment.servers.filter(live).map((server) => [server, served(segment, server)])),
      );
      return { [table.type]: states, [other]: null };
    }
    if (path.endsWith('/zkmetadata')) {
      const documents = [...table.segments].map(([name, segment]) => [name, metadata(table, name, segment)]);
      return Object.fromEntries(documents);
    }
    if (path.includes('/state?')) return { state: table.enabled ? 'enabled' : 'disabled' };
    if (path.includes('/needReload')) {
      const list = used.filter(live).map((server) => [server, { needReload: table.needsReload }]);
      return { serverToSegmentsCheckReloadList: Object.fromEntries(list) };
    }
    if (path.includes('/rebalance?')) return this.#rebalance(table);
    if (path.includes('/consumingSegmentsInfo')) {
      const consuming = [...table.segments].filter(([, segment]) => segment.consuming);
      const infos = consuming.map(([segment, { docs, servers }]) => [
        segment,
        servers.filter(live).map((serverName) => ({
          serverName,
          consumerState: 'CONSUMING',
          partitionToOffsetMap: { 0: String(docs) },
        })),
      ]);
      return { _segmentToConsumingInfoMap: Object.fromEntries(infos) };
    }
    if (path.includes('/size?')) return sizes(table, live, path.includes('verbose=true'));
    if (path.endsWith('/metadata')) {
      const counts = used.filter(live).map((server) => [server, table.keys]);
      return { upsertPartitionToServerPrimaryKeyCountMap: { 0: Object.fromEntries(counts) } };
    }
    return undefined;
  }

  /** Servers with the tenant's tag have the segments; others have none. */
  #rebalance(table: SimulatedTable): unknown {
    const tagged = [...this.servers].filter(([, { tags, enabled }]) => enabled && tags.includes(`T_${table.type}`));
    const allowed = new Set(tagged.map(([id]) => id));
    const replicas = Math.min(table.replication, allowed.size);
    const moves = [...table.segments.values()].some(
      ({ servers }) => servers.length !== replicas || servers.some((server) => !allowed.has(server)),
    );
    const due = moves || (table.tier && table.aged);
    return { status: due ? 'DONE' : 'NO_OP', description: due ? 'Segments would move' : 'Table is already balanced' };
  }
}

function metadata(table: SimulatedTable, name: string, segment: SimulatedSegment): object {
  if (segment.consuming) return { 'segment.realtime.status': 'IN_PROGRESS', 'segment.realtime.startOffset': '0' };
  return {
    'segment.total.docs': String(segment.docs),
    'segment.size.in.bytes': String(segment.packed),
    'segment.start.time': String(segment.start),
    'segment.end.time': String(segment.end),
    'segment.download.url': `http://controller/segments/${table.rawName}/${name}`,
  };
}

function sizes(table: SimulatedTable, live: (server: string) => boolean, verbose: boolean): unknown {
  const completed = [...table.segments].filter(([, { consuming }]) => !consuming);
  const bytes = (segment: SimulatedSegment) => Math.round(segment.size * table.growth);
  const total = completed.reduce((sum, [, segment]) => sum + bytes(segment) * segment.servers.length, 0);
  if (!verbose) return { estimatedSizeInBytes: total };
  const segments = completed.map(([name, segment]) => [
    name,
    {
      serverInfo: Object.fromEntries(
        segment.servers.filter(live).map((server) => [server, { diskSizeInBytes: bytes(segment) }]),
      ),
    },
  ]);
  return {
    estimatedSizeInBytes: total,
    [`${table.type.toLowerCase()}Segments`]: { segments: Object.fromEntries(segments) },
  };
}

function tableConfig({ refresh, tier, upsert, replication }: SimulatedTable): object {
  return {
    segmentsConfig: JSON.stringify({
      replication: String(replication),
      segmentPushType: refresh ? 'REFRESH' : 'APPEND',
    }),
    tenants: '{"broker":"DefaultTenant","server":"T"}',
    ...(tier ? { tierConfigs: '[{"name":"cold","serverTag":"cold_OFFLINE"}]' } : {}),
    ...(upsert ? { upsertConfig: '{"mode":"FULL"}' } : {}),
  };
}
