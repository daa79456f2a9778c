import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A stand-in for a large Apache Pinot 1.5: it responds to the calls of a health run in recorded shapes, generated on request. It runs in a separate
 * process, so that its CPU is not counted: `node bench/workloads/engine-stub.ts <tables> <segments> <servers>`; it prints its URL.
 */
const [TABLES = 500, SEGMENTS = 2_000, SERVERS = 50] = process.argv.slice(2).map(Number);
const PARTITIONS = 16;
const CLUSTER = 'large';
const STEP_MS = 50_000;

const serverName = (i: number): string => `Server_pinot-server-${i % SERVERS}.pinot-server.olap.svc_8098`;
/** One in five is realtime, one in 25 upsert. */
const isRealtime = (table: number): boolean => table % 5 === 4;
const isUpsert = (table: number): boolean => table % 25 === 4;
const rawName = (table: number): string => `table_${String(table).padStart(4, '0')}`;
const fullName = (table: number): string => `${rawName(table)}_${isRealtime(table) ? 'REALTIME' : 'OFFLINE'}`;

function segmentName(table: number, segment: number): string {
  const start = 1_760_000_000_000 + segment * STEP_MS;
  if (!isRealtime(table)) return `${fullName(table)}_${start}_${start + STEP_MS - 500}_${segment}`;
  return `${rawName(table)}__${segment % PARTITIONS}__${Math.floor(segment / PARTITIONS)}__20261120T2346Z`;
}

const isConsuming = (table: number, segment: number): boolean => isRealtime(table) && segment >= SEGMENTS - PARTITIONS;
/** Each segment on two servers; a partition always on the same. */
const home = (table: number, segment: number): number => table + (isRealtime(table) ? segment % PARTITIONS : segment);

function states(table: number): string {
  const parts: string[] = [];
  for (let i = 0; i < SEGMENTS; i += 1) {
    const state = isConsuming(table, i) ? 'CONSUMING' : 'ONLINE';
    const at = home(table, i);
    parts.push(`"${segmentName(table, i)}":{"${serverName(at)}":"${state}","${serverName(at + 1)}":"${state}"}`);
  }
  const body = `{${parts.join(',')}}`;
  return isRealtime(table) ? `{"OFFLINE":null,"REALTIME":${body}}` : `{"OFFLINE":${body},"REALTIME":null}`;
}

/** Coprime to every number of segments that it does not divide. */
const STRIDE = 1_103;

/** Like `GET /segments/{table}/zkmetadata`: unordered, as listed by ZooKeeper. */
function metadata(table: number): string {
  const segments: string[] = [];
  for (let n = 0; n < SEGMENTS; n += 1) {
    const i = SEGMENTS % STRIDE === 0 ? n : (n * STRIDE) % SEGMENTS;
    const name = segmentName(table, i);
    const start = 1_760_000_000_000 + i * STEP_MS;
    const fields = isConsuming(table, i)
      ? `"segment.creation.time":"1795218403189","segment.flush.threshold.size":"6666","segment.realtime.numReplicas":"2","segment.realtime.startOffset":"${i * 6_666}","segment.realtime.status":"IN_PROGRESS"`
      : `"segment.crc":"52903070","segment.creation.time":"1795218456089","segment.data.crc":"2038560524","segment.download.url":"http://127.0.0.1:19000/segments/${rawName(table)}/${name}","segment.end.time":"${start + STEP_MS - 500}","segment.flush.threshold.size":"6666","segment.index.version":"v3","segment.realtime.endOffset":"13332","segment.realtime.numReplicas":"2","segment.realtime.startOffset":"6666","segment.realtime.status":"DONE","segment.size.in.bytes":"22425900","segment.start.time":"${start}","segment.time.unit":"MILLISECONDS","segment.total.docs":"100000","segment.use.data.crc":"true"`;
    segments.push(`"${name}":{${fields}}`);
  }
  return `{${segments.join(',')}}`;
}

function tableConfigs(): object[] {
  return Array.from({ length: TABLES }, (_, table) => ({
    id: fullName(table),
    simpleFields: {
      tableName: fullName(table),
      tableType: isRealtime(table) ? 'REALTIME' : 'OFFLINE',
      isDimTable: 'false',
      tenants: '{"broker":"DefaultTenant","server":"DefaultTenant"}',
      segmentsConfig: '{"replication":"3","retentionTimeUnit":"DAYS","retentionTimeValue":"365","timeColumnName":"ts"}',
      tableIndexConfig: '{"loadMode":"MMAP","invertedIndexColumns":["city"]}',
      metadata: '{}',
      ...(isUpsert(table) ? { upsertConfig: '{"mode":"FULL","enableSnapshot":true,"enablePreload":true}' } : {}),
    },
    mapFields: {},
    listFields: {},
  }));
}

function schemas(): object[] {
  const columns = Array.from({ length: 30 }, (_, i) => ({
    name: `column${i}`,
    dataType: 'STRING',
    fieldType: 'DIMENSION',
  }));
  return Array.from({ length: TABLES }, (_, table) => ({
    id: rawName(table),
    simpleFields: {
      schemaJSON: JSON.stringify({
        schemaName: rawName(table),
        dimensionFieldSpecs: columns,
        dateTimeFieldSpecs: [
          { name: 'ts', dataType: 'LONG', format: '1:MILLISECONDS:EPOCH', granularity: '1:SECONDS' },
        ],
      }),
    },
    mapFields: {},
    listFields: {},
  }));
}

function instance(id: string, tags: readonly string[], port: string): object {
  const host = id.slice(id.indexOf('_') + 1, id.lastIndexOf('_'));
  const simpleFields = { HELIX_HOST: host, HELIX_PORT: id.slice(id.lastIndexOf('_') + 1), adminPort: port };
  return { id, simpleFields, mapFields: {}, listFields: { TAG_LIST: tags } };
}

const servers = Array.from({ length: SERVERS }, (_, i) => serverName(i));
const broker = 'Broker_127.0.0.1_8099';
const controllers = ['Controller_127.0.0.1_9000'];

/** The children of each node, by name and with their stats. Nothing in ZooKeeper changes. */
function nodeLists(): [string, object][] {
  const stat = {
    pzxid: 12_884_901_999,
    ctime: 1_760_000_000_000,
    mtime: 1_760_000_000_500,
    version: 7,
    cversion: 2_000,
  };
  const owner = { aversion: 0, ephemeralOwner: 0, dataLength: 4_096, numChildren: 2_000 };
  const listed = (path: string, names: readonly string[]): [string, object][] => [
    [`/zk/ls?path=/${CLUSTER}${path}`, names],
    [
      `/zk/lsl?path=/${CLUSTER}${path}`,
      Object.fromEntries(names.map((name, i) => [name, { czxid: i, mzxid: 12_884_901_888 + i, ...stat, ...owner }])),
    ],
  ];
  const names = Array.from({ length: TABLES }, (_, table) => fullName(table));
  const schemaNames = Array.from({ length: TABLES }, (_, table) => rawName(table));
  const instances = [...servers, broker, ...controllers];
  return [
    ...listed('', ['IDEALSTATES', 'EXTERNALVIEW', 'CONFIGS', 'PROPERTYSTORE', 'LIVEINSTANCES']),
    ...listed('/IDEALSTATES', names),
    ...listed('/EXTERNALVIEW', names),
    ...listed('/PROPERTYSTORE/CONFIGS/TABLE', names),
    ...listed('/PROPERTYSTORE/SCHEMAS', schemaNames),
    ...listed('/PROPERTYSTORE/SEGMENTS', names),
    ...listed('/PROPERTYSTORE/INSTANCE_PARTITIONS', []),
    ...listed('/CONFIGS', ['CLUSTER', 'PARTICIPANT', 'RESOURCE']),
    ...listed('/CONFIGS/PARTICIPANT', instances),
    ...listed('/CONFIGS/CLUSTER', [CLUSTER]),
    ...listed('/CONFIGS/RESOURCE', names),
    ...listed('/LIVEINSTANCES', instances),
  ];
}

function fixed(): Map<string, object> {
  const root = `/zk/getChildren?path=/${CLUSTER}`;
  const tables = Array.from({ length: TABLES }, (_, table) => table);
  const leads = tables.map((table) => [
    `leadControllerResource_${table}`,
    { leadControllerId: controllers[0], tableNames: [rawName(table)] },
  ]);
  return new Map<string, object>([
    ['/cluster/info', { clusterName: CLUSTER }],
    ['/cluster/configs', {}],
    ['/tables', { tables: tables.map(rawName) }],
    ['/leader/tables', { leadControllerEntryMap: Object.fromEntries(leads) }],
    [`${root}/PROPERTYSTORE/CONFIGS/TABLE`, tableConfigs()],
    [`${root}/PROPERTYSTORE/SCHEMAS`, schemas()],
    [`${root}/PROPERTYSTORE/INSTANCE_PARTITIONS`, []],
    [
      `${root}/CONFIGS/PARTICIPANT`,
      [
        ...servers.map((id) => instance(id, ['DefaultTenant_OFFLINE', 'DefaultTenant_REALTIME'], '8097')),
        instance(controllers[0] ?? '', ['controller'], ''),
        instance(broker, ['DefaultTenant_BROKER'], ''),
      ],
    ],
    ...nodeLists(),
    [
      `/zk/get?path=/${CLUSTER}/EXTERNALVIEW/brokerResource`,
      {
        id: 'brokerResource',
        simpleFields: {},
        mapFields: Object.fromEntries(tables.map((t) => [fullName(t), { [broker]: 'ONLINE' }])),
        listFields: {},
      },
    ],
  ]);
}

/** Every consuming segment is consumed up to the end of its stream partition. */
function consumingInfo(table: number): string {
  const segments = Array.from({ length: PARTITIONS }, (_, i) => {
    const segment = SEGMENTS - PARTITIONS + i;
    const partition = String(segment % PARTITIONS);
    const offset = { [partition]: String(segment * 6_666) };
    const partitionOffsetInfo = {
      currentOffsetsMap: offset,
      latestUpstreamOffsetMap: offset,
      recordsLagMap: { [partition]: '0' },
      availabilityLagMsMap: { [partition]: '15' },
    };
    const replicas = [0, 1].map((replica) => ({
      serverName: serverName(home(table, segment) + replica),
      consumerState: 'CONSUMING',
      lastConsumedTimestamp: 1_760_000_000_000,
      partitionToOffsetMap: offset,
      partitionOffsetInfo,
    }));
    return [segmentName(table, segment), replicas];
  });
  const map = Object.fromEntries(segments) as object;
  return JSON.stringify({ serversFailingToRespond: 0, _segmentToConsumingInfoMap: map });
}

function ofTable(path: string, table: number): string | undefined {
  if (path.endsWith('/idealstate') || path.endsWith('/externalview')) return states(table);
  if (path.endsWith('/zkmetadata')) return metadata(table);
  if (path.includes('/size?')) {
    const total = (SEGMENTS * 2 * 30_000_000).toFixed(0);
    return `{"tableName":"${fullName(table)}","reportedSizeInBytes":${total},"estimatedSizeInBytes":${total},"offlineSegments":null,"realtimeSegments":null}`;
  }
  if (path.includes('/needReload')) {
    const list = Object.fromEntries(servers.map((instanceId) => [instanceId, { needReload: false, instanceId }]));
    return JSON.stringify({ needReload: false, serverToSegmentsCheckReloadList: list });
  }
  if (path.includes('/rebalance?')) {
    const unchanged = Object.fromEntries(
      servers.map((id) => [
        id,
        { serverStatus: 'UNCHANGED', segmentsAdded: 0, segmentsDeleted: 0, segmentsUnchanged: 80 },
      ]),
    );
    return JSON.stringify({
      jobId: '9509bdc4-8efe-410e-b1f2-5d6eab418585',
      status: 'NO_OP',
      description: 'Table is already balanced',
      rebalanceSummaryResult: { serverInfo: { serverSegmentChangeInfo: unchanged } },
    });
  }
  if (path.includes('/consumingSegmentsInfo')) return consumingInfo(table);
  if (path.endsWith('/pauseStatus')) return '{"pauseFlag":false,"consumingSegments":[]}';
  if (path.endsWith('/metadata')) {
    const keys = Array.from({ length: PARTITIONS }, (_, p) => [
      p,
      { [serverName(table + p)]: 1_000_000, [serverName(table + p + 1)]: 1_000_000 },
    ]);
    return JSON.stringify({
      tableName: fullName(table),
      upsertPartitionToServerPrimaryKeyCountMap: Object.fromEntries(keys),
    });
  }
  // The file of a segment, of which only the head is requested.
  if (/^\/segments\/[^/]+\/[^/]+$/u.test(path)) return '';
  return undefined;
}

const QUERY_ANSWER =
  '{"resultTable":{"dataSchema":{"columnNames":["$docId"],"columnDataTypes":["INT"]},"rows":[[0]]},"exceptions":[],"numServersQueried":50}';
const answers = new Map([...fixed()].map(([path, body]) => [path, JSON.stringify(body, undefined, 2)]));

function answerTo(path: string): string | undefined {
  if (path === '/health') return 'OK';
  if (path === '/query/sql') return QUERY_ANSWER;
  const known = answers.get(path);
  if (known !== undefined) return known;
  const table = /table_(\d+)/u.exec(path)?.[1];
  return table === undefined ? undefined : ofTable(path, Number(table));
}

function send(response: ServerResponse, path: string): void {
  const found = answerTo(path);
  const body = Buffer.from(found ?? `{"code":404,"error":"no ${path}"}`);
  response.writeHead(found === undefined ? 404 : 200, {
    'content-type': 'application/json',
    'content-length': body.length,
    'pinot-controller-version': '1.5.1-stub',
  });
  response.end(body);
}

const http = createServer((request, response) => {
  request.resume();
  send(response, decodeURIComponent(request.url ?? ''));
});
http.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(http.address() as AddressInfo).port}\n`);
});
