import type { CheckInput, CheckOutcome } from '../check.ts';
import {
  counted,
  enabledTables,
  entityFinding,
  Findings,
  have,
  notApplicable,
  tableFinding,
  tablesOf,
} from '../outcome.ts';
import type { Instance, TableSnapshot } from '../snapshot.ts';

export function instancePools({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const limit = thresholds.maxServersWithoutPools ?? 0;
  const instances = findings.value(snapshot.instances, 'cluster', snapshot.clusterName, 'the instances') ?? [];
  const servers = instances.filter((instance) => instance.type === 'server');
  if (snapshot.instances.ok && servers.length <= limit) {
    return notApplicable(`not applicable: ${counted(servers.length, 'server')}; pools matter above ${limit}`);
  }
  for (const server of servers) {
    findings.examined();
    const pools = [...new Set(Object.values(server.pools))];
    if (pools.length === 0) {
      findings.add(entityFinding('server', server.id, 'the server is in no instance pool', 'no pool', 'one pool'));
    } else if (pools.length > 1) {
      const message = `the server is in the pools ${pools.join(' and ')}, so that these are not disjoint`;
      findings.add(entityFinding('server', server.id, message, `pools ${pools.join(', ')}`, 'one pool'));
    }
  }
  return findings.outcome({
    pass: 'every server is in one instance pool',
    fail: (count) =>
      `${counted(count, 'server')} ${count === 1 ? 'is' : 'are'} in no instance pool or in more than one`,
  });
}

export function poolsAndReplicaGroups({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of tablesOf(snapshot, findings)) {
    // A dimension table is on every server of its tenant: there is nothing to be grouped.
    if (table.config.isDimension) continue;
    findings.examined();
    const missing = missingAssignment(table);
    if (missing !== undefined) {
      findings.add(tableFinding(table, missing.message, missing.observed, 'pools and replica groups'));
    }
  }
  return findings.outcome({
    pass: 'every table uses instance pools and replica groups',
    fail: (count) =>
      `${counted(count, 'table')} ${count === 1 ? 'does' : 'do'} not use instance pools and replica groups`,
    notApplicable: 'not applicable: the cluster has no table but dimension tables',
  });
}

function missingAssignment({ config }: TableSnapshot): { message: string; observed: string } | undefined {
  if (config.instanceAssignments.length === 0) {
    return { message: 'the table has no `instanceAssignmentConfigMap`', observed: 'no assignment' };
  }
  const faults = config.instanceAssignments.flatMap((assignment) => [
    ...(assignment.poolBased ? [] : [`\`${assignment.name}\` is not pool-based`]),
    ...(assignment.replicaGroupBased ? [] : [`\`${assignment.name}\` is not based on replica groups`]),
  ]);
  if (faults.length === 0) return undefined;
  const observed = faults.join(', ').replaceAll('`', '');
  return { message: `instance assignment ${faults.join(', ')}`, observed };
}

export function segmentAssignment({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of enabledTables(snapshot, findings)) {
    findings.examined();
    const rebalance = findings.value(table.rebalance, 'table', table.name, 'whether it needs a rebalance');
    if (rebalance?.needed !== true) continue;
    findings.add(
      tableFinding(table, 'a dry run of a rebalance moves segments', rebalance.detail.slice(0, 256), 'nothing to move'),
    );
  }
  return findings.outcome({
    pass: 'no table needs a rebalance',
    fail: (count) => `${counted(count, 'table')} ${count === 1 ? 'needs' : 'need'} a rebalance`,
    notApplicable: 'not applicable: the cluster has no enabled table',
  });
}

export function brokerResource({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const { clusterName } = snapshot;
  const instances = findings.value(snapshot.instances, 'cluster', clusterName, 'the instances');
  const resource = findings.value(snapshot.brokerResource, 'cluster', clusterName, 'the broker resource');
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
    pass: "the broker resource of every table has brokers of the table's tenant",
    fail: (count) => have(count, 'table', "none of its tenant's brokers in its broker resource"),
    notApplicable: 'not applicable: the cluster has no enabled table',
  });
}

function brokerFault(
  table: TableSnapshot,
  instances: readonly Instance[],
  online: readonly string[],
): string | undefined {
  const tag = `${table.config.brokerTenant}_BROKER`;
  const brokers = instances.filter((instance) => instance.tags.includes(tag)).map((instance) => instance.id);
  if (brokers.length === 0) return `its broker tenant \`${table.config.brokerTenant}\` has no broker`;
  if (brokers.some((broker) => online.includes(broker))) return undefined;
  const held = online.length === 0 ? 'is empty' : `holds ${online.map((broker) => `\`${broker}\``).join(', ')}`;
  return `its broker resource ${held}, and no broker of the tenant \`${table.config.brokerTenant}\``.slice(0, 1024);
}
