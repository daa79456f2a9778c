import { Readable } from 'node:stream';
import type { Engine, EngineEndpoint, EngineRequest, EngineResponse } from '../../src/pinot/types.ts';
import { nodeStats } from './node-tree.ts';

const HOUR_MS = 3_600_000;
const SERVERS = ['Server_s0_8098', 'Server_s1_8098', 'Server_s2_8098'];
const BROKERS = ['Broker_b0_8099', 'Broker_b1_8099'];
const CONTROLLERS = ['Controller_c0_9000', 'Controller_c1_9000', 'Controller_c2_9000'];
const MINION = 'Minion_m0_9514';
const INSTANCES = [...SERVERS, ...BROKERS, ...CONTROLLERS, MINION];
const OFFLINE = 'orders_OFFLINE';
const REALTIME = 'events_REALTIME';
const TABLES = [OFFLINE, REALTIME];

export type Document = {
  readonly status: number;
  readonly body: unknown;
  /** Those of a controller by default. */
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * A healthy cluster of Apache Pinot 1.5 as documents by request (`GET /tables`, or `/health` of an instance with its host before it). All
 * checks pass on it. A test changes documents.
 */
export function healthyCluster(now: number): Map<string, Document> {
  const bodies = new Map<string, unknown>([
    ['GET /cluster/info', { clusterName: 'c' }],
    ['GET /cluster/configs', { 'controller.replication.threshold': '2' }],
    ['GET /tables', { tables: ['events', 'orders'] }],
    ['GET /leader/tables', { leadControllerEntryMap: leaders() }],
    [zk('getChildren', 'PROPERTYSTORE/CONFIGS/TABLE'), TABLES.map((name) => node(name, configOf(name)))],
    [zk('lsl', 'PROPERTYSTORE/CONFIGS/TABLE'), Object.fromEntries(TABLES.map((name) => [name, { czxid: 7 }]))],
    [
      zk('getChildren', 'PROPERTYSTORE/SCHEMAS'),
      ['events', 'orders'].map((name) => node(name, { schemaJSON: SCHEMA })),
    ],
    [zk('getChildren', 'PROPERTYSTORE/INSTANCE_PARTITIONS'), []],
    [zk('getChildren', 'CONFIGS/PARTICIPANT'), INSTANCES.map(participant)],
    [zk('ls', 'LIVEINSTANCES'), INSTANCES],
    [zk('ls', 'IDEALSTATES'), [...TABLES, 'brokerResource']],
    [zk('ls', 'EXTERNALVIEW'), [...TABLES, 'brokerResource']],
    [zk('ls', 'PROPERTYSTORE/SEGMENTS'), TABLES],
    [zk('lsl', 'IDEALSTATES'), nodeStats([...TABLES, 'brokerResource'])],
    [zk('lsl', 'EXTERNALVIEW'), nodeStats([...TABLES, 'brokerResource'])],
    [zk('ls', 'CONFIGS/RESOURCE'), [...TABLES, 'TaskQueue_MergeRollupTask']],
    ['GET /tasks/MergeRollupTask/taskcounts', { [`Task_MergeRollupTask_${now - HOUR_MS}`]: TASK }],
    [zk('get', 'EXTERNALVIEW/brokerResource'), node('brokerResource', {}, brokerResource())],
    [
      'GET /tables/events/consumingSegmentsInfo',
      { serversFailingToRespond: 0, _segmentToConsumingInfoMap: consumers() },
    ],
    ['GET /tables/events/pauseStatus', { pauseFlag: false, consumingSegments: [] }],
    ['POST /query/sql "orders"', { resultTable: { rows: [[0]] }, exceptions: [], numServersQueried: 2 }],
    ['POST /query/sql "events"', { resultTable: { rows: [[0]] }, exceptions: [], numServersQueried: 2 }],
  ]);
  for (const name of TABLES) for (const [request, body] of tableDocuments(name, now)) bodies.set(request, body);
  for (const id of [...SERVERS, ...BROKERS]) bodies.set(`${hostOf(id)} GET /health`, 'OK');
  for (const id of SERVERS) {
    const usage = { path: '/data', totalSpaceBytes: 1_000, usedSpaceBytes: 100, lastUpdatedTimeInEpochMs: now };
    bodies.set(`${hostOf(id)} GET /instance/diskUtilization`, usage);
  }
  return new Map([...bodies].map(([request, body]) => [request, { status: 200, body }]));
}

function zk(operation: string, path: string): string {
  return `GET /zk/${operation}?path=/c/${path}`;
}

function node(id: string, simpleFields: object, mapFields: object = {}, listFields: object = {}): object {
  return { id, simpleFields, mapFields, listFields };
}

/** The subtasks of a task that has ended. */
const TASK = { total: 2, completed: 2, running: 0, waiting: 0, error: 0 };

const SCHEMA = JSON.stringify({
  dimensionFieldSpecs: [{ name: 'id' }],
  dateTimeFieldSpecs: [{ name: 'ts', granularity: '1:SECONDS' }],
});

function configOf(table: string): object {
  const group = { tagPoolConfig: { poolBased: true }, replicaGroupPartitionConfig: { replicaGroupBased: true } };
  const stream = { streamType: 'kafka' };
  return {
    segmentsConfig: JSON.stringify({
      replication: '2',
      retentionTimeUnit: 'DAYS',
      retentionTimeValue: '365',
      timeColumnName: 'ts',
    }),
    tenants: JSON.stringify({ broker: 'DefaultTenant', server: 'DefaultTenant' }),
    task: JSON.stringify(table === OFFLINE ? { taskTypeConfigsMap: { MergeRollupTask: {} } } : {}),
    tableIndexConfig: JSON.stringify(table === REALTIME ? { streamConfigs: stream } : {}),
    instanceAssignmentConfigMap: JSON.stringify({ [table === REALTIME ? 'CONSUMING' : 'OFFLINE']: group }),
  };
}

function participant(id: string): object {
  const [type = '', host = '', port = ''] = id.split('_');
  const tags: Record<string, string[]> = {
    Server: ['DefaultTenant_OFFLINE', 'DefaultTenant_REALTIME'],
    Broker: ['DefaultTenant_BROKER'],
    Minion: ['minion_untagged'],
  };
  const fields = { HELIX_HOST: host, HELIX_PORT: port, adminPort: '8097', HELIX_ENABLED: 'true' };
  return node(id, fields, {}, { TAG_LIST: tags[type] ?? [] });
}

function brokerResource(): object {
  const online = Object.fromEntries(BROKERS.map((broker) => [broker, 'ONLINE']));
  return Object.fromEntries(TABLES.map((table) => [table, online]));
}

function leaders(): object {
  return Object.fromEntries(CONTROLLERS.map((id, i) => [`p${i}`, { leadControllerId: id, tableNames: [`${i}`] }]));
}

/** Segment names of a table: the realtime one has two partitions, the last segment of each is consuming. */
function segmentsOf(table: string): { name: string; servers: string[]; consuming: boolean }[] {
  const names =
    table === OFFLINE
      ? Array.from({ length: 6 }, (_, i) => `orders_${i}`)
      : [0, 1, 2].flatMap((partition) =>
          [0, 1, 2, 3].map((sequence) => `events__${partition}__${sequence}__20260101T0000Z`),
        );
  return names.map((name, i) => ({
    name,
    servers: [SERVERS[i % 3] as string, SERVERS[(i + 1) % 3] as string],
    consuming: name.includes('__3__'),
  }));
}

function consumers(): object {
  const consuming = segmentsOf(REALTIME).filter((segment) => segment.consuming);
  const infoOf = (serverName: string, partition: string) => ({
    serverName,
    consumerState: 'CONSUMING',
    partitionToOffsetMap: { [partition]: '100' },
    partitionOffsetInfo: {
      latestUpstreamOffsetMap: { [partition]: '100' },
      recordsLagMap: { [partition]: '0' },
      availabilityLagMsMap: { [partition]: '10' },
    },
  });
  return Object.fromEntries(
    consuming.map(({ name, servers }) => [name, servers.map((server) => infoOf(server, name.split('__')[1] ?? ''))]),
  );
}

function tableDocuments(table: string, now: number): [string, unknown][] {
  const raw = table.split('_')[0] ?? '';
  const type = table === OFFLINE ? 'OFFLINE' : 'REALTIME';
  const segments = segmentsOf(table);
  const states = Object.fromEntries(
    segments.map(({ name, servers, consuming }) => [
      name,
      Object.fromEntries(servers.map((server) => [server, consuming ? 'CONSUMING' : 'ONLINE'])),
    ]),
  );
  const metadata = segments.map(({ name, consuming }, i) => [
    name,
    consuming
      ? {
          'segment.realtime.status': 'IN_PROGRESS',
          'segment.realtime.startOffset': '50',
          'segment.creation.time': String(now - HOUR_MS),
        }
      : {
          'segment.download.url': `http://controller/segments/${raw}/${name}`,
          'segment.total.docs': '10',
          'segment.size.in.bytes': '30000000',
          'segment.start.time': String(1 + i * 10),
          'segment.end.time': String(9 + i * 10),
          'segment.creation.time': String(now - (segments.length - i) * 24 * HOUR_MS + 12 * HOUR_MS),
        },
  ]);
  const reload = Object.fromEntries(SERVERS.map((server) => [server, { needReload: false }]));
  const consuming = type === 'REALTIME' ? '&includeConsuming=true' : '';
  return [
    ...segments.map(({ name }): [string, unknown] => [`HEAD /segments/${raw}/${name}`, '']),
    ...segments.map(({ name }): [string, unknown] => [
      zk('get', `PROPERTYSTORE/SEGMENTS/${table}/${name}`),
      node(name, { 'segment.download.url': `http://controller/segments/${raw}/${name}` }),
    ]),
    [`GET /tables/${table}/idealstate`, { [type]: states }],
    [`GET /tables/${table}/externalview`, { [type]: states }],
    [`GET /segments/${table}/zkmetadata`, Object.fromEntries(metadata)],
    [`GET /tables/${table}/size?verbose=false`, { estimatedSizeInBytes: 120_000_000 }],
    [`GET /tables/${table}/state?type=${type}`, { state: 'enabled' }],
    [`GET /segments/${table}/needReload?verbose=true`, { serverToSegmentsCheckReloadList: reload }],
    [
      `POST /tables/${raw}/rebalance?type=${type}&dryRun=true${consuming}&summary=true`,
      { status: 'NO_OP', description: 'Table is already balanced' },
    ],
  ];
}

function hostOf(id: string): string {
  return id.split('_')[1] ?? '';
}

/** An engine that responds with the documents; 404 to other requests. */
export class ModelCluster implements Engine {
  readonly controller: EngineEndpoint;
  readonly #documents: ReadonlyMap<string, Document>;
  /** The requests that got a document. */
  readonly used = new Set<string>();

  constructor(documents: ReadonlyMap<string, Document>) {
    this.#documents = documents;
    this.controller = this.endpoint('http://controller');
  }

  async brokerFor(): Promise<EngineEndpoint> {
    return this.endpoint('http://broker');
  }

  endpoint(url: string): EngineEndpoint {
    const { hostname } = new URL(url);
    return { url, request: (request) => this.#respond(hostname, request) };
  }

  async close(): Promise<void> {
    this.used.clear();
  }

  async #respond(host: string, { method, path, body }: EngineRequest): Promise<EngineResponse> {
    const table = typeof body === 'string' ? / FROM \\("\w+)\\" /u.exec(body)?.[1] : undefined;
    const name = `${method} ${decodeURIComponent(path)}${table === undefined ? '' : ` ${table}"`}`;
    const request = host === 'controller' || host === 'broker' ? name : `${host} ${name}`;
    const document: Document = this.#documents.get(request) ?? { status: 404, body: { code: 404, error: 'not found' } };
    this.used.add(request);
    const text = typeof document.body === 'string' ? document.body : JSON.stringify(document.body);
    return {
      status: document.status,
      headers: document.headers ?? { 'pinot-controller-version': '1.5.1-stub' },
      body: Readable.from([Buffer.from(text)]),
    };
  }
}
