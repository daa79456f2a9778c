import { defineCheck } from '../check.ts';
import { clusterSkewOutcome } from './shared/cluster-skew.ts';
import { DEFAULT_EXCESS } from './shared/statistics.ts';

export const clusterLevelConsumingPartitionSkew = defineCheck({
  name: 'CLUSTER_LEVEL_CONSUMING_PARTITION_SKEW_CHECK',
  specified: 15,
  title: 'Consuming segments by server',
  description: 'The consuming segment count of a server exceeds 50 % of the cluster-wide average.',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: DEFAULT_EXCESS,
  remediation: 'Rebalance the realtime tables on that server with includeConsuming=true.',
  madeFault: { where: 'lowered', fault: 'one partition on one server of three', found: 'the server' },
  needs: ['tables', 'enabled', 'instances', 'assignment'],
  evaluate: ({ snapshot, thresholds: limits }) =>
    clusterSkewOutcome(snapshot, { load: 'consuming', noun: 'consuming segment', limits }),
});
