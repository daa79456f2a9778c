import type { ClusterSnapshot, PrimaryKeys, TableSnapshot } from '../../snapshot.ts';
import { enabledTables, type Findings } from './findings.ts';
import { increase } from './server-loads.ts';

export const NO_KEYED_TABLES = 'not applicable: the cluster has no enabled upsert or deduplication table';

/** Enabled upsert and deduplication tables. */
export function keyedTables(snapshot: ClusterSnapshot, findings: Findings): readonly TableSnapshot[] {
  return enabledTables(snapshot, findings).filter((table) => table.config.upsert || table.config.dedup);
}

/**
 * Calls `visit` for each keyed table whose primary-key counts could be read.
 * @returns a note for messages if some of the counts are estimates, else an empty string
 */
export function visitPrimaryKeys(
  snapshot: ClusterSnapshot,
  findings: Findings,
  visit: (table: TableSnapshot, keys: PrimaryKeys) => void,
): string {
  let estimated = false;
  for (const table of keyedTables(snapshot, findings)) {
    const keys = findings.value(table.primaryKeys, 'table', table.name, 'its primary-key counts');
    if (keys === undefined) continue;
    estimated ||= keys.estimated;
    visit(table, keys);
  }
  return estimated ? ' (estimated by a query: this engine version does not report primary-key counts)' : '';
}

/** Adds the counts of all partitions of a table to the totals by server. */
export function addKeysByServer(totals: Map<string, number>, keys: PrimaryKeys): void {
  for (const servers of keys.partitions.values()) {
    for (const [server, count] of servers) increase(totals, server, count);
  }
}
