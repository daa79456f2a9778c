import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, entityFinding, Findings, have } from './shared/findings.ts';

export const tableColumnCount = defineCheck({
  name: 'TABLE_COLUMN_COUNT_CHECK',
  specified: 7,
  title: 'Columns of a schema',
  description: 'A schema has more than 500 columns.',
  category: 'tables',
  severity: 'advice',
  defaultThresholds: { maxColumns: 500 },
  remediation: 'Move rarely used fields into a JSON column, or split the table.',
  madeFault: { where: 'live', fault: 'a schema of 501 columns', found: 'the schema, until it has 500' },
  needs: ['schemas'],
  evaluate({ snapshot, thresholds: { maxColumns } }) {
    const findings = new Findings();
    const schemas = findings.value(snapshot.schemas, 'cluster', snapshot.clusterName, 'the schemas');
    for (const [name, read] of schemas ?? []) {
      const columns = findings.value(read, 'schema', name, 'the schema')?.columns;
      if (columns === undefined) continue;
      findings.examined();
      if (columns <= maxColumns) continue;
      const observed = counted(columns, 'column');
      findings.add(
        entityFinding('schema', name, `the schema has ${observed}`, observed, `at most ${rounded(maxColumns)}`),
      );
    }
    return findings.outcome({
      pass: `no schema has more than ${rounded(maxColumns)} columns`,
      fail: (count) => have(count, 'schema', `more than ${rounded(maxColumns)} columns`),
      notApplicable: 'not applicable: the cluster has no schema',
    });
  },
});
