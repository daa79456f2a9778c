import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_CHECKS, SEVERITIES } from '../../../../src/resources/health-finding.ts';
import { CATALOGUE, findCheck, originOf } from '../../../../src/health/catalogue.ts';
import { MAX_FINDINGS, MAX_INDEXED_FINDINGS } from '../../../../src/health/check.ts';
import { readFailed, type ClusterSnapshot } from '../../../../src/health/snapshot.ts';
import { snapshot, sourcesOf, table } from '../../../builders/snapshot.ts';
import { checkCases, evaluate, loadCases } from './check-cases.ts';

await loadCases();

const CHECKS = join(import.meta.dirname, '../../../../src/health/checks');

describe.each([...checkCases])('%s', (check, rows) => {
  it.each(rows)('$name', (row) => {
    const outcome = evaluate(check, row.snapshot, row.thresholds, row.prebuiltSnapshotProperty);
    const entities = row.entities ?? [];
    expect(outcome.findings.map(({ entity }) => entity)).toEqual(entities);
    expect(outcome.findingCount).toBe(entities.length);
    expect(outcome.status).toBe(entities.length === 0 ? 'PASS' : 'FAIL');
    expect(outcome.couldNotEvaluate).toBe(row.couldNotEvaluate ?? false);
    if (row.couldNotEvaluate) expect(outcome.message).toMatch(/^could not evaluate/u);
    if (row.severities !== undefined) expect(outcome.findings.map(({ severity }) => severity)).toEqual(row.severities);
    const { severity: own, otherSeverity } = findCheck(check)!;
    for (const { severity = own } of outcome.findings) expect([own, otherSeverity]).toContain(severity);
    // Also a check that examines nothing passes.
    const applies = typeof row.message !== 'string' || !row.message.startsWith('not applicable');
    expect(outcome.message.startsWith('not applicable')).toBe(!applies);
    if (row.message !== undefined) expect(outcome.message).toMatch(row.message);
    if (row.finding !== undefined) expect(outcome.findings[0]?.message).toMatch(row.finding);
    const { observed, threshold } = row;
    const values = { ...(observed !== undefined && { observed }), ...(threshold !== undefined && { threshold }) };
    if (row.entities !== undefined) expect(outcome.findings[0]).toMatchObject(values);
  });
});

describe('the catalogue', () => {
  it('fits into a report', () => {
    expect(CATALOGUE.length).toBeLessThanOrEqual(MAX_CHECKS);
  });

  it('has the 33 checks of the specification in its order', () => {
    const specified = [
      'IDEAL_STATE_EV_MISMATCH_CHECK',
      'TABLE_SEGMENTS_RELOAD_CHECK',
      'SEGMENT_COUNT_CHECK',
      'SEGMENT_SIZE_CHECK',
      'SEGMENT_RETENTION_CHECK',
      'REPLICATION_CHECK',
      'TABLE_COLUMN_COUNT_CHECK',
      'TIME_COLUMN_GRANULARITY_CHECK',
      'UPSERT_TABLE_SEGMENT_ASSIGNMENT_CHECK',
      'INSTANCE_HEALTH_API_CHECK',
      'SEGMENT_SKEW_HEALTH_CHECK',
      'CONSUMING_PARTITION_SKEW_HEALTH_CHECK',
      'TABLE_SKEW_CHECK',
      'CLUSTER_LEVEL_SEGMENT_SKEW_CHECK',
      'CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK',
      'HIGH_NUMBER_OF_SEGMENTS_CHECK',
      'HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK',
      'HIGH_NUMBER_OF_DOCUMENTS_CHECK',
      'HIGH_NUMBER_OF_TABLES_CHECK',
      'DATA_SIZE_SKEW_CHECK',
      'CONTROLLER_TABLES_SKEW_CHECK',
      'HIGH_UPSERT_PK_PER_PARTITION_CHECK',
      'UPSERT_PRIMARY_KEY_SKEW_CHECK',
      'PREBUILT_SNAPSHOT_CHECK',
      'UPSERT_PK_SKEW_PER_PARTITION_CHECK',
      'HIGH_UPSERT_PRIMARY_KEYS_CHECK',
      'INSTANCE_POOLS_CHECK',
      'INSTANCE_POOLS_N_REPLICA_GROUPS_CHECK',
      'COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK',
      'TABLE_SEGMENT_ASSIGNMENT_CHECK',
      'BROKER_RESOURCE_CHECK',
      'QUERY_HEALTH_CHECK',
      'SEGMENTS_TIME_PARTITION_CHECK',
    ];
    const names = CATALOGUE.map(({ name }) => name);
    expect(CATALOGUE.flatMap((check) => check.specified ?? [])).toEqual(specified.map((_, i) => i + 1));
    expect(names.filter((name) => originOf(name) === 'specification')).toEqual(specified);
    expect(names.slice(0, specified.length)).toEqual(specified);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has one file in src/health/checks for each check', () => {
    const files = readdirSync(CHECKS, { withFileTypes: true }).filter((entry) => entry.isFile());
    const expected = CATALOGUE.map(
      ({ name }) =>
        `${name
          .replace(/_CHECK$/u, '')
          .toLowerCase()
          .replaceAll('_', '-')}.ts`,
    );
    expect(files.map(({ name }) => name).toSorted()).toEqual(expected.toSorted());
  });

  it('has extensions in the order of severity and name', () => {
    const extensions = CATALOGUE.filter(({ name }) => originOf(name) === 'extension');
    const keys = extensions.map(({ severity, name }) => `${SEVERITIES.indexOf(severity)} ${name}`);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys).toEqual(keys.toSorted());
  });

  it('has a second severity only for an alert that is critical in one case', () => {
    for (const { severity, otherSeverity } of CATALOGUE) {
      if (otherSeverity === undefined) continue;
      expect(new Set([severity, otherSeverity]).size).toBe(2);
      expect([severity, otherSeverity]).toContain('critical');
    }
  });

  it('has cases for every check', () => {
    expect([...checkCases.keys()].toSorted()).toEqual(CATALOGUE.map(({ name }) => name).toSorted());
  });
});

const failed = readFailed('connection refused');
const nothing: ClusterSnapshot = {
  ...snapshot(),
  unreachable: 'connection refused',
  instances: failed,
  clusterConfig: failed,
  sources: sourcesOf([], {
    configurations: failed,
    idealStates: failed,
    externalViews: failed,
    segmentMetadata: failed,
    listed: failed,
  }),
  tables: failed,
  schemas: failed,
  instancePartitions: failed,
  brokerResource: failed,
  nodeSizes: failed,
  leaders: failed,
  minionTasks: failed,
  policies: failed,
};

describe('every check', () => {
  it.each(CATALOGUE.map(({ name }) => name))('%s fails if nothing could be read', (name) => {
    const outcome = evaluate(name, nothing);
    expect(outcome).toMatchObject({ status: 'FAIL', couldNotEvaluate: true });
    expect(outcome.findings[0]?.message).toContain('connection refused');
  });

  it.each(CATALOGUE.map(({ name }) => name))('%s passes on an empty cluster', (name) => {
    const empty = snapshot([], { instances: { ok: true, value: [] } });
    expect(evaluate(name, empty)).toMatchObject({ status: 'PASS', findingCount: 0 });
  });

  it('counts all findings and keeps a bounded number', () => {
    const tables = Array.from({ length: 1_000 }, (_, i) => table(`t${i}_OFFLINE`, { config: { replication: '1' } }));
    const outcome = evaluate('REPLICATION_CHECK', snapshot(tables));
    expect(outcome.findingCount).toBe(1_000);
    expect(outcome.findings).toHaveLength(MAX_FINDINGS);
    expect(outcome.moreFindings).toHaveLength(1_000 - MAX_FINDINGS);
    const more = Array.from({ length: 12_000 }, (_, i) => table(`t${i}_OFFLINE`, { config: { replication: '1' } }));
    const bounded = evaluate('REPLICATION_CHECK', snapshot(more));
    expect(bounded.findingCount).toBe(12_000);
    expect(bounded.moreFindings).toHaveLength(MAX_INDEXED_FINDINGS - MAX_FINDINGS);
  });
});
