import { defineCheck } from '../check.ts';
import { Findings } from './shared/findings.ts';
import { loadByServer } from './shared/server-loads.ts';
import { serverLimitOutcome } from './shared/server-limit.ts';

export const highNumberOfConsumingPartitions = defineCheck({
  name: 'HIGH_NUMBER_OF_CONSUMING_PARTITIONS_CHECK',
  specified: 17,
  title: 'Many consuming segments on a server',
  description: 'A server hosts more than 50 consuming segments.',
  category: 'servers',
  severity: 'warning',
  defaultThresholds: { maxConsumingSegments: 50 },
  remediation: 'Add servers for consuming segments and rebalance with includeConsuming=true.',
  madeFault: { where: 'lowered', fault: 'a server has more consuming segments than allowed', found: 'the server' },
  needs: ['tables', 'enabled', 'assignment'],
  evaluate({ snapshot, thresholds: { maxConsumingSegments } }) {
    const findings = new Findings();
    const { consuming } = loadByServer(snapshot, findings);
    return serverLimitOutcome(consuming, { limit: maxConsumingSegments, noun: 'consuming segment' }, findings);
  },
});
