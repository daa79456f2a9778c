import { defineCheck } from '../check.ts';
import { counted, Findings, instancesOf } from './shared/findings.ts';
import { addKeysByServer, keyedTables, NO_KEYED_TABLES, visitPrimaryKeys } from './shared/primary-keys.ts';
import { eligibleServers } from './shared/server-loads.ts';
import { SKEW_RANGE, skewnessOutcome } from './shared/skewness.ts';

export const upsertPrimaryKeySkew = defineCheck({
  name: 'UPSERT_PRIMARY_KEY_SKEW_CHECK',
  specified: 23,
  title: 'Skew of primary keys over servers',
  description: 'The skew of the primary-key distribution across servers is outside [-2, 2].',
  category: 'upsert',
  severity: 'warning',
  defaultThresholds: SKEW_RANGE,
  remediation: 'Rebalance the upsert tables of the named server with includeConsuming=true.',
  madeFault: { where: 'live', fault: 'all keys on one of five servers', found: 'the server' },
  needs: ['tables', 'enabled', 'instances', 'assignment', 'primaryKeys'],
  evaluate({ snapshot, thresholds }) {
    const findings = new Findings();
    const tables = keyedTables(snapshot, findings);
    if (tables.length === 0) return findings.outcome({ pass: NO_KEYED_TABLES, fail: () => NO_KEYED_TABLES });
    const instances = instancesOf(snapshot, findings) ?? [];
    const totals = new Map<string, number>();
    for (const table of tables) for (const server of eligibleServers(table, instances)) totals.set(server, 0);
    const note = visitPrimaryKeys(snapshot, findings, (_table, keys) => addKeysByServer(totals, keys));
    const what = `the primary-key count${note}`;
    const amount = (count: number): string => counted(count, 'primary key');
    return skewnessOutcome(totals, thresholds, findings, { what, noun: 'server', entityType: 'server', amount });
  },
});
