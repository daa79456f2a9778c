import { defineCheck } from '../check.ts';
import { DEFAULT_EXCESS } from './shared/statistics.ts';
import { tableSkewOutcome } from './shared/table-skew.ts';

export const segmentSkewHealth = defineCheck({
  name: 'SEGMENT_SKEW_HEALTH_CHECK',
  specified: 11,
  title: 'Segments of a table by server',
  description:
    'For a table with more than 50 segments, the segment count of a server exceeds 50 % of the average across the servers of the table.',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: { minSegments: 50, ...DEFAULT_EXCESS },
  remediation: 'Rebalance the table.',
  madeFault: {
    where: 'lowered',
    fault: 'all segments of a table on one server of three',
    found: 'the table and the server',
  },
  needs: ['tables', 'enabled', 'instances', 'assignment', 'instancePartitions'],
  evaluate: ({ snapshot, thresholds: { minSegments, ...limits } }) =>
    tableSkewOutcome(snapshot, {
      noun: 'segment',
      load: 'segments',
      inTable: (assignment) => assignment.segments,
      minimum: minSegments,
      limits,
    }),
});
