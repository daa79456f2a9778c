import { defineCheck } from '../check.ts';
import type { Switch, TableSnapshot } from '../snapshot.ts';
import { counted, Findings, tableFinding } from './shared/findings.ts';
import { keyedTables, NO_KEYED_TABLES } from './shared/primary-keys.ts';

/** Cluster properties with the servers' defaults for a table whose switch is `DEFAULT`. */
const SERVER_DEFAULTS = {
  upsertSnapshot: 'pinot.server.instance.upsert.default.enable.snapshot',
  upsertPreload: 'pinot.server.instance.upsert.default.enable.preload',
  dedupPreload: 'pinot.server.instance.dedup.default.enable.preload',
} as const;

type ClusterConfig = Readonly<Record<string, string>>;

export const prebuiltSnapshot = defineCheck({
  name: 'PREBUILT_SNAPSHOT_CHECK',
  specified: 24,
  title: 'Preloading from snapshots',
  description:
    'An upsert or deduplication table exists in a cluster where the prebuilt snapshot feature is disabled for preloading.',
  category: 'upsert',
  severity: 'advice',
  defaultThresholds: {},
  remediation: 'Enable snapshot and preload in the upsertConfig (preload in the dedupConfig) of the table.',
  madeFault: {
    where: 'live',
    fault: 'an upsert table without snapshot and preload',
    found: 'the table, until the property is set',
  },
  needs: ['tables', 'enabled', 'clusterConfig'],
  evaluate({ snapshot, prebuiltSnapshotProperty }) {
    const findings = new Findings();
    const tables = keyedTables(snapshot, findings);
    // Read only if it matters: without such tables an unreadable cluster configuration is no finding.
    const config =
      tables.length === 0
        ? undefined
        : findings.value(snapshot.clusterConfig, 'cluster', snapshot.clusterName, 'the cluster configuration');
    if (config !== undefined && config[prebuiltSnapshotProperty] !== 'true') {
      for (const table of tables) examineTable(table, config, prebuiltSnapshotProperty, findings);
    }
    return findings.outcome({
      pass: tables.length === 0 ? NO_KEYED_TABLES : 'every upsert and deduplication table is preloaded from snapshots',
      fail: (count) => `${counted(count, 'table')} cannot be preloaded from snapshots`,
    });
  },
});

function examineTable(table: TableSnapshot, config: ClusterConfig, property: string, findings: Findings): void {
  findings.examined();
  const off = disabledSwitches(table, config);
  if (off.length === 0) return;
  const message = `${off.join(' and ')} of the table ${off.length === 1 ? 'is' : 'are'} off, and the cluster property \`${property}\` is not \`true\``;
  findings.add(tableFinding(table, message, `${off.join(', ')} off`, 'on'));
}

function disabledSwitches(table: TableSnapshot, config: ClusterConfig): string[] {
  const { upsert, snapshot, preload } = table.config;
  const off: string[] = [];
  // The engine has no snapshot switch for deduplication tables.
  if (upsert && !isOn(snapshot, config[SERVER_DEFAULTS.upsertSnapshot])) off.push('snapshot');
  const preloadDefault = upsert ? SERVER_DEFAULTS.upsertPreload : SERVER_DEFAULTS.dedupPreload;
  if (!isOn(preload, config[preloadDefault])) off.push('preload');
  return off;
}

function isOn(value: Switch, serverDefault: string | undefined): boolean {
  return value === 'default' ? serverDefault === 'true' : value === 'on';
}
