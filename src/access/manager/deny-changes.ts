import type { Policy, Role, RoleAssignment } from '../../resources/kinds.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { PolicySpec, Statement } from '../../resources/policy.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import type { Principal } from '../principal.ts';
import { sameSubject } from '../subjects.ts';
import { grantText, type AccessState } from './administrator-reach.ts';
import type { DenyingChange } from './deny-guard.ts';
import { exactly, type ResourceEditor } from './editor.ts';
import { assigning, attaching, writing } from './escalation.ts';

/** Writing a policy; undefined if that adds no deny. @param before the stored spec; undefined for a new policy */
export function deniesOfPolicy(
  editor: ResourceEditor,
  author: Principal,
  name: string,
  { before, after }: { readonly before: PolicySpec | undefined; readonly after: PolicySpec },
): DenyingChange | undefined {
  const kept = new Set(before?.statements.map(grantText));
  const added = new Set(
    after.statements
      .filter(({ effect }) => effect === 'deny')
      .map(grantText)
      .filter((text) => !kept.has(text)),
  );
  if (added.size === 0) return undefined;
  const withoutAdded = (statements: readonly Statement[]): Statement[] =>
    statements.filter((statement) => !added.has(grantText(statement)));
  const others = (state: AccessState): Policy[] => state.policies.filter(({ metadata }) => metadata.name !== name);
  return {
    attempt: writing(name),
    apply: (state) => ({ ...state, policies: [...others(state), newPolicy(name, after)] }),
    revert: (state) => {
      const current = state.policies.find(({ metadata }) => metadata.name === name);
      const statements = withoutAdded(current?.spec.statements ?? []);
      return {
        ...state,
        policies: statements.length === 0 ? others(state) : [...others(state), newPolicy(name, { statements })],
      };
    },
    undo: async () => {
      const current = await editor.store.read('Policy', name);
      if (current === undefined) return;
      const left = withoutAdded(current.spec.statements);
      const statements = left.length > 0 ? left : before?.statements;
      if (statements === undefined) await editor.store.delete('Policy', name, exactly(current));
      else await editor.edit('Policy', name, author, (spec) => ({ ...spec, statements }), { replaces: current });
    },
  };
}

export function deniesOfAttachment(
  editor: ResourceEditor,
  author: Principal,
  role: string,
  policy: string,
): DenyingChange {
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
    undo: () => editor.edit('Role', role, author, without, { replaces: 'nothing' }),
  };
}

/** @param canonical gives equal subjects one name */
export function deniesOfAssignment(
  role: string,
  subject: Subject,
  options: { readonly canonical: (subject: Subject) => Subject; readonly undo: () => Promise<unknown> },
): DenyingChange {
  const others = (spec: RoleAssignment['spec']): RoleAssignment['spec'] => ({
    ...spec,
    subjects: spec.subjects.filter((other) => !sameSubject(options.canonical(other), subject)),
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
    undo: options.undo,
  };
}

function newPolicy(name: string, spec: PolicySpec): Policy {
  return { apiVersion: API_VERSION, kind: 'Policy', metadata: { name }, spec };
}
