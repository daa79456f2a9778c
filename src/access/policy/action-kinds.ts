import { CLUSTER_ACTIONS, TABLE_ACTIONS } from '../../pinot/action-names.ts';
import { TABLE_ACTIONS_ALSO_ON_CLUSTER } from '../../pinot/call-actions.ts';
import { ACTIONS, actionsMatching, HEALTH_ACTIONS, RBAC_ACTION_KINDS } from './actions.ts';
import type { SrnKind } from './srn.ts';

// The table of actions and kinds: validation of policies, docs/actions.md and the completion of the dashboard come from it.

/** The kinds on which requests ask for some action. Nothing is asked on an environment or a user. */
export const KINDS_WITH_ACTIONS = ['table', 'cluster', 'role', 'policy', 'service-token'] as const;
export type KindWithActions = (typeof KINDS_WITH_ACTIONS)[number];

/** The actions of each kind, in alphabetical order. */
export const ACTIONS_BY_KIND: Readonly<Record<KindWithActions, readonly string[]>> = {
  table: TABLE_ACTIONS,
  cluster: [...CLUSTER_ACTIONS, ...HEALTH_ACTIONS, ...rbacActionsOn('cluster')].sort(),
  role: rbacActionsOn('role'),
  policy: rbacActionsOn('policy'),
  'service-token': rbacActionsOn('service-token'),
};

function rbacActionsOn(kind: SrnKind): string[] {
  return Object.entries(RBAC_ACTION_KINDS).flatMap(([action, on]) => (on === kind ? [action] : []));
}

/** Kinds as bits, in the order of KINDS_WITH_ACTIONS. */
export type KindBits = number;

export function kindBit(kind: SrnKind): KindBits {
  const at = (KINDS_WITH_ACTIONS as readonly SrnKind[]).indexOf(kind);
  return at < 0 ? 0 : 1 << at;
}

export function kindsIn(bits: KindBits): KindWithActions[] {
  return KINDS_WITH_ACTIONS.filter((_, at) => (bits & (1 << at)) !== 0);
}

/** The kinds of each action, as in ACTIONS. */
const KINDS_OF: readonly KindBits[] = ACTIONS.map((action) =>
  KINDS_WITH_ACTIONS.reduce((bits, kind) => (ACTIONS_BY_KIND[kind].includes(action) ? bits | kindBit(kind) : bits), 0),
);
const CLUSTER = kindBit('cluster');
const TABLE = kindBit('table');
const ENGINE: ReadonlySet<string> = new Set(CLUSTER_ACTIONS);

/** The kinds on which the actions that a pattern matches exist. */
export function kindsOfActions(pattern: string): KindBits {
  return actionsMatching(pattern).reduce((bits, index) => bits | KINDS_OF[index]!, 0);
}

/** Calls that do not name their table ask for its action on the cluster. */
const RARE_OF: readonly KindBits[] = ACTIONS.map((action) => (TABLE_ACTIONS_ALSO_ON_CLUSTER.has(action) ? CLUSTER : 0));
/** A deny of an action on the cluster also stops the calls that name a table for which it is denied. */
const RARELY_DENIED_ON: readonly KindBits[] = ACTIONS.map(
  (action, at) => RARE_OF[at]! | (ENGINE.has(action) ? TABLE : 0),
);

/** Kinds on which only few requests ask for the actions that a pattern matches. */
export function rareKindsOfActions(pattern: string, effect: 'allow' | 'deny'): KindBits {
  const kinds = effect === 'deny' ? RARELY_DENIED_ON : RARE_OF;
  return actionsMatching(pattern).reduce((bits, index) => bits | kinds[index]!, 0);
}

/** Names of the actions that requests ask for on resources of a kind; `*`, which unknown calls ask for, is not one of them. */
export function actionsAskedOn(kind: KindWithActions): readonly string[] {
  return ACTIONS.filter((_, at) => ((KINDS_OF[at]! | RARE_OF[at]!) & kindBit(kind)) !== 0);
}

/** Names of the actions of which a deny on a resource of the kind counts, while an allow does not: actions on the cluster, for calls that name a table. */
export function actionsOnlyDeniedOn(kind: KindWithActions): readonly string[] {
  return ACTIONS.filter((_, at) => (RARELY_DENIED_ON[at]! & ~KINDS_OF[at]! & ~RARE_OF[at]! & kindBit(kind)) !== 0);
}

/** Whether requests ask for the actions of a pattern only on the resources of all names, because the new one has no name yet. */
export function isOnlyOnAllNames(pattern: string): boolean {
  return actionsMatching(pattern).every((index) => ACTIONS[index] === 'CreateServiceToken');
}
