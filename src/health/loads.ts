import { enabledTables, type Findings } from './outcome.ts';
import type { ClusterSnapshot, Instance, TableSnapshot } from './snapshot.ts';

export interface ServerLoads {
  readonly segments: Map<string, number>;
  readonly consuming: Map<string, number>;
  /** Tables by name with type: both parts of a hybrid table count, as on the server itself. */
  readonly tables: Map<string, number>;
}

/** What every server holds of all enabled tables; servers without anything are absent. */
export function loadByServer(snapshot: ClusterSnapshot, findings: Findings): ServerLoads {
  const loads: ServerLoads = { segments: new Map(), consuming: new Map(), tables: new Map() };
  for (const table of enabledTables(snapshot, findings)) {
    const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
    for (const [server, load] of assignment?.servers ?? []) {
      increase(loads.segments, server, load.segments);
      increase(loads.consuming, server, load.consuming);
      increase(loads.tables, server, 1);
    }
  }
  return loads;
}

/** Documents of completed and consuming segments by server. */
export function documentsByServer(tables: readonly TableSnapshot[], findings: Findings): Map<string, number> {
  const documents = new Map<string, number>();
  for (const table of tables) {
    const segments = findings.value(table.segments, 'table', table.name, "its segments' metadata");
    for (const [server, count] of segments?.documents ?? []) increase(documents, server, count);
    const rows = findings.value(table.consumingRows, 'table', table.name, 'the rows of its consuming segments');
    for (const [server, count] of rows ?? []) increase(documents, server, count);
  }
  return documents;
}

export function increase(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Enabled servers that may hold segments of the table, by its tags. */
export function candidates(table: TableSnapshot, instances: readonly Instance[]): string[] {
  const tags = new Set(table.config.serverTags);
  return instances
    .filter((instance) => instance.type === 'server' && instance.enabled && instance.tags.some((tag) => tags.has(tag)))
    .map((instance) => instance.id);
}

/**
 * The servers that could hold a part of the table: those of its stored instance partitions where it has some, else the enabled servers
 * of its tenant; and every server that does hold a part.
 */
export function serversInQuestion(
  table: TableSnapshot,
  instances: readonly Instance[],
  snapshot: ClusterSnapshot,
): Set<string> {
  const servers = new Set(storedServers(table, snapshot));
  if (servers.size === 0) for (const server of candidates(table, instances)) servers.add(server);
  if (table.assignment.ok) for (const server of table.assignment.value.servers.keys()) servers.add(server);
  return servers;
}

/** The servers of all stored instance partitions of the table, which are named `<table>_<OFFLINE|CONSUMING|COMPLETED>`. */
function storedServers(table: TableSnapshot, snapshot: ClusterSnapshot): string[] {
  if (!snapshot.instancePartitions.ok) return [];
  const suffixes = table.type === 'OFFLINE' ? ['OFFLINE'] : ['CONSUMING', 'COMPLETED'];
  const names = new Set(suffixes.map((suffix) => `${table.rawName}_${suffix}`));
  return snapshot.instancePartitions.value
    .filter((partitions) => names.has(partitions.name))
    .flatMap((partitions) => [...partitions.servers.values()].flat());
}
