import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, entityFinding, Findings, have } from './shared/findings.ts';
import { NO_KEYED_TABLES, visitPrimaryKeys } from './shared/primary-keys.ts';

export const highUpsertPkPerPartition = defineCheck({
  name: 'HIGH_UPSERT_PK_PER_PARTITION_CHECK',
  specified: 22,
  title: 'Many primary keys in a partition',
  description: 'A partition on an instance has more than 500 million primary keys.',
  category: 'upsert',
  severity: 'warning',
  defaultThresholds: { maxPrimaryKeys: 500_000_000 },
  remediation: 'Add partitions to the stream, or let old keys expire with metadataTTL.',
  madeFault: {
    where: 'lowered',
    fault: 'a partition has one key more than allowed',
    found: 'the server and the partition',
  },
  needs: ['tables', 'enabled', 'instances', 'assignment', 'primaryKeys'],
  evaluate({ snapshot, thresholds: { maxPrimaryKeys } }) {
    const findings = new Findings();
    const note = visitPrimaryKeys(snapshot, findings, (table, keys) => {
      findings.examined();
      for (const [partition, servers] of keys.partitions) {
        for (const [server, count] of servers) {
          if (count <= maxPrimaryKeys) continue;
          const message = `partition ${partition} of \`${table.name}\` has ${counted(count, 'primary key')} on the server`;
          findings.add(entityFinding('server', server, message, rounded(count), `at most ${rounded(maxPrimaryKeys)}`));
        }
      }
    });
    return findings.outcome({
      pass: `no partition on a server has more than ${counted(maxPrimaryKeys, 'primary key')}${note}`,
      fail: (count) =>
        have(count, 'partition', `more than ${counted(maxPrimaryKeys, 'primary key')} on a server${note}`),
      notApplicable: NO_KEYED_TABLES,
    });
  },
});
