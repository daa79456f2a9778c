import type { TableType } from '../../src/health/snapshot.ts';
import type { ChangingCluster, SimulatedSegment, SimulatedTable } from './changing-cluster.ts';

const MB = 1024 * 1024;

/** A change of a cluster, as an engine, an administrator or a user makes it. @param pick chooses what is changed */
export type Change = (cluster: ChangingCluster, pick: number) => void;

const at = <T>(values: Iterable<T>, pick: number): T | undefined => {
  const all = [...values];
  return all[pick % all.length];
};

export function addServer(cluster: ChangingCluster, index: number): void {
  const id = `Server_server-${index}_8098`;
  cluster.servers.set(id, { tags: ['T_OFFLINE', 'T_REALTIME'], enabled: true, live: true });
  cluster.nodes.write(`/CONFIGS/PARTICIPANT/${id}`);
  cluster.nodes.write(`/LIVEINSTANCES/${id}`);
}

export function addTable(cluster: ChangingCluster, rawName: string, type: TableType, segments: number): SimulatedTable {
  const table: SimulatedTable = {
    name: `${rawName}_${type}`,
    rawName,
    type,
    refresh: false,
    tier: false,
    aged: false,
    upsert: false,
    replication: 2,
    enabled: true,
    needsReload: false,
    growth: 1,
    keys: 10,
    columns: 3,
    segments: new Map(),
  };
  cluster.tables.set(table.name, table);
  for (const node of ['CONFIGS/TABLE', 'SEGMENTS']) cluster.nodes.write(`/PROPERTYSTORE/${node}/${table.name}`);
  cluster.nodes.write(`/PROPERTYSTORE/SCHEMAS/${rawName}`);
  for (let n = 0; n < segments; n += 1) addSegment(cluster, table, n);
  if (type === 'REALTIME') addSegment(cluster, table, segments, { consuming: true });
  return table;
}

export function addSegment(
  cluster: ChangingCluster,
  table: SimulatedTable,
  n: number,
  more: Partial<SimulatedSegment> = {},
): void {
  const servers = [...cluster.servers.keys()];
  const chosen = [servers[n % servers.length] ?? '', servers[(n + 1) % servers.length] ?? ''];
  const segment: SimulatedSegment = {
    consuming: false,
    docs: 100 + n,
    packed: 6 * MB,
    size: 7 * MB,
    start: n * 10,
    end: n * 10 + 9,
    servers: [...new Set(chosen)].slice(0, table.replication),
    failed: new Set(),
    ...more,
  };
  const name = `${table.rawName}__0__${n}__20260101T0000Z`;
  table.segments.set(name, segment);
  cluster.nodes.write(`/PROPERTYSTORE/SEGMENTS/${table.name}/${name}`);
  writeStates(cluster, table);
}

export function writeStates({ nodes }: ChangingCluster, { name }: SimulatedTable): void {
  nodes.write(`/IDEALSTATES/${name}`);
  nodes.write(`/EXTERNALVIEW/${name}`);
}

export function removeTable(cluster: ChangingCluster, { name, rawName }: SimulatedTable): void {
  cluster.tables.delete(name);
  const own = ['/PROPERTYSTORE/CONFIGS/TABLE', '/PROPERTYSTORE/SEGMENTS', '/IDEALSTATES', '/EXTERNALVIEW'];
  for (const parent of own) cluster.nodes.remove(`${parent}/${name}`);
  cluster.nodes.remove(`/PROPERTYSTORE/SCHEMAS/${rawName}`);
}

/** A change of some table. */
function ofTable(change: (cluster: ChangingCluster, table: SimulatedTable, pick: number) => void): Change {
  return (cluster, pick) => {
    const table = at(cluster.tables.values(), pick);
    if (table !== undefined) change(cluster, table, Math.floor(pick / 7));
  };
}

/** A change of the configuration of a table; servers need a reload to apply it. */
function ofConfig(change: (table: SimulatedTable) => void): Change {
  return ofTable((cluster, table) => {
    change(table);
    cluster.nodes.write(`/PROPERTYSTORE/CONFIGS/TABLE/${table.name}`);
  });
}

function writeViews(cluster: ChangingCluster, server: string): void {
  for (const { name, segments } of cluster.tables.values()) {
    if ([...segments.values()].some(({ servers }) => servers.includes(server))) {
      cluster.nodes.write(`/EXTERNALVIEW/${name}`);
    }
  }
}

function setLive(cluster: ChangingCluster, pick: number, live: boolean): void {
  const [id, server] = at(cluster.servers, pick) ?? [];
  if (id === undefined || server === undefined || server.live === live) return;
  server.live = live;
  if (live) cluster.nodes.write(`/LIVEINSTANCES/${id}`);
  else cluster.nodes.remove(`/LIVEINSTANCES/${id}`);
  writeViews(cluster, id);
}

/** By what happens. Each is seen by the next run, also by one that reads only what changed. */
export const CHANGES: Readonly<Record<string, Change>> = {
  nothing: () => undefined,
  'a segment is added': ofTable((cluster, table, pick) => addSegment(cluster, table, 20 + (pick % 20))),
  'a small, old segment is added': ofTable((cluster, table) => {
    addSegment(cluster, table, 50, { packed: MB, size: 2 * MB, start: 3, end: 4 });
  }),
  'a segment is removed': ofTable((cluster, table, pick) => {
    const name = at(table.segments.keys(), pick);
    if (name === undefined) return;
    table.segments.delete(name);
    writeStates(cluster, table);
    cluster.nodes.remove(`/PROPERTYSTORE/SEGMENTS/${table.name}/${name}`);
  }),
  'a replica fails': ofTable((cluster, table, pick) => {
    const segment = at(table.segments.values(), pick);
    segment?.failed.add(segment.servers[0] ?? '');
    cluster.nodes.write(`/EXTERNALVIEW/${table.name}`);
  }),
  'replicas recover': ofTable((cluster, table) => {
    for (const { failed } of table.segments.values()) failed.clear();
    cluster.nodes.write(`/EXTERNALVIEW/${table.name}`);
  }),
  'a server stops': (cluster, pick) => setLive(cluster, pick, false),
  'a server starts': (cluster, pick) => setLive(cluster, pick, true),
  'a server restarts before its replicas count as gone': (cluster, pick) => {
    const [id, server] = at(cluster.servers, pick) ?? [];
    if (id === undefined || server?.live !== true) return;
    cluster.nodes.remove(`/LIVEINSTANCES/${id}`);
    cluster.nodes.write(`/LIVEINSTANCES/${id}`);
    for (const table of cluster.tables.values()) {
      if (![...table.segments.values()].some(({ servers }) => servers.includes(id))) continue;
      Object.assign(table, { growth: table.growth * 1.1, needsReload: !table.needsReload });
    }
  },
  'a server gets another tag': (cluster, pick) => {
    const [id, server] = at(cluster.servers, pick) ?? [];
    if (server?.tags.pop() === undefined) server?.tags.push('T_OFFLINE', 'T_REALTIME');
    cluster.nodes.write(`/CONFIGS/PARTICIPANT/${id}`);
  },
  'a server is added': (cluster) => addServer(cluster, cluster.servers.size),
  'the replication is changed': ofConfig((table) => {
    table.replication = 3 - table.replication;
  }),
  'an index is configured': ofConfig((table) => {
    table.needsReload = true;
  }),
  'upsert is configured': ofConfig((table) => {
    table.upsert = table.type === 'REALTIME';
  }),
  'a tier is configured': ofConfig((table) => {
    table.tier = !table.tier;
  }),
  'segments become old': ofTable((_cluster, table) => {
    // Nothing is written; only tables with tiers are affected.
    table.aged = true;
  }),
  'a column is added': ofTable((cluster, table) => {
    table.columns += 1;
    table.needsReload = true;
    cluster.nodes.write(`/PROPERTYSTORE/SCHEMAS/${table.rawName}`);
  }),
  'segments are reloaded': ofTable((_cluster, table) => {
    if (table.needsReload) table.growth *= 1.5;
    table.needsReload = false;
  }),
  'a table is disabled or enabled': ofTable((cluster, table) => {
    table.enabled = !table.enabled;
    writeStates(cluster, table);
  }),
  'a consuming segment is completed': ofTable((cluster, table) => {
    for (const segment of table.segments.values()) segment.consuming = false;
    if (table.type === 'REALTIME') addSegment(cluster, table, table.segments.size, { consuming: true });
    writeStates(cluster, table);
  }),
  'rows are consumed': ofTable((_cluster, table) => {
    for (const segment of table.segments.values()) if (segment.consuming) segment.docs += 1_000;
    table.keys += 1_000;
  }),
  'a REFRESH table is pushed': (cluster) => {
    for (const table of cluster.tables.values()) {
      for (const [name, segment] of table.refresh ? table.segments : []) {
        Object.assign(segment, { docs: segment.docs * 2, start: 1_000 - segment.start, end: 1_009 - segment.start });
        cluster.nodes.write(`/PROPERTYSTORE/SEGMENTS/${table.name}/${name}`);
      }
    }
  },
  'a table is deleted and created again': ofTable((cluster, table, pick) => {
    removeTable(cluster, table);
    addTable(cluster, table.rawName, table.type, pick % 4);
  }),
  'a table is deleted': ofTable((cluster, table) => removeTable(cluster, table)),
  'the cluster configuration is changed': (cluster, pick) => {
    cluster.clusterConfig['controller.replication.threshold'] = String(1 + (pick % 3));
    cluster.nodes.write('/CONFIGS/CLUSTER/c');
  },
  'the clock of ZooKeeper steps back': ({ nodes }) => nodes.stepClock(-3_600_000),
};

/** A healthy cluster of 4 servers and 6 tables, of which one is a REFRESH table and one an upsert table. */
export function populate(cluster: ChangingCluster): void {
  for (let server = 0; server < 4; server += 1) addServer(cluster, server);
  for (let n = 0; n < 3; n += 1) addTable(cluster, `off${n}`, 'OFFLINE', 4);
  for (let n = 0; n < 2; n += 1) addTable(cluster, `real${n}`, 'REALTIME', 3);
  addTable(cluster, 'refreshed', 'OFFLINE', 3).refresh = true;
  for (const table of cluster.tables.values()) table.upsert = table.name === 'real1_REALTIME';
}
