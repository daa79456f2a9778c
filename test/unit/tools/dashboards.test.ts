import { LimitMetrics } from '../../../src/api/server/admission/limit-metrics.ts';
import { Gauge } from 'prom-client';
import { describe, expect, it } from 'vitest';
import {
  countDecisions,
  createRegistry,
  observeRejectedConfig,
  observeRequests,
  observeStore,
} from '../../../src/api/server/metrics.ts';
import { DEFINITIONS_METRIC } from '../../../src/app/parts/definitions.ts';
import { healthMetrics } from '../../../src/health/metrics.ts';
import { observeExpiries } from '../../../src/operator/reconcilers/expiry-metrics.ts';
import { prometheusMetrics } from '../../../src/operator/metrics.ts';
import { auditMetrics } from '../../../src/app/parts/audit.ts';
import { countDroppedLines } from '../../../src/platform/log-output.ts';
import { observeUpstreams } from '../../../src/platform/upstream-metrics.ts';
import { observeSpace, prometheusQueryMetrics } from '../../../src/results/metrics.ts';
import { OPERATION_ROWS } from '../../../tools/generate/dashboard/operation.ts';
import { ROWS } from '../../../tools/generate/dashboard/pinot.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Names in an expression that can be metrics; those of labels and functions have none of these prefixes. */
const METRIC = /\b(?:olap_warden|olapwarden|controller_runtime|leader_election|workqueue|nodejs|process)_\w+/g;
/** Suffixes of the series of a histogram. */
const OF_HISTOGRAM = /_(bucket|count|sum)$/;

/** Names of the metrics that the processes export. */
async function exported(): Promise<Set<string>> {
  const registry = createRegistry('0', 'standalone');
  observeRequests(registry);
  new LimitMetrics(registry).watch();
  observeStore(registry, () => ({ ageMs: 0, synced: true }) as never);
  observeRejectedConfig(registry, () => false);
  countDecisions(registry, {} as never);
  healthMetrics(registry, () => []);
  observeExpiries(registry, () => ({ assignments: [], tokens: [] }), new FakeClock());
  prometheusMetrics(registry).queue('roles');
  prometheusQueryMetrics(registry);
  observeSpace(registry, () => undefined);
  observeUpstreams(registry, new FakeClock());
  countDroppedLines(registry);
  auditMetrics(registry);
  registry.registerMetric(new Gauge({ ...DEFINITIONS_METRIC, registers: [] }));
  const text = await registry.metrics();
  return new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name));
}

describe.each([
  ['Pinot', ROWS],
  ['operation', OPERATION_ROWS],
])('the dashboard %s', (_name, rows) => {
  const expressions = rows.flatMap(({ panels }) => panels).flatMap(({ queries }) => queries.map(({ expr }) => expr));

  it('shows only metrics that exist', async () => {
    const known = await exported();
    const shown = expressions.flatMap((expr) => expr.match(METRIC) ?? []);
    expect(shown.length).toBeGreaterThan(expressions.length / 2);
    expect(shown.filter((name) => !known.has(name) && !known.has(name.replace(OF_HISTOGRAM, '')))).toEqual([]);
  });

  it('is restricted to the chosen namespaces and clusters in each query', () => {
    const scope = 'namespace=~"$namespace",cluster=~"$cluster|"';
    expect(expressions.filter((expr) => !expr.includes(scope))).toEqual([]);
  });
});
