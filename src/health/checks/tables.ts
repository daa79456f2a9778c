import type { CheckInput, CheckOutcome } from '../check.ts';
import { counted, Findings, have, tableFinding, tablesOf } from '../outcome.ts';
import type { ClusterSnapshot, SchemaSummary, TableSnapshot } from '../snapshot.ts';

const NO_TABLES = 'not applicable: the cluster has no table';
const FINE_UNITS = new Set(['MILLISECONDS', 'MICROSECONDS', 'NANOSECONDS']);

export function segmentRetention({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of tablesOf(snapshot, findings)) {
    const { config } = table;
    // Every push replaces the whole content of such a table: there is nothing old to be removed.
    if (config.isRefresh || config.isDimension) continue;
    findings.examined();
    const fault = retentionFault(config.retentionTimeUnit, config.retentionTimeValue);
    if (fault === undefined) continue;
    const observed = `${config.retentionTimeValue ?? 'no value'} ${config.retentionTimeUnit ?? 'no unit'}`;
    findings.add(tableFinding(table, `the table has no segment retention: ${fault}`, observed, 'a time above 0'));
  }
  return findings.outcome({
    pass: 'every table that keeps its segments has a retention',
    fail: (count) => have(count, 'table', 'no segment retention'),
    notApplicable: 'not applicable: no table but those that every push replaces whole',
  });
}

function retentionFault(unit: string | undefined, value: string | undefined): string | undefined {
  if (unit === undefined && value === undefined) return '`retentionTimeUnit` and `retentionTimeValue` are not set';
  if (unit === undefined) return '`retentionTimeUnit` is not set';
  if (value === undefined) return '`retentionTimeValue` is not set';
  return Number(value) > 0 ? undefined : `\`retentionTimeValue\` is \`${value}\`, a positive number would be right`;
}

export function replication({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const minimum = thresholds.minReplication ?? 0;
  for (const table of tablesOf(snapshot, findings)) {
    // A dimension table is on every server of its tenant whatever its replication says.
    if (table.config.isDimension) continue;
    findings.examined();
    const factor = Number(table.config.replication);
    if (Number.isNaN(factor) || table.config.replication === '') {
      const given = table.config.replication === undefined ? 'is not set' : `is \`${table.config.replication}\``;
      const observed = table.config.replication ?? 'not set';
      findings.add(tableFinding(table, `the replication ${given}`, observed, `at least ${minimum}`));
    } else if (factor < minimum) {
      findings.add(tableFinding(table, `the replication is ${factor}`, String(factor), `at least ${minimum}`));
    }
  }
  return findings.outcome({
    pass: `every table has a replication of at least ${minimum}`,
    fail: (count) => have(count, 'table', `a replication below ${minimum}`),
    notApplicable: NO_TABLES,
  });
}

export function columnCount({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const limit = thresholds.maxColumns ?? 0;
  const schemas = findings.value(snapshot.schemas, 'cluster', snapshot.clusterName, 'the schemas');
  for (const [name, schema] of schemas ?? []) {
    findings.examined();
    if (schema.columns <= limit) continue;
    findings.add({
      entityType: 'schema',
      entity: name,
      message: `the schema has ${schema.columns} columns`,
      observed: counted(schema.columns, 'column'),
      threshold: `at most ${limit}`,
    });
  }
  return findings.outcome({
    pass: `no schema has more than ${limit} columns`,
    fail: (count) => have(count, 'schema', `more than ${limit} columns`),
    notApplicable: 'not applicable: the cluster has no schema',
  });
}

export function timeColumnGranularity({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const tables = tablesOf(snapshot, findings).filter((table) => table.config.timeColumn !== undefined);
  const schemas = findings.value(snapshot.schemas, 'cluster', snapshot.clusterName, 'the schemas');
  for (const table of schemas === undefined ? [] : tables) {
    findings.examined();
    const schema = schemaOf(table, schemas as ReadonlyMap<string, SchemaSummary>);
    if (schema === undefined) {
      findings.couldNotRead('table', table.name, 'its schema', `there is no schema \`${schemaName(table)}\``);
      continue;
    }
    const granularity = schema.granularities.get(table.config.timeColumn ?? '');
    if (granularity === undefined || !FINE_UNITS.has(granularityUnit(granularity))) continue;
    findings.add(
      tableFinding(
        table,
        `the granularity of its time column \`${table.config.timeColumn}\` is \`${granularity}\``,
        granularity,
        'SECONDS or coarser',
      ),
    );
  }
  return findings.outcome({
    pass: 'no time column has a granularity finer than seconds',
    fail: (count) => have(count, 'table', 'a time column with a granularity finer than seconds'),
    notApplicable: 'not applicable: no table has a time column',
  });
}

/** The unit of `1:MILLISECONDS`, of the newer `MILLISECONDS|1`, or of a bare `MILLISECONDS`. */
export function granularityUnit(granularity: string): string {
  const parts = granularity.split(/[:|]/u).map((part) => part.trim().toUpperCase());
  return parts.find((part) => /^[A-Z]+$/u.test(part)) ?? '';
}

function schemaName(table: TableSnapshot): string {
  return table.config.schemaName ?? table.rawName;
}

function schemaOf(table: TableSnapshot, schemas: ReadonlyMap<string, SchemaSummary>): SchemaSummary | undefined {
  return schemas.get(table.rawName) ?? schemas.get(schemaName(table));
}

/** `controller.replication.threshold` of the cluster configuration, where it is set. */
export function clusterReplicationThreshold(snapshot: ClusterSnapshot): Readonly<Record<string, number>> {
  if (!snapshot.clusterConfig.ok) return {};
  const value = Number(snapshot.clusterConfig.value['controller.replication.threshold'] ?? Number.NaN);
  return Number.isInteger(value) && value > 0 ? { minReplication: value } : {};
}
