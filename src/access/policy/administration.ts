import { RBAC_ACTIONS } from './actions.ts';
import { compilePolicy, type CompiledStatement } from './compiled-policy.ts';
import { PREDEFINED_POLICIES, SYSTEM_ADMIN } from './predefined.ts';
import type { Question } from './question.ts';

/** What the built-in policy `system-admin` allows, whatever is stored under its name: the operator restores it. */
export const ADMINISTRATION: readonly CompiledStatement[] = PREDEFINED_POLICIES.filter(
  ({ metadata }) => metadata.name === SYSTEM_ADMIN,
).flatMap(({ metadata, spec }) => compilePolicy(metadata.name, spec).statements);

/** The kinds of resources that make up access. */
const ACCESS_KINDS: ReadonlySet<string> = new Set(['role', 'policy', 'service-token']);

const SIMULATE = 'SimulateAccess';
const ACCESS_ACTIONS: ReadonlySet<string> = new Set(
  RBAC_ACTIONS.filter((action) => action !== SIMULATE).map((action) => action.toLowerCase()),
);

/**
 * Whether the question is about reading or changing access: one of RBAC_ACTIONS (which include the delegation rights) on a role, a policy or a
 * service token, or `SimulateAccess` on a cluster. No deny and no invalid policy takes these from a holder of the role `system-admin`.
 */
export function isAccessManagement({ action, last, tooLong }: Pick<Question, 'action' | 'last' | 'tooLong'>): boolean {
  if (tooLong) return false;
  return last.kind === 'cluster'
    ? action.lower === SIMULATE.toLowerCase()
    : ACCESS_KINDS.has(last.kind) && ACCESS_ACTIONS.has(action.lower);
}
