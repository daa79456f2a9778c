import { defineCheck } from '../check.ts';
import { counted, enabledTables, Findings, tableFinding } from './shared/findings.ts';

export const tableSegmentAssignment = defineCheck({
  name: 'TABLE_SEGMENT_ASSIGNMENT_CHECK',
  specified: 30,
  title: 'Tables that need a rebalance',
  description: 'A table needs a segment rebalance.',
  category: 'placement',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Rebalance the table: POST /tables/{table}/rebalance?type=…&dryRun=false.',
  madeFault: { where: 'live', fault: 'the replication is raised', found: 'the table, until its rebalance' },
  needs: ['tables', 'enabled', 'assignment', 'rebalance'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      findings.examined();
      const rebalance = findings.value(table.rebalance, 'table', table.name, 'the result of a rebalance dry run');
      if (rebalance?.needed !== true) continue;
      const observed = rebalance.detail.slice(0, 256);
      findings.add(tableFinding(table, 'a rebalance would move segments (dry run)', observed, 'no segment to move'));
    }
    return findings.outcome({
      pass: 'no table needs a rebalance',
      fail: (count) => `${counted(count, 'table')} ${count === 1 ? 'needs' : 'need'} a rebalance`,
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});
