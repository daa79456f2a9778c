import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { requireKnown } from '../../../../src/api/health/indexed-findings.ts';
import { clusterHealth } from '../../../../src/api/health/report.ts';
import { healthMetrics } from '../../../../src/health/metrics.ts';
import { buildStatus } from '../../../../src/health/report/report.ts';
import { withMutes } from '../../../../src/health/report/summary.ts';
import { firingAlerts } from '../../../../src/health/alerts/webhook-payload.ts';
import type { ClusterHealthReportStatus } from '../../../../src/resources/health-status.ts';
import { checkResult, runResult } from '../../../builders/health-run.ts';

// The status that an earlier version left is read until the first run of this one, by the operator and by the gateway.

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}
interface Definition {
  readonly spec: { readonly versions: { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
}

const RELEASED = join(import.meta.dirname, '../../../fixtures/released');
const RELEASES = readdirSync(RELEASED, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const FAILING = 'REPLICATION_CHECK';
const UNREAD = 'SEGMENT_COUNT_CHECK';
const CRITICAL = 'QUERY_HEALTH_CHECK';
const NOW = Date.parse('2026-11-21T11:00:00Z');
const SOURCE = { report: 'cluster', cluster: 'pinot' };

/** As an API server prunes it: without the fields that the schema lacks. */
function prune(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => prune(item, schema.items ?? {}));
  const { properties } = schema;
  if (typeof value !== 'object' || value === null || properties === undefined) return value;
  const known = Object.entries(value).filter(([key]) => key in properties);
  return Object.fromEntries(known.map(([key, item]) => [key, prune(item, properties[key] ?? {})]));
}

function statusOf(release: string): ClusterHealthReportStatus {
  const crd = parse(readFileSync(join(RELEASED, release, 'crds/clusterhealthreports.yaml'), 'utf8')) as Definition;
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.['status'];
  const results = [checkResult(FAILING, 30), checkResult(UNREAD, 1, { unread: true }), checkResult(CRITICAL, 1)];
  const input = { previous: undefined, generation: 1, runAt: undefined, maxFindings: 20, now: NOW };
  return prune(buildStatus({ ...input, result: runResult({}, { results }) }), schema ?? {}) as never;
}

const find = <T extends { name: string }>(checks: readonly T[] | undefined, name: string) =>
  checks?.find((check) => check.name === name);

describe.each(RELEASES)('the status of %s', (release) => {
  const status = statusOf(release);
  const after = (results: Parameters<typeof checkResult>[2], more: { fails: number }) => {
    const run = runResult({}, { results: [checkResult(FAILING, more.fails, results)], startedAt: new Date(NOW) });
    return buildStatus({ result: run, previous: status, generation: 1, runAt: undefined, maxFindings: 20, now: NOW });
  };

  it('is complete in the response', () => {
    const { status: state, summary, checks } = clusterHealth(status, {}, NOW);
    expect({ state, fail: summary.fail, critical: summary.failBySeverity.critical }).toEqual({
      state: 'FAIL',
      fail: 3,
      critical: 1,
    });
    expect(find(checks, FAILING)).toMatchObject({ severity: 'warning', findingCount: 30, findings: { length: 20 } });
  });

  it('is searched by table and instance as far as its findings are listed, and no name is unknown', () => {
    for (const query of [{ table: 't19' }, { table: 'unheard_of' }, { instance: 'Server_x_1' }]) {
      expect(() => requireKnown(status, query)).not.toThrow();
    }
    const { checks } = clusterHealth(status, { table: 't19' }, NOW);
    expect(checks.map(({ name, findings }) => [name, findings.length])).toEqual([[FAILING, 1]]);
    expect(clusterHealth(status, { instance: 'Server_x_1' }, NOW).checks).toEqual([]);
  });

  it('has metrics and alerts', async () => {
    const registry = new Registry();
    healthMetrics(registry, () => [{ name: 'cluster', status, timing: { interval: '20m' } }]);
    const metrics = await registry.metrics();
    expect(metrics).toContain(`olap_warden_health_check_failing{check="${FAILING}",report="cluster"} 1`);
    expect(metrics).toContain(`olap_warden_health_check_critical{check="${FAILING}",report="cluster"} 0`);
    expect(metrics).toContain(`olap_warden_health_check_critical{check="${CRITICAL}",report="cluster"} 1`);
    const { alerts } = firingAlerts(status, SOURCE, NOW);
    expect(alerts.map(({ labels }) => [labels['check'], labels['severity']]).toSorted()).toEqual([
      [CRITICAL, 'critical'],
      [FAILING, 'warning'],
    ]);
  });

  it('can be muted', () => {
    const mute = { id: 'm', check: FAILING, entity: '*', reason: 'planned', until: '2026-11-22T00:00:00Z' };
    const muted = withMutes(status, [mute], { generation: 1, now: NOW });
    expect(find(muted.checks, FAILING)).toMatchObject({ mutedCount: 30 });
  });

  it('is followed by a run that keeps the times of its faults', () => {
    const next = find(after({}, { fails: 2 }).checks, FAILING);
    expect(next).toMatchObject({ since: '2026-11-21T10:00:00.000Z' });
    expect(next?.findings?.map(({ since }) => since)).toEqual(['2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.000Z']);
    const blind = after({ unread: true }, { fails: 1 });
    expect(find(blind.checks, FAILING)?.lastEvaluated).toMatchObject({
      status: 'FAIL',
      findingCount: 30,
      severity: 'warning',
    });
  });
});
