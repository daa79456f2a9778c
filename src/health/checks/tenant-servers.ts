import { defineCheck } from '../check.ts';
import type { Instance } from '../snapshot.ts';
import {
  counted,
  enabledTables,
  entityFinding,
  examples,
  Findings,
  instancesOf,
  withSeverity,
} from './shared/findings.ts';

/** The tables that need servers with a tag. */
interface Demand {
  readonly tables: string[];
  /** True if some of them put new segments there; false if segments only move there by their age. */
  isForNewSegments: boolean;
}

export const tenantServers = defineCheck({
  name: 'TENANT_SERVERS_CHECK',
  title: 'Tenants without servers',
  description: 'No live, enabled server has a tag that the tables of a tenant need for their segments.',
  category: 'placement',
  severity: 'critical',
  otherSeverity: 'warning',
  defaultThresholds: {},
  remediation:
    'Start a server of the tenant, or give one the tag with PUT /instances/{name}/updateTags (which replaces all tags of the server).',
  madeFault: { where: 'live', fault: 'the only server of a tenant loses its tag', found: 'the tag of the tenant' },
  needs: ['tables', 'enabled', 'instances'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    const instances = instancesOf(snapshot, findings);
    const demands = new Map<string, Demand>();
    for (const { name, config } of enabledTables(snapshot, findings)) {
      for (const tag of config.serverTags) {
        const demand = demands.get(tag) ?? { tables: [], isForNewSegments: false };
        demands.set(tag, demand);
        demand.tables.push(name);
        demand.isForNewSegments ||= tag === config.consumingTag || tag === config.completedTag;
      }
    }
    for (const [tag, demand] of instances === undefined ? [] : demands) {
      findings.examined();
      addFault(tag, demand, instances ?? [], findings);
    }
    return findings.outcome({
      pass: 'every tag that tables need has a live, enabled server',
      fail: (count) =>
        `${counted(count, 'tag')} that tables need ${count === 1 ? 'has' : 'have'} no live, enabled server`,
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});

function addFault(
  tag: string,
  { tables, isForNewSegments }: Demand,
  instances: readonly Instance[],
  findings: Findings,
) {
  const tagged = instances.filter(({ type, tags }) => type === 'server' && tags.includes(tag));
  if (tagged.some(({ live, enabled }) => live && enabled)) return;
  const servers =
    tagged.length === 0
      ? 'no server has the tag'
      : `${counted(tagged.length, 'server')} ${tagged.length === 1 ? 'has' : 'have'} the tag, but none is live and enabled`;
  const needed = `${counted(tables.length, 'table')}${examples({ count: tables.length, names: tables })}`;
  const effect = isForNewSegments
    ? `new segments of ${needed} cannot be placed`
    : `segments of ${needed} cannot move to this storage tier`;
  const finding = entityFinding('tenant', tag, `${servers}: ${effect}`, 'no live, enabled server', 'at least 1');
  findings.add(isForNewSegments ? finding : withSeverity('warning', finding));
}
