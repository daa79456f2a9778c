import { defineCheck } from '../check.ts';
import type { Instance, InstanceHealth } from '../snapshot.ts';
import { counted, entityFinding, Findings, instancesOf } from './shared/findings.ts';

export const instanceHealthApi = defineCheck({
  name: 'INSTANCE_HEALTH_API_CHECK',
  specified: 10,
  title: 'Health of instances',
  description: 'The /health endpoint of a server or broker is not live.',
  category: 'servers',
  severity: 'critical',
  defaultThresholds: {},
  remediation: 'Check the process of the instance and its log; restart the instance if it is down.',
  madeFault: { where: 'live', fault: 'a server is stopped', found: 'the server' },
  needs: ['instances', 'instanceHealth'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    for (const instance of instancesOf(snapshot, findings) ?? []) {
      if ((instance.type !== 'server' && instance.type !== 'broker') || !instance.enabled) continue;
      findings.examined();
      examineInstance(instance, snapshot.instanceHealth.get(instance.id), findings);
    }
    return findings.outcome({
      pass: 'every enabled server and broker reports that it is healthy',
      fail: (count) => `${counted(count, 'instance')} ${count === 1 ? 'is' : 'are'} not live`,
      notApplicable: 'not applicable: the cluster has no enabled server or broker',
    });
  },
});

function examineInstance({ id, type, live }: Instance, health: InstanceHealth | undefined, findings: Findings): void {
  if (health === undefined && !live) {
    const message =
      'the instance is not live: it has no session in ZooKeeper, and its configuration has no host or port for `/health`';
    findings.add(entityFinding(type, id, message, 'not live', 'OK'));
  } else if (health === undefined) {
    findings.couldNotRead(type, id, 'its health', 'its configuration has no host or port for `/health`');
  } else if (health.skipped === true && live) {
    findings.couldNotRead(type, id, 'its health', health.detail);
  } else if (!health.healthy) {
    const observed = health.unreachable ? 'no response' : health.detail;
    findings.add(entityFinding(type, id, faultMessage(health, live), observed, 'OK'));
  }
}

function faultMessage({ unreachable, url, detail, skipped }: InstanceHealth, live: boolean): string {
  if (skipped === true) return 'the instance is not live: it has no session in ZooKeeper';
  if (!unreachable) return `\`${url}\` responded with \`${detail}\``;
  const noResponse = `\`${url}\` did not respond (${detail})`;
  // From here a hanging process and a blocked network look the same.
  if (live) return `${noResponse}, but the instance is live in ZooKeeper: it hangs, or the network blocks the request`;
  return `the instance is not live: ${noResponse}`;
}
