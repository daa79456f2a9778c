import { defineCheck } from '../check.ts';
import type { Instance } from '../snapshot.ts';
import { entityFinding, Findings, have, instancesOf } from './shared/findings.ts';

export const coordinatorHostNameInstanceNameMismatch = defineCheck({
  name: 'COORDINATOR_HOST_NAME_INSTANCE_NAME_MISMATCH_CHECK',
  specified: 29,
  title: 'Names of instances',
  description: 'The id or name of an instance differs from the one that follows from its configuration.',
  category: 'servers',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Correct host and port with PUT /instances/{name}, or start the instance under the right name.',
  madeFault: { where: 'live', fault: 'an instance with another host than its id', found: 'the instance' },
  needs: ['instances'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const instance of instancesOf(snapshot, findings) ?? []) {
      if (instance.type === 'other') continue;
      findings.examined();
      const expected = idFromConfiguration(instance);
      if (expected === instance.id) continue;
      const message = `its configured host and port give the id \`${expected}\``;
      findings.add(entityFinding(instance.type, instance.id, message, instance.id, expected));
    }
    return findings.outcome({
      pass: 'the id of every instance matches its host and port',
      fail: (count) => have(count, 'instance', 'an id that does not match the configured host and port'),
      notApplicable: 'not applicable: the cluster has no instance',
    });
  },
});

/** `<Type>_<host>_<port>`. Some engine versions also put the type into the configured host. */
function idFromConfiguration({ type, host, port }: Instance): string {
  const prefix = `${type.charAt(0).toUpperCase()}${type.slice(1)}_`;
  return `${prefix}${host.startsWith(prefix) ? host.slice(prefix.length) : host}_${port}`;
}
