import { defineCheck } from '../check.ts';
import { clusterSkewOutcome } from './shared/cluster-skew.ts';
import { DEFAULT_EXCESS } from './shared/statistics.ts';

export const clusterLevelSegmentSkew = defineCheck({
  name: 'CLUSTER_LEVEL_SEGMENT_SKEW_CHECK',
  specified: 14,
  title: 'Segments by server',
  description: 'The segment count of a server exceeds 50 % of the cluster-wide average.',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: DEFAULT_EXCESS,
  remediation: 'Rebalance the tables with the most segments on that server.',
  madeFault: { where: 'lowered', fault: 'all segments of a table on one server of three', found: 'the server' },
  needs: ['tables', 'enabled', 'instances', 'assignment'],
  evaluate: ({ snapshot, thresholds: limits }) =>
    clusterSkewOutcome(snapshot, { load: 'segments', noun: 'segment', limits }),
});
