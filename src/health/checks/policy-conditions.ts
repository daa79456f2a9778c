import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { entityFinding, Findings, notApplicable } from './shared/findings.ts';

export const policyConditions = defineCheck({
  name: 'POLICY_CONDITIONS_CHECK',
  title: 'Conditions of policies',
  description: 'The row filters, columns or masks of a policy do not fit the schemas of its tables.',
  category: 'queries',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Correct the names of columns in the policy, or put the columns back into the schema.',
  madeFault: {
    where: 'recorded',
    fault: 'a policy whose filter names a column that the schema lacks',
    found: 'the policy',
  },
  needs: ['policies'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    const policies = findings.value(snapshot.policies, 'cluster', snapshot.clusterName, 'the policies');
    if (policies === 'unavailable') return notApplicable('not applicable: this run has no access to policies');
    for (const { name, fault: read } of policies ?? []) {
      findings.examined();
      if (!read.ok) findings.couldNotRead('policy', name, 'whether its conditions fit', read.error);
      else if (read.value !== undefined)
        findings.add(entityFinding('policy', name, message(read.value), read.value, 'Ready'));
    }
    return findings.outcome({
      pass: 'the conditions of all policies fit the schemas of their tables',
      fail: (count) => `the conditions of ${count === 1 ? '1 policy' : `${rounded(count)} policies`} do not fit`,
      notApplicable: 'not applicable: no policy has conditions',
    });
  },
});

function message(reason: string): string {
  return `its conditions do not fit, so that they allow nothing (${reason}): its status names what is wrong`;
}
