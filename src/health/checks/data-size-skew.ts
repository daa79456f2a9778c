import { defineCheck } from '../check.ts';
import { clusterServers } from './shared/cluster-skew.ts';
import { enabledTables, Findings } from './shared/findings.ts';
import { increase } from './shared/server-loads.ts';
import { SKEW_RANGE, skewnessOutcome } from './shared/skewness.ts';

export const dataSizeSkew = defineCheck({
  name: 'DATA_SIZE_SKEW_CHECK',
  title: 'Skew of data size',
  description: 'The skew of the data size across servers is outside [-2, 2].',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: SKEW_RANGE,
  remediation: 'Rebalance the largest tables of the named server.',
  needs: ['tables', 'enabled', 'instances', 'assignment', 'segmentMetadata', 'size'],
  evaluate({ snapshot, thresholds }) {
    const findings = new Findings();
    const bytes = new Map<string, number>();
    for (const server of clusterServers(snapshot, findings)) bytes.set(server, 0);
    for (const table of enabledTables(snapshot, findings)) {
      const size = findings.value(table.size, 'table', table.name, 'the sizes of its segments');
      for (const [server, count] of size?.bytes ?? []) increase(bytes, server, count);
      if (size?.incomplete !== undefined) {
        findings.couldNotRead('table', table.name, 'its size on every server', size.incomplete);
      }
    }
    return skewnessOutcome(bytes, thresholds, findings, { what: 'data size', noun: 'server', entityType: 'server' });
  },
});
