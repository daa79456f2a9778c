import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, Findings, have, tableFinding } from './shared/findings.ts';
import { NO_KEYED_TABLES, visitPrimaryKeys } from './shared/primary-keys.ts';
import { SKEW_RANGE } from './shared/skewness.ts';
import { skewness } from './shared/statistics.ts';

export const upsertPkSkewPerPartition = defineCheck({
  name: 'UPSERT_PK_SKEW_PER_PARTITION_CHECK',
  specified: 25,
  title: 'Skew of primary keys over partitions',
  description: 'The skew of the primary keys across the partitions of a table is outside [-2, 2].',
  category: 'upsert',
  severity: 'warning',
  defaultThresholds: SKEW_RANGE,
  remediation: 'Partition the stream by the whole primary key, with a hash function that distributes it evenly.',
  madeFault: { where: 'live', fault: 'all keys in one of five partitions', found: 'the table' },
  needs: ['tables', 'enabled', 'assignment', 'primaryKeys'],
  evaluate({ snapshot, thresholds: { minSkew, maxSkew } }) {
    const findings = new Findings();
    const range = `[${minSkew}, ${maxSkew}]`;
    const note = visitPrimaryKeys(snapshot, findings, (table, keys) => {
      findings.examined();
      // The replicas of a partition hold the same keys: the largest count is the partition's size.
      const sizes = [...keys.partitions].map(
        ([partition, servers]) => [partition, Math.max(0, ...servers.values())] as const,
      );
      const skew = skewness(sizes.map(([, size]) => size));
      if (skew === undefined || (skew >= minSkew && skew <= maxSkew)) return;
      const mean = sizes.reduce((sum, [, size]) => sum + size, 0) / sizes.length;
      const [partition, size] = sizes.toSorted((a, b) => Math.abs(b[1] - mean) - Math.abs(a[1] - mean))[0] ?? [0, 0];
      const message = `the skew of primary keys over its ${rounded(sizes.length)} partitions is ${rounded(skew)}; partition ${partition} has ${counted(size, 'primary key')}, the average is ${counted(mean, 'primary key')}`;
      findings.add(tableFinding(table, message, rounded(skew), range));
    });
    return findings.outcome({
      pass: `the skew of primary keys over the partitions of every table is within ${range}${note}`,
      fail: (count) => have(count, 'table', `a skew of primary keys over partitions outside ${range}${note}`),
      notApplicable: NO_KEYED_TABLES,
    });
  },
});
