import { defineCheck } from '../check.ts';
import { Findings } from './shared/findings.ts';
import { loadByServer } from './shared/server-loads.ts';
import { serverLimitOutcome } from './shared/server-limit.ts';

export const highNumberOfSegments = defineCheck({
  name: 'HIGH_NUMBER_OF_SEGMENTS_CHECK',
  specified: 16,
  title: 'Many segments on a server',
  description: 'A server hosts more than 10,000 segments.',
  category: 'servers',
  severity: 'warning',
  defaultThresholds: { maxSegments: 10_000 },
  remediation: 'Add servers and rebalance, or merge small segments.',
  madeFault: { where: 'lowered', fault: 'a server has one segment more than allowed', found: 'the server' },
  needs: ['tables', 'enabled', 'assignment'],
  evaluate({ snapshot, thresholds: { maxSegments } }) {
    const findings = new Findings();
    const { segments } = loadByServer(snapshot, findings);
    return serverLimitOutcome(segments, { limit: maxSegments, noun: 'segment' }, findings);
  },
});
