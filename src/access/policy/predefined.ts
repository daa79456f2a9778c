import type { Policy, Role } from '../../resources/kinds.ts';
import { ANNOTATIONS, API_VERSION, LABELS, PLATFORM_AUTHOR, type ObjectMeta } from '../../resources/meta.ts';
import type { Statement } from '../../resources/policy.ts';
import { isDelegationRight, RBAC_ACTION_KINDS, RBAC_ACTIONS } from './actions.ts';

/** The policy (and role) that allows everything; only its holders may grant it. */
export const SYSTEM_ADMIN = 'system-admin';

interface Predefined {
  readonly name: string;
  readonly description: string;
  readonly statements: Statement[];
}

/** All actions that only read a table or its metadata. */
const READ_TABLE = ['Query', 'Get*', 'DownloadSegment', 'Validate*'];

/** What changes and reads access, without the delegation rights. */
const ACCESS_ACTIONS = RBAC_ACTIONS.filter(
  (action) => !isDelegationRight(action) && RBAC_ACTION_KINDS[action] !== 'cluster',
);

/** Globs for actions of later versions: with them its holders can grant policies that have these globs. */
const RBAC_GLOBS = ['*Role', '*Policy', '*ServiceToken', '*Assignment'];

const PREDEFINED: readonly Predefined[] = [
  {
    name: SYSTEM_ADMIN,
    description: 'All actions on all resources.',
    statements: [{ effect: 'allow', actions: ['*'], resources: ['*'] }],
  },
  {
    name: 'rbac-admin',
    description: 'The RBAC manager: roles, policies, assignments, service tokens and access simulation.',
    statements: [
      {
        effect: 'allow',
        actions: [...ACCESS_ACTIONS, ...RBAC_GLOBS],
        resources: ['srn2:role#*', 'srn2:policy#*', 'srn2:service-token#*'],
      },
      { effect: 'allow', actions: ['SimulateAccess'], resources: ['srn2:cluster#*'] },
    ],
  },
  {
    name: 'cluster-admin',
    description: 'All actions on the cluster and its tables.',
    statements: [{ effect: 'allow', actions: ['*'], resources: ['srn2:cluster#*', 'srn2:table#*'] }],
  },
  {
    name: 'table-reader',
    description: 'Query and read every table.',
    statements: [{ effect: 'allow', actions: READ_TABLE, resources: ['srn2:table#*'] }],
  },
  {
    name: 'health-reader',
    description: 'Read the cluster health report.',
    statements: [{ effect: 'allow', actions: ['GetHealth'], resources: ['srn2:cluster#*'] }],
  },
];

/** Predefined policies without server-set fields. They are restored after a change or deletion. */
export const PREDEFINED_POLICIES: readonly Policy[] = PREDEFINED.map(({ name, description, statements }) => ({
  apiVersion: API_VERSION,
  kind: 'Policy',
  metadata: metadata(name),
  spec: { description, statements },
}));

/** Predefined roles, each with the policy of the same name. */
export const PREDEFINED_ROLES: readonly Role[] = PREDEFINED.map(({ name, description }) => ({
  apiVersion: API_VERSION,
  kind: 'Role',
  metadata: metadata(name),
  spec: { description, policies: [name] },
}));

const NAMES: ReadonlySet<string> = new Set(PREDEFINED.map(({ name }) => name));

/** By name and not by label, because every user with write access to an object may change its labels. */
export function isPredefined(name: string): boolean {
  return NAMES.has(name);
}

function metadata(name: string): ObjectMeta {
  return {
    name,
    labels: { [LABELS.predefined]: 'true', [LABELS.managedBy]: 'olap-warden' },
    annotations: { [ANNOTATIONS.createdBy]: PLATFORM_AUTHOR, [ANNOTATIONS.lastUpdatedBy]: PLATFORM_AUTHOR },
  };
}
