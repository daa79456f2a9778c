import { DecisionEngine } from '../../src/access/policy/decision.ts';
import type { Deployment } from '../../src/access/policy/srn.ts';
import type { Workload } from './policies.ts';

export const DEPLOYMENT: Deployment = { environment: 'olap', cluster: 'pinot' };

export function engineOf(workload: Workload): DecisionEngine {
  const rolesByPrincipal = new Map(workload.principals.map((principal, index) => [principal, workload.roles[index]!]));
  const engine = new DecisionEngine(DEPLOYMENT, {
    heldRoles: (principal) => ({
      roles: rolesByPrincipal.get(principal) ?? [],
      validFrom: -Infinity,
      validUntil: Infinity,
    }),
  });
  for (const [name, spec] of workload.policies) {
    engine.setPolicy(name, spec);
    engine.setRole(name, [name]);
  }
  return engine;
}
