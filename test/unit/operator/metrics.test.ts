import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { prometheusMetrics } from '../../../src/operator/metrics.ts';

it('only reconciliations with an error count as errors', async () => {
  const registry = new Registry();
  const controller = prometheusMetrics(registry).controller('role');
  for (const result of ['success', 'success', 'requeue_after', 'error'] as const) controller.reconciled(result, 0.1);
  const text = await registry.metrics();
  expect(text).toContain('controller_runtime_reconcile_errors_total{controller="role"} 1');
  expect(text).toContain('controller_runtime_reconcile_total{controller="role",result="success"} 2');
  expect(text).toContain('controller_runtime_reconcile_total{controller="role",result="error"} 1');
  expect(text).toContain('controller_runtime_reconcile_time_seconds_count{controller="role"} 4');
});
