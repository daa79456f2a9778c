import { hashesOf } from '../../../src/access/service-token.ts';
import type { RbacManager } from '../../../src/access/manager/manager.ts';
import type { Principal } from '../../../src/access/principal.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { atOnce } from '../../../src/platform/long-work.ts';

export const ADMINISTRATOR: Principal = {
  kind: 'user',
  srn: 'srn2:user#admin@example.com',
  id: 'admin@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
};

/** What is stored about one item: the resources with its name. */
export interface ItemState {
  readonly policy?: string;
  readonly role?: boolean;
  readonly attached?: boolean;
  readonly assigned?: boolean;
  readonly token?: boolean;
  readonly tokenAssigned?: boolean;
}

interface Step {
  readonly run: (manager: RbacManager, item: string) => Promise<unknown>;
  readonly after: (state: ItemState) => ItemState;
}

const DOCUMENT = {
  version: 'v1',
  statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'] }],
};
const GROUP: Subject = { type: 'group', name: 'analysts' };

/** The token of an item: its description has the item's name, because its own name is random. */
function tokenOf(manager: RbacManager, item: string): Subject {
  const { items } = atOnce(manager.serviceTokens.list(ADMINISTRATOR));
  const token = items.find(({ spec }) => spec.description === item);
  return { type: 'service-token', name: token?.metadata.name ?? '' };
}

const A = ADMINISTRATOR;
/** The writes for one item, in their order. */
export const STEPS: readonly Step[] = [
  {
    run: ({ policies }, name) => policies.create(A, { name, description: 'first', policyDocument: DOCUMENT }),
    after: (state) => ({ ...state, policy: 'first' }),
  },
  { run: ({ roles }, name) => roles.create(A, { name }), after: (state) => ({ ...state, role: true }) },
  { run: ({ roles }, name) => roles.attach(A, name, name), after: (state) => ({ ...state, attached: true }) },
  {
    run: ({ assignments }, name) => assignments.create(A, name, GROUP),
    after: (state) => ({ ...state, assigned: true }),
  },
  {
    run: ({ serviceTokens }, description) => serviceTokens.create(A, { description }),
    after: (state) => ({ ...state, token: true }),
  },
  {
    run: (manager, name) => manager.assignments.create(A, name, tokenOf(manager, name)),
    after: (state) => ({ ...state, tokenAssigned: true }),
  },
  {
    run: ({ policies }, name) => policies.update(A, name, { description: 'second' }),
    after: (state) => ({ ...state, policy: 'second' }),
  },
  {
    run: (manager, name) => manager.assignments.delete(A, name, tokenOf(manager, name)),
    after: (state) => without(state, 'tokenAssigned'),
  },
  {
    run: (manager, name) => manager.serviceTokens.remove(A, tokenOf(manager, name).name),
    after: (state) => without(state, 'token'),
  },
  {
    run: ({ assignments }, name) => assignments.delete(A, name, GROUP),
    after: (state) => without(state, 'assigned'),
  },
  { run: ({ roles }, name) => roles.detach(A, name, name), after: (state) => without(state, 'attached') },
  { run: ({ roles }, name) => roles.remove(name), after: (state) => without(state, 'role') },
  { run: ({ policies }, name) => policies.remove(name), after: (state) => without(state, 'policy') },
];

function without(state: ItemState, field: keyof ItemState): ItemState {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name !== field));
}

/** The state after a number of steps. */
export function stateAfter(steps: number): ItemState {
  return STEPS.slice(0, steps).reduce<ItemState>((state, { after }) => after(state), {});
}

/** What a store has about an item. A service token without its hash is a leftover and does not count. */
export function stateIn(store: ResourceStore, item: string): ItemState {
  const policy = store.get('Policy', item)?.spec.description;
  const role = store.get('Role', item);
  const subjects = store
    .list('RoleAssignment')
    .filter(({ spec }) => spec.role === item)
    .flatMap(({ spec }) => spec.subjects);
  const token = store
    .list('ServiceToken')
    .find((token) => token.spec.description === item && hashesOf(token) !== undefined);
  return {
    ...(policy === undefined ? {} : { policy }),
    ...(role === undefined ? {} : { role: true }),
    ...(role?.spec.policies?.includes(item) ? { attached: true } : {}),
    ...(subjects.some(({ type }) => type === 'group') ? { assigned: true } : {}),
    ...(token === undefined ? {} : { token: true }),
    ...(subjects.some(({ type }) => type === 'service-token') ? { tokenAssigned: true } : {}),
  };
}
