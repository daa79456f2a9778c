import { defineCheck } from '../check.ts';
import { bytesText } from '../numbers.ts';
import { enabledTables, Findings, instancesOf } from './shared/findings.ts';
import { increase } from './shared/server-loads.ts';
import { groupNote, serverGroups } from './shared/server-groups.ts';
import { groupedSkewnessOutcome, SKEW_RANGE } from './shared/skewness.ts';

export const dataSizeSkew = defineCheck({
  name: 'DATA_SIZE_SKEW_CHECK',
  specified: 20,
  title: 'Skew of data size',
  description: 'The skew of the data size across servers is outside [-2, 2].',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: SKEW_RANGE,
  remediation: 'Rebalance the largest tables of the named server.',
  madeFault: { where: 'live', fault: 'all data on one of five servers', found: 'the server, until each has some' },
  needs: ['tables', 'enabled', 'instances', 'assignment', 'segmentMetadata', 'size'],
  evaluate({ snapshot, thresholds }) {
    const findings = new Findings();
    const bytes = new Map<string, number>();
    const instances = instancesOf(snapshot, findings) ?? [];
    const tables = enabledTables(snapshot, findings);
    for (const table of tables) {
      const size = findings.value(table.size, 'table', table.name, 'the sizes of its segments');
      for (const [server, count] of size?.bytes ?? []) increase(bytes, server, count);
      if (size?.incomplete !== undefined) {
        findings.couldNotRead('table', table.name, 'its size on every server', size.incomplete);
      }
    }
    const groups = serverGroups(tables, instances, bytes.keys());
    const bytesOf = (servers: ReadonlySet<string>) => new Map([...servers].map((id) => [id, bytes.get(id) ?? 0]));
    return groupedSkewnessOutcome(
      new Map([...groups].map(([group, servers]) => [groupNote(groups, group), bytesOf(servers)])),
      thresholds,
      findings,
      { what: 'data size', noun: 'server', entityType: 'server', amount: bytesText },
    );
  },
});
