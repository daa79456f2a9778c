import { defineCheck } from '../check.ts';
import { clusterSkewOutcome } from './shared/cluster-skew.ts';
import { DEFAULT_EXCESS } from './shared/statistics.ts';

export const tableSkew = defineCheck({
  name: 'TABLE_SKEW_CHECK',
  specified: 13,
  title: 'Tables by server',
  description: 'The table count of a server exceeds 50 % of the average across servers.',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: DEFAULT_EXCESS,
  remediation: 'Spread the tables: rebalance those on few servers, or widen their instance assignment.',
  madeFault: { where: 'lowered', fault: 'a table on one server of three', found: 'the server' },
  needs: ['tables', 'enabled', 'instances', 'assignment'],
  evaluate: ({ snapshot, thresholds: limits }) =>
    clusterSkewOutcome(snapshot, { load: 'tables', noun: 'table', limits }),
});
