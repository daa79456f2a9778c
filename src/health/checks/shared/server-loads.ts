import type { ClusterSnapshot, Instance, TableSnapshot } from '../../snapshot.ts';
import { enabledTables, type Findings } from './findings.ts';

/** Counts by server, over all enabled tables. Servers with a count of zero are absent. */
export interface ServerLoads {
  readonly segments: Map<string, number>;
  readonly consuming: Map<string, number>;
  /** Tables by name with type: a hybrid table counts twice, as in the server's own list. */
  readonly tables: Map<string, number>;
}

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

export function increase(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Ids of the enabled servers whose tags admit segments of the table. */
export function eligibleServers({ config }: TableSnapshot, instances: readonly Instance[]): string[] {
  return serversWithTag(instances, new Set(config.serverTags));
}

/** Ids of the enabled servers that have one of the tags. */
export function serversWithTag(instances: readonly Instance[], tags: ReadonlySet<string>): string[] {
  return instances
    .filter((instance) => instance.type === 'server' && instance.enabled && instance.tags.some((tag) => tags.has(tag)))
    .map((instance) => instance.id);
}
