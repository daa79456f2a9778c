import { defineCheck } from '../check.ts';
import type { ClusterSnapshot, Instance, InstanceHealth } from '../snapshot.ts';
import { counted, entityFinding, Findings, instancesOf, lostReplica } from './shared/findings.ts';

export const instanceHealthApi = defineCheck({
  name: 'INSTANCE_HEALTH_API_CHECK',
  specified: 10,
  title: 'Health of instances',
  description: 'The /health endpoint of a server or broker is not live.',
  category: 'servers',
  severity: 'critical',
  otherSeverity: 'warning',
  defaultThresholds: {},
  remediation: 'Check the process of the instance and its log; restart the instance if it is down.',
  madeFault: { where: 'live', fault: 'a server is stopped', found: 'the server' },
  needs: ['instances', 'instanceHealth'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    const instances = instancesOf(snapshot, findings) ?? [];
    const served = servedTags(instances, snapshot.instanceHealth);
    for (const instance of instances) {
      if ((instance.type !== 'server' && instance.type !== 'broker') || !instance.enabled) continue;
      findings.examined();
      // Data that the last server of a tag had, and queries to the last broker of a tenant, are not available.
      const isLast = !instance.tags.every((tag) => served.has(tag));
      examineInstance(instance, snapshot.instanceHealth.get(instance.id), { findings, isLast });
    }
    return findings.outcome({
      pass: 'every enabled server and broker reports that it is healthy',
      fail: (count) => `${counted(count, 'instance')} ${count === 1 ? 'is' : 'are'} not live`,
      notApplicable: 'not applicable: the cluster has no enabled server or broker',
    });
  },
});

/** Tags of which an enabled instance is healthy, and those of instances that are in no tenant. */
function servedTags(instances: readonly Instance[], health: ClusterSnapshot['instanceHealth']): ReadonlySet<string> {
  const healthy = instances.filter(({ id, enabled }) => enabled && health.get(id)?.healthy === true);
  return new Set([...healthy.flatMap(({ tags }) => tags), 'server_untagged', 'broker_untagged']);
}

function examineInstance(
  { id, type, live }: Instance,
  health: InstanceHealth | undefined,
  { findings, isLast }: { readonly findings: Findings; readonly isLast: boolean },
): void {
  const add = (message: string, observed: string): void => {
    const finding = entityFinding(type, id, message, observed, 'OK');
    findings.add(isLast ? finding : lostReplica(finding));
  };
  if (health === undefined && !live) {
    const message =
      'the instance is not live: it has no session in ZooKeeper, and its configuration has no host or port for `/health`';
    add(message, 'not live');
  } else if (health === undefined) {
    findings.couldNotRead(type, id, 'its health', 'its configuration has no host or port for `/health`');
  } else if (health.skipped === true && live) {
    findings.couldNotRead(type, id, 'its health', health.detail);
  } else if (!health.healthy) {
    const observed = health.unreachable ? 'no response' : health.detail;
    add(faultMessage(health, live), observed);
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
