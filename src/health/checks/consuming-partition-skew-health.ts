import { defineCheck } from '../check.ts';
import { DEFAULT_EXCESS } from './shared/statistics.ts';
import { tableSkewOutcome } from './shared/table-skew.ts';

export const consumingPartitionSkewHealth = defineCheck({
  name: 'CONSUMING_PARTITION_SKEW_HEALTH_CHECK',
  specified: 12,
  title: 'Consuming segments of a table by server',
  description:
    'For a table with more than 10 consuming segments, the consuming segment count of a server exceeds 50 % of the average across the servers of the table.',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: { minConsumingSegments: 10, ...DEFAULT_EXCESS },
  remediation: 'Rebalance the table with includeConsuming=true.',
  madeFault: { where: 'lowered', fault: 'one partition on one server of three', found: 'the table' },
  needs: ['tables', 'enabled', 'instances', 'assignment', 'instancePartitions'],
  evaluate: ({ snapshot, thresholds: { minConsumingSegments, ...limits } }) =>
    tableSkewOutcome(snapshot, {
      noun: 'consuming segment',
      load: 'consuming',
      inTable: (assignment) => assignment.consumingSegments,
      minimum: minConsumingSegments,
      limits,
    }),
});
