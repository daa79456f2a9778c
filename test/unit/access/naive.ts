import type { DecisionReason } from '../../../src/access/authorizer.ts';

/**
 * The documented access rules, implemented a second time in the simplest way and without sharing code with the engine.
 * Reference for tests of the engine.
 */
export interface NaiveState {
  readonly environment: string;
  readonly cluster: string;
  readonly policies: Readonly<Record<string, { statements: readonly NaiveStatement[] } | 'unreadable'>>;
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

export interface NaiveStatement {
  readonly effect?: string;
  readonly actions?: readonly string[];
  readonly resources: readonly string[];
}

type Level = readonly [kind: string, id: string];

/** What a holder of the role `system-admin` may do although it is denied. */
export const ADMINISTRATION: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ['role', 'policy', 'service-token'].map((kind) => [
      kind,
      [
        ...['CreateRole', 'GetRole', 'UpdateRole', 'DeleteRole', 'AttachPolicy', 'DetachPolicy'],
        ...['CreatePolicy', 'GetPolicy', 'UpdatePolicy', 'DeletePolicy'],
        ...['CreateAssignment', 'GetAssignment', 'DeleteAssignment'],
        ...['CreateServiceToken', 'GetServiceToken', 'UpdateServiceToken', 'DeleteServiceToken'],
        ...['BindPolicy', 'AssignRole', 'EscalatePolicy'],
      ],
    ]),
  ),
  cluster: ['SimulateAccess'],
};

export function isAdministration(action: string, [kind]: Level): boolean {
  return ADMINISTRATION[kind]?.some((name) => name.toLowerCase() === action.toLowerCase()) ?? false;
}

export function naiveDecision(
  state: NaiveState,
  roles: readonly string[],
  action: string,
  resource: readonly Level[],
): DecisionReason {
  const reason = reasonByStatements(state, roles, action, resource);
  const { roles: stored, policies } = state;
  const administers =
    roles.includes('system-admin') &&
    stored['system-admin']?.includes('system-admin') === true &&
    policies['system-admin'] !== undefined;
  const last = complete(state, resource).at(-1)!;
  return reason !== 'allowed' && administers && isAdministration(action, last) ? 'systemAdmin' : reason;
}

function reasonByStatements(
  state: NaiveState,
  roles: readonly string[],
  action: string,
  resource: readonly Level[],
): DecisionReason {
  const policies = roles.flatMap((role) => (state.roles[role] ?? []).flatMap((name) => state.policies[name] ?? []));
  if (policies.includes('unreadable')) return 'invalidPolicy';
  const statements = policies.flatMap((policy) => (policy === 'unreadable' ? [] : policy.statements));
  const levels = complete(state, resource);
  const matching = statements.filter((statement) => naiveMatch(statement, action, levels));
  if (matching.some(({ effect = 'deny' }) => effect === 'deny')) return 'explicitDeny';
  return matching.length > 0 ? 'allowed' : 'implicitDeny';
}

/** Whether a statement is about an action on a completed resource. */
export function naiveMatch(statement: NaiveStatement, action: string, levels: readonly Level[]): boolean {
  const { effect = 'deny', actions = ['*'], resources } = statement;
  const right = ['bindpolicy', 'assignrole', 'escalatepolicy'].includes(action.toLowerCase());
  const everything =
    actions.some((pattern) => /^\*+$/.test(pattern)) &&
    resources.some((pattern) => /^(\*|srn2:\*+#\*+)$/.test(pattern));
  const named = (pattern: string): boolean => pattern.toLowerCase() === action.toLowerCase();
  return (
    (effect === 'deny' || !right || everything || actions.some(named)) &&
    actions.some((pattern) => glob(pattern.toLowerCase(), action.toLowerCase())) &&
    resources.some((pattern) => resourceMatches(pattern, levels))
  );
}

function complete({ environment, cluster }: NaiveState, resource: readonly Level[]): readonly Level[] {
  const own = resource.filter(([kind]) => kind === 'environment');
  if (own.length > 0 && resource.length === 1) return resource;
  const inner = resource.filter(([kind]) => kind !== 'environment');
  const last = inner.at(-1);
  if (last && ['role', 'policy', 'service-token', 'user'].includes(last[0])) {
    return [...(own.length > 0 ? own : [['environment', environment] as const]), last];
  }
  const outer: Level[] = own.length > 0 ? [...own] : [['environment', environment]];
  if (inner[0]?.[0] !== 'cluster') outer.push(['cluster', cluster]);
  return [...outer, ...inner];
}

/** Tries every assignment of the pattern's levels to the resource's, in order, with the last on the last. */
function resourceMatches(pattern: string, levels: readonly Level[]): boolean {
  if (pattern === '*') return true;
  const wanted = pattern
    .replace('srn2:', '')
    .split(':')
    .map((part) => part.split('#') as unknown as Level);
  const meets = (want: Level, have: Level): boolean => glob(want[0], have[0]) && glob(want[1], have[1]);
  const lay = (want: readonly Level[], have: readonly Level[]): boolean => {
    const [first, ...others] = want;
    if (!first) return true;
    return have.some((level, at) => meets(first, level) && lay(others, have.slice(at + 1)));
  };
  const [last, innermost] = [wanted.at(-1), levels.at(-1)];
  return (
    last !== undefined &&
    innermost !== undefined &&
    meets(last, innermost) &&
    lay(wanted.slice(0, -1), levels.slice(0, -1))
  );
}

/** `*` by trying every length. */
function glob(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    for (let taken = 0; taken <= text.length; taken++) if (glob(pattern.slice(1), text.slice(taken))) return true;
    return false;
  }
  return text.startsWith(pattern[0]!) && glob(pattern.slice(1), text.slice(1));
}
