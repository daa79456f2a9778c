import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, entityFinding, Findings, have } from './shared/findings.ts';
import { addKeysByServer, NO_KEYED_TABLES, visitPrimaryKeys } from './shared/primary-keys.ts';

export const highUpsertPrimaryKeys = defineCheck({
  name: 'HIGH_UPSERT_PRIMARY_KEYS_CHECK',
  specified: 26,
  title: 'Many primary keys on a server',
  description: 'The primary-key count of all tables on an instance exceeds 800 million.',
  category: 'upsert',
  severity: 'warning',
  defaultThresholds: { maxPrimaryKeys: 800_000_000 },
  remediation: 'Add servers and rebalance, or let old keys expire with metadataTTL.',
  madeFault: { where: 'lowered', fault: 'a server has one key more than allowed', found: 'the server' },
  needs: ['tables', 'enabled', 'assignment', 'primaryKeys'],
  evaluate({ snapshot, thresholds: { maxPrimaryKeys } }) {
    const findings = new Findings();
    const totals = new Map<string, number>();
    const note = visitPrimaryKeys(snapshot, findings, (_table, keys) => {
      findings.examined();
      addKeysByServer(totals, keys);
    });
    for (const [server, count] of totals) {
      if (count <= maxPrimaryKeys) continue;
      const message = `the server has ${counted(count, 'primary key')} over all tables`;
      findings.add(entityFinding('server', server, message, rounded(count), `at most ${rounded(maxPrimaryKeys)}`));
    }
    return findings.outcome({
      pass: `no server has more than ${rounded(maxPrimaryKeys)} primary keys${note}`,
      fail: (count) => have(count, 'server', `more than ${rounded(maxPrimaryKeys)} primary keys${note}`),
      notApplicable: NO_KEYED_TABLES,
    });
  },
});
