import { defineCheck } from '../check.ts';
import type { Instance } from '../snapshot.ts';
import { entityFinding, Findings, have, instancesOf } from './shared/findings.ts';

export const instanceAvailability = defineCheck({
  name: 'INSTANCE_AVAILABILITY_CHECK',
  title: 'Instances that are down or disabled',
  description: 'A configured controller, broker, server or minion is not live, or is disabled.',
  category: 'servers',
  severity: 'warning',
  defaultThresholds: {},
  remediation:
    'Start the instance, or enable it with PUT /instances/{name}/state?state=enable. Remove one that does not come back: PUT /instances/{name}/updateTags, then DELETE /instances/{name}.',
  madeFault: { where: 'live', fault: 'a configured instance has never started', found: 'the instance' },
  needs: ['instances'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const instance of instancesOf(snapshot, findings) ?? []) {
      if (instance.type === 'other') continue;
      findings.examined();
      addFault(instance, findings);
    }
    return findings.outcome({
      pass: 'every configured instance is live and enabled',
      fail: (count) => have(count, 'instance', 'no session in ZooKeeper, or is disabled'),
      notApplicable: 'not applicable: the cluster has no instance',
    });
  },
});

function addFault({ id, type, live, enabled }: Instance, findings: Findings): void {
  const add = (message: string, observed: string, expected: string): void =>
    findings.add(entityFinding(type, id, message, observed, expected));
  if (!live) {
    const disabled = enabled ? '' : ', and it is disabled';
    add(
      `the ${type} has no session in ZooKeeper: it is down, or cannot reach ZooKeeper${disabled}`,
      'not live',
      'live',
    );
  } else if (!enabled) {
    add(`the ${type} is live, but disabled: Pinot does not use it`, 'disabled', 'enabled');
  }
}
