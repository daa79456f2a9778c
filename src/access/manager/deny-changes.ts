import type { Policy, Role, RoleAssignment } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { PolicySpec } from '../../resources/policy.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { sameSubject } from '../subjects.ts';
import { grantText, type AccessState } from './administrator-reach.ts';
import type { DenyingChange } from './deny-guard.ts';
import { assigning, attaching, writing } from './escalation.ts';

/** Writing a policy; undefined if that adds no deny. @param before the stored spec; undefined for a new policy */
export function deniesOfPolicy(
  name: string,
  before: PolicySpec | undefined,
  after: PolicySpec,
): DenyingChange | undefined {
  const kept = new Set(before?.statements.map(grantText));
  const adds = after.statements.some((statement) => statement.effect === 'deny' && !kept.has(grantText(statement)));
  if (!adds) return undefined;
  const others = (state: AccessState): Policy[] => state.policies.filter(({ metadata }) => metadata.name !== name);
  const withSpec = (state: AccessState, spec: PolicySpec | undefined): AccessState => ({
    ...state,
    policies: spec === undefined ? others(state) : [...others(state), newPolicy(name, spec)],
  });
  return {
    attempt: writing(name),
    apply: (state) => withSpec(state, after),
    revert: (state) => withSpec(state, before),
  };
}

export function deniesOfAttachment(role: string, policy: string): DenyingChange {
  const without = (spec: Role['spec']): Role['spec'] => {
    const { policies = [] } = spec;
    return policies.includes(policy) ? { ...spec, policies: policies.filter((name) => name !== policy) } : spec;
  };
  const change = (state: AccessState, to: (spec: Role['spec']) => Role['spec']): AccessState => ({
    ...state,
    roles: state.roles.map((other) => (other.metadata.name === role ? { ...other, spec: to(other.spec) } : other)),
  });
  return {
    attempt: attaching(policy, role),
    apply: (state) => change(state, (spec) => ({ ...spec, policies: [...(without(spec).policies ?? []), policy] })),
    revert: (state) => change(state, without),
  };
}

/** @param canonical gives equal subjects one name */
export function deniesOfAssignment(
  role: string,
  subject: Subject,
  canonical: (subject: Subject) => Subject,
): DenyingChange {
  const others = (spec: RoleAssignment['spec']): RoleAssignment['spec'] => ({
    ...spec,
    subjects: spec.subjects.filter((other) => !sameSubject(canonical(other), subject)),
  });
  const revert = (state: AccessState): AccessState => ({
    ...state,
    assignments: state.assignments.map((other) =>
      other.spec.role === role ? { ...other, spec: others(other.spec) } : other,
    ),
  });
  const added: RoleAssignment = {
    apiVersion: API_VERSION,
    kind: 'RoleAssignment',
    metadata: { name: '' },
    spec: { role, subjects: [subject] },
  };
  return {
    attempt: assigning(role),
    apply: (state) => ({ ...state, assignments: [...revert(state).assignments, added] }),
    revert,
  };
}

function newPolicy(name: string, spec: PolicySpec): Policy {
  return { apiVersion: API_VERSION, kind: 'Policy', metadata: { name }, spec };
}
