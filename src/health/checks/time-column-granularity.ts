import { defineCheck } from '../check.ts';
import { CONSISTENCY_CHECK, readReported, schemaOf } from '../snapshot.ts';
import { Findings, have, tableFinding, tablesOf } from './shared/findings.ts';

const FINE_UNITS = new Set(['MILLISECONDS', 'MICROSECONDS', 'NANOSECONDS']);

export const timeColumnGranularity = defineCheck({
  name: 'TIME_COLUMN_GRANULARITY_CHECK',
  specified: 8,
  title: 'Granularity of time columns',
  description: 'A table has a time column with granularity MILLISECONDS, MICROSECONDS or NANOSECONDS.',
  category: 'tables',
  severity: 'advice',
  defaultThresholds: {},
  remediation: 'Add a coarser column with an ingestion transform and make it the time column of the table.',
  madeFault: { where: 'live', fault: 'a time column in milliseconds', found: 'the table' },
  needs: ['tables', 'schemas'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    const tables = tablesOf(snapshot, findings);
    const schemas = findings.value(snapshot.schemas, 'cluster', snapshot.clusterName, 'the schemas');
    for (const table of tables) {
      const { timeColumn } = table.config;
      if (schemas === undefined || timeColumn === undefined) continue;
      const missing = readReported('the table has no schema', CONSISTENCY_CHECK);
      const schema = findings.value(schemaOf(schemas, table) ?? missing, 'table', table.name, 'its schema');
      if (schema === undefined) continue;
      findings.examined();
      const granularity = schema.granularities.get(timeColumn);
      if (granularity === undefined || !FINE_UNITS.has(unitOf(granularity))) continue;
      const message = `the granularity of its time column \`${timeColumn}\` is \`${granularity}\``;
      findings.add(tableFinding(table, message, granularity, 'SECONDS or coarser'));
    }
    return findings.outcome({
      pass: 'no time column has a granularity finer than seconds',
      fail: (count) => have(count, 'table', 'a time column with a granularity finer than seconds'),
      notApplicable: 'not applicable: no table has a time column',
    });
  },
});

/** The unit of `1:MILLISECONDS`, of the newer `MILLISECONDS|1`, or of a bare `MILLISECONDS`. */
function unitOf(granularity: string): string {
  const parts = granularity.split(/[:|]/u).map((part) => part.trim().toUpperCase());
  return parts.find((part) => /^[A-Z]+$/u.test(part)) ?? '';
}
