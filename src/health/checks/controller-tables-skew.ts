import { defineCheck } from '../check.ts';
import { counted, Findings, instancesOf } from './shared/findings.ts';
import { SKEW_RANGE, skewnessOutcome } from './shared/skewness.ts';

export const controllerTablesSkew = defineCheck({
  name: 'CONTROLLER_TABLES_SKEW_CHECK',
  specified: 21,
  title: 'Skew of lead controllers',
  description: 'The skew of the table count across lead controllers is outside [-2, 2].',
  category: 'skew',
  severity: 'warning',
  defaultThresholds: SKEW_RANGE,
  remediation: 'Check that every controller is live and enabled; restart the one that leads too many tables.',
  madeFault: { where: 'live', fault: 'one of five controllers leads every table', found: 'the controller' },
  needs: ['instances', 'leaders'],
  evaluate({ snapshot, thresholds }) {
    const findings = new Findings();
    const instances = instancesOf(snapshot, findings) ?? [];
    const leaders = findings.value(snapshot.leaders, 'cluster', snapshot.clusterName, 'the lead controllers');
    const counts = new Map<string, number>();
    for (const { id, type, live } of instances) if (type === 'controller' && live) counts.set(id, 0);
    for (const [controller, count] of leaders ?? []) counts.set(controller, count);
    const texts = {
      what: 'table count',
      noun: 'lead controller',
      entityType: 'controller',
      amount: (count: number) => counted(count, 'table'),
    };
    return skewnessOutcome(counts, thresholds, findings, texts);
  },
});
