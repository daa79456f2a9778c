import {
  NOT_READ,
  readOk,
  type Assignment,
  type ClusterSnapshot,
  type Instance,
  type NameList,
  type Read,
  type SchemaSummary,
  type SegmentSummary,
  type ServerLoad,
  type SizeSummary,
  type TableConfig,
  type TableSnapshot,
  type TableSources,
  type ViewDifference,
} from '../../src/health/snapshot.ts';

/** Builders of snapshots without faults: a test sets only the parts that it needs. */
export function server(id: string, more: Partial<Instance> = {}): Instance {
  return {
    id,
    type: 'server',
    host: '10.0.0.1',
    port: '8098',
    adminPort: '8097',
    enabled: true,
    live: true,
    tags: ['DefaultTenant_OFFLINE', 'DefaultTenant_REALTIME'],
    pools: {},
    ...more,
  };
}

export function broker(id: string, more: Partial<Instance> = {}): Instance {
  return server(id, { type: 'broker', tags: ['DefaultTenant_BROKER'], ...more });
}

export function controller(id: string, more: Partial<Instance> = {}): Instance {
  return server(id, { type: 'controller', tags: ['controller'], ...more });
}

export function tableConfig(more: Partial<TableConfig> = {}): TableConfig {
  return {
    brokerTenant: 'DefaultTenant',
    serverTenant: 'DefaultTenant',
    serverTags: ['DefaultTenant_OFFLINE'],
    consumingTag: undefined,
    completedTag: 'DefaultTenant_OFFLINE',
    tierTags: [],
    replication: '3',
    retentionTimeUnit: 'DAYS',
    retentionTimeValue: '30',
    timeColumn: 'ts',
    partitionsEnd: false,
    partitionsFromZero: false,
    flushTimeMs: 6 * 3_600_000,
    minionTags: new Map(),
    schemaName: undefined,
    isDimension: false,
    isRefresh: false,
    upsert: false,
    dedup: false,
    snapshot: 'default',
    preload: 'default',
    instanceAssignments: [{ name: 'OFFLINE', poolBased: true, replicaGroupBased: true, replicaGroups: undefined }],
    indexes: [],
    rawColumns: [],
    ...more,
  };
}

/** @param loads segments by server, or segments and consuming ones */
export function assignment(
  loads: Readonly<Record<string, number | readonly [segments: number, consuming: number]>>,
  more: Partial<Assignment> = {},
): Assignment {
  const servers = new Map<string, ServerLoad>();
  for (const [name, load] of Object.entries(loads)) {
    const [segments, consuming] = typeof load === 'number' ? [load, 0] : load;
    servers.set(name, { segments, consuming });
  }
  const sum = (of: (load: ServerLoad) => number) => [...servers.values()].reduce((total, load) => total + of(load), 0);
  return {
    segments: sum((load) => load.segments),
    consumingSegments: sum((load) => load.consuming),
    servers,
    partitions: new Map(),
    segmentsWithoutPartition: 0,
    consumingPartitions: new Map(),
    idlePartitions: [],
    ...more,
  };
}

export function segmentSummary(more: Partial<SegmentSummary> = {}): SegmentSummary {
  return {
    completed: 0,
    documents: new Map(),
    packedBytes: new Map(),
    packedBelowLimit: 0,
    packedUnknown: 0,
    outOfOrder: { count: 0, names: [] },
    withoutTime: 0,
    arrivals: undefined,
    orphans: readOk({ unassigned: { count: 0, names: [] }, withoutMetadata: { count: 0, names: [] } }),
    files: { withoutUrl: { count: 0, names: [] }, served: [], elsewhere: 0 },
    ...more,
  };
}

export function sizes(small: number, measured: number, more: Partial<SizeSummary> = {}): SizeSummary {
  return { small: { count: small, names: [] }, measured, bytes: new Map(), incomplete: undefined, ...more };
}

/** @param segments number of segments that differ */
export function viewDifference(segments = 0, more: Partial<ViewDifference> = {}): ViewDifference {
  const sample = { count: segments, names: segments === 0 ? [] : ['t_0'] };
  const replicas =
    segments === 0 || more.viewMissing === true ? [] : [{ server: 'Server_a_8098', state: 'ERROR', segments: sample }];
  const unserved = more.viewMissing === true ? sample : { count: 0, names: [] };
  return { viewMissing: false, segments: sample, unserved, replicas, moreReplicaGroups: 0, ...more };
}

type TableParts = Omit<Partial<TableSnapshot>, 'config'> & { config?: Partial<TableConfig> };

/** @param name with type suffix */
export function table(name: string, { config, ...more }: TableParts = {}): TableSnapshot {
  const type = name.endsWith('_REALTIME') ? 'REALTIME' : 'OFFLINE';
  return {
    name,
    rawName: name.replace(/_(?:OFFLINE|REALTIME)$/u, ''),
    type,
    config: tableConfig({
      serverTags: [`DefaultTenant_${type}`],
      consumingTag: type === 'REALTIME' ? 'DefaultTenant_REALTIME' : undefined,
      completedTag: `DefaultTenant_${type}`,
      ...config,
    }),
    enabled: true,
    assignment: readOk(assignment({})),
    difference: readOk(viewDifference()),
    segments: readOk(segmentSummary()),
    size: readOk(sizes(0, 0)),
    reload: readOk({ needed: { count: 0, names: [] }, unit: 'server', silent: [], oneReplica: false }),
    primaryKeys: NOT_READ,
    consumingRows: readOk({ servers: new Map(), segments: new Map() }),
    files: readOk({ asked: 0, missing: { count: 0, names: [] } }),
    consumption:
      type === 'REALTIME'
        ? readOk({ paused: false, pausedBecause: undefined, missingPartitions: [], partitions: [] })
        : NOT_READ,
    rebalance: readOk({ needed: false, detail: 'Table is already balanced' }),
    ...more,
  };
}

export function schema(columns: number, granularities: Readonly<Record<string, string>> = {}): Read<SchemaSummary> {
  return readOk({ columns, granularities: new Map(Object.entries(granularities)) });
}

export function nameList(names: readonly string[]): Read<NameList> {
  return readOk({ always: new Set(names), ever: new Set(names) });
}

/** Sources that know the same tables. */
export function sourcesOf(tables: readonly TableSnapshot[], more: Partial<TableSources> = {}): TableSources {
  const names = nameList(tables.map(({ name }) => name));
  return {
    configurations: names,
    idealStates: names,
    externalViews: names,
    segmentMetadata: names,
    listed: nameList(tables.map(({ rawName }) => rawName)),
    ...more,
  };
}

export function snapshot(tables: readonly TableSnapshot[] = [], more: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  return {
    unreachable: undefined,
    clusterName: 'pinot',
    engineVersion: '1.5.1',
    instances: readOk([server('Server_a_8098'), server('Server_b_8098'), broker('Broker_a_8099')]),
    unconfiguredInstances: [],
    instanceHealth: new Map(),
    disks: new Map(),
    minionTasks: readOk([]),
    nodeSizes: readOk([]),
    clusterConfig: readOk({}),
    sources: sourcesOf(tables),
    tables: readOk(tables),
    unreadableTables: new Map(),
    schemas: readOk(new Map(tables.map(({ rawName }) => [rawName, schema(2)]))),
    instancePartitions: readOk([]),
    brokerResource: readOk(new Map(tables.map(({ name }) => [name, ['Broker_a_8099']]))),
    leaders: readOk(new Map()),
    queries: new Map(tables.map(({ rawName }) => [rawName, readOk({ ok: true, detail: 'OK' })])),
    policies: readOk([]),
    ...more,
  };
}
