import { defineCheck } from '../check.ts';
import type { Instance, TableSnapshot } from '../snapshot.ts';
import { enabledTables, Findings, have, instancesOf, tableFinding } from './shared/findings.ts';

const MAX_MESSAGE_LENGTH = 1024;

export const brokerResource = defineCheck({
  name: 'BROKER_RESOURCE_CHECK',
  specified: 31,
  title: 'Broker resource',
  description: "The broker resource of a table contains none of the tenant's brokers.",
  category: 'placement',
  severity: 'critical',
  defaultThresholds: {},
  remediation: 'Rebuild it: POST /tables/{tableNameWithType}/rebuildBrokerResourceFromHelixTags.',
  madeFault: { where: 'live', fault: 'all brokers leave the tenant', found: 'each table' },
  needs: ['tables', 'enabled', 'instances', 'brokerResource'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    const instances = instancesOf(snapshot, findings);
    const resource = findings.value(snapshot.brokerResource, 'cluster', snapshot.clusterName, 'the broker resource');
    for (const table of enabledTables(snapshot, findings)) {
      if (instances === undefined || resource === undefined) continue;
      findings.examined();
      const online = resource.get(table.name) ?? [];
      const message = brokerFault(table, instances, online);
      if (message === undefined) continue;
      const observed = online.length === 0 ? 'no broker' : online.join(', ');
      findings.add(tableFinding(table, message, observed, 'a broker of the tenant'));
    }
    return findings.outcome({
      pass: 'the broker resource of every table contains a broker of its tenant',
      fail: (count) => have(count, 'table', 'no broker of the tenant in the broker resource'),
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});

function brokerFault(
  { config: { brokerTenant } }: TableSnapshot,
  instances: readonly Instance[],
  online: readonly string[],
): string | undefined {
  const tag = `${brokerTenant}_BROKER`;
  const brokers = instances.filter((instance) => instance.tags.includes(tag)).map((instance) => instance.id);
  if (brokers.length === 0) return `its broker tenant \`${brokerTenant}\` has no broker`;
  if (brokers.some((broker) => online.includes(broker))) return undefined;
  const names = online.map((broker) => `\`${broker}\``).join(', ');
  const content = online.length === 0 ? 'is empty' : `contains only ${names}`;
  const message = `its broker resource ${content}; expected a broker of the tenant \`${brokerTenant}\``;
  return message.slice(0, MAX_MESSAGE_LENGTH);
}
