import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, entityFinding, Findings, instancesOf, notApplicable } from './shared/findings.ts';

export const instancePools = defineCheck({
  name: 'INSTANCE_POOLS_CHECK',
  specified: 27,
  title: 'Instance pools',
  description: 'A server is in no instance pool, or pools are not disjoint, when the cluster has more than 8 servers.',
  category: 'placement',
  severity: 'advice',
  defaultThresholds: { maxServersWithoutPools: 8 },
  remediation: 'Give each server one pool with PUT /instances/{name}; send all of its other fields unchanged.',
  madeFault: { where: 'lowered', fault: 'a server in no pool, and in two', found: 'the server' },
  needs: ['instances'],
  evaluate({ snapshot, thresholds: { maxServersWithoutPools: limit } }) {
    const findings = new Findings();
    const instances = instancesOf(snapshot, findings);
    const servers = (instances ?? []).filter(({ type }) => type === 'server');
    if (instances !== undefined && servers.length <= limit) {
      const found = counted(servers.length, 'server');
      return notApplicable(`not applicable: the cluster has ${found}; pools are required above ${rounded(limit)}`);
    }
    for (const server of servers) {
      findings.examined();
      const pools = [...new Set(Object.values(server.pools))];
      if (pools.length === 0) {
        findings.add(entityFinding('server', server.id, 'the server is in no instance pool', 'no pool', 'one pool'));
      } else if (pools.length > 1) {
        const message = `the server is in the pools ${pools.join(' and ')}, so the pools are not disjoint`;
        findings.add(entityFinding('server', server.id, message, `pools ${pools.join(', ')}`, 'one pool'));
      }
    }
    return findings.outcome({
      pass: 'every server is in one instance pool',
      fail: (count) =>
        `${counted(count, 'server')} ${count === 1 ? 'is' : 'are'} in no instance pool or in more than one`,
    });
  },
});
