import { ANY_ACTION, CLUSTER_ACTIONS, TABLE_ACTIONS } from '../../pinot/action-names.ts';
import { nearest } from '../../resources/nearest.ts';
import { compileGlob, globMatches } from '../../platform/glob.ts';
import type { SrnKind } from './srn.ts';

/** Each of these actions on a table makes it visible in lists. */
export const TABLE_VISIBILITY_ACTIONS = ['Query', 'GetTableConfig', 'GetSchema', 'GetMetadata'] as const;

/** Actions of the RBAC manager, each with the kind of the resources on which requests ask for it. */
export const RBAC_ACTION_KINDS = {
  CreateRole: 'role',
  GetRole: 'role',
  UpdateRole: 'role',
  DeleteRole: 'role',
  CreatePolicy: 'policy',
  GetPolicy: 'policy',
  UpdatePolicy: 'policy',
  DeletePolicy: 'policy',
  CreateServiceToken: 'service-token',
  GetServiceToken: 'service-token',
  UpdateServiceToken: 'service-token',
  DeleteServiceToken: 'service-token',
  AttachPolicy: 'role',
  DetachPolicy: 'role',
  CreateAssignment: 'role',
  GetAssignment: 'role',
  DeleteAssignment: 'role',
  SimulateAccess: 'cluster',
  BindPolicy: 'policy',
  AssignRole: 'role',
  EscalatePolicy: 'policy',
} as const satisfies Readonly<Record<string, SrnKind>>;

export type RbacAction = keyof typeof RBAC_ACTION_KINDS;
export const RBAC_ACTIONS = Object.keys(RBAC_ACTION_KINDS) as readonly RbacAction[];

/** Actions on the cluster that only the gateway has: `UpdateHealth` mutes findings of the health checks. */
export const HEALTH_ACTIONS = ['UpdateHealth'] as const;

/**
 * Delegation rights, each with the kind of its resources: their holder can grant more than it holds. An allow grants them only by their full
 * names, or by all actions on all resources. Otherwise `*Policy` on a team's own policies would allow the team to write any grant into them.
 */
export const DELEGATION_RIGHTS = { BindPolicy: 'policy', AssignRole: 'role', EscalatePolicy: 'policy' } as const;
export type DelegationRight = keyof typeof DELEGATION_RIGHTS;

export function isDelegationRight(action: string): action is DelegationRight {
  return Object.hasOwn(DELEGATION_RIGHTS, action);
}

/** All action names without duplicates, sorted. */
export const ACTIONS: readonly string[] = [
  ...new Set<string>([...CLUSTER_ACTIONS, ...TABLE_ACTIONS, ...RBAC_ACTIONS, ...HEALTH_ACTIONS]),
].sort();

const LOWER: readonly string[] = ACTIONS.map((action) => action.toLowerCase());

/** Letters of each action as bits: most patterns contain a letter that most actions do not. */
const LETTERS: readonly number[] = LOWER.map(lettersOf);
const MAX_CACHED_PATTERNS = 4096;
const MAX_CACHED_LENGTH = 128;
/** Cache: a policy is validated several times before it is stored. */
const matching = new Map<string, readonly number[]>();

function lettersOf(text: string): number {
  let letters = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at) - 97;
    if (letter >= 0 && letter < 26) letters |= 1 << letter;
  }
  return letters;
}

/** Indexes in ACTIONS that a pattern matches, case-insensitive. */
export function actionsMatching(pattern: string): readonly number[] {
  const lower = pattern.toLowerCase();
  const known = matching.get(lower);
  if (known) return known;
  const found = matchesOf(lower);
  if (matching.size >= MAX_CACHED_PATTERNS) matching.clear();
  if (lower.length <= MAX_CACHED_LENGTH) matching.set(lower, found);
  return found;
}

function matchesOf(lower: string): number[] {
  const glob = compileGlob(lower);
  const letters = lettersOf(lower);
  const found: number[] = [];
  for (const [index, action] of LOWER.entries()) {
    if ((letters & ~LETTERS[index]!) === 0 && globMatches(glob, action)) found.push(index);
  }
  return found;
}

/** Whether a pattern matches any known action, case-insensitive. */
export function matchesAnyAction(pattern: string): boolean {
  return actionsMatching(pattern).length > 0;
}

/** Describes why an action pattern is invalid, with a suggestion; undefined if it is valid. */
export function actionProblem(pattern: string): string | undefined {
  if (matchesAnyAction(pattern)) return undefined;
  const meant = nearest(pattern.replaceAll('*', ''), ACTIONS);
  const hint = meant ? `did you mean \`${meant}\`?` : 'docs/actions.md lists all actions';
  return `\`${pattern}\` matches no action; ${hint}`;
}

/** Why an action of a question about access is invalid; undefined for the name of one action, and for `*`. */
export function askedActionProblem(action: string): string | undefined {
  if (action === ANY_ACTION) return undefined;
  const problem = actionProblem(action);
  if (problem !== undefined || !action.includes('*')) return problem;
  return `\`${action}\` names several actions: a question is about one, such as \`${ACTIONS[0]}\`, or about every one (\`*\`)`;
}
