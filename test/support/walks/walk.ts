import { systemClock } from '../../../src/platform/clock.ts';
import { Directory, tokenPrincipal } from '../../../src/access/directory.ts';
import { RbacManager } from '../../../src/access/manager/manager.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import type { Principal } from '../../../src/access/principal.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import { StoreError, type ResourceStore } from '../../../src/store/resource-store.ts';
import { policy, role, roleAssignment } from '../../builders/resources.ts';
import { Random } from '../../fuzz/http/random.ts';
import { POLICIES, PREDEFINED, randomChange, randomStatements, ROLES } from './changes.ts';
import { allowedTo, handedOnBy, triplesOf, type Person, type State } from './oracle.ts';

/** Stores of the gateways of one deployment, empty at first. */
export interface World {
  readonly stores: readonly ResourceStore[];
  /** Resolves when every gateway sees every write. */
  readonly settled: () => Promise<void>;
}

export interface WalkReport {
  /** What somebody gained, with the changes before it; empty if all is well. */
  readonly violations: readonly string[];
  /** Number of changes by outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
}

const PEOPLE: readonly Person[] = ['u0', 'u1', 'u2', 'u3'].map((name, index) => ({
  name,
  subjects: [
    { type: 'user-email', name },
    { type: 'group', name: `g${index % 2}` },
  ],
}));
const SUBJECTS: readonly Subject[] = [
  ...PEOPLE.map(({ name }) => ({ type: 'user-email' as const, name })),
  { type: 'group', name: 'g0' },
  { type: 'group', name: 'g1' },
];
const TRIPLES = triplesOf([...POLICIES, ...PREDEFINED], [...ROLES, ...PREDEFINED]);

/**
 * Some people make random changes, one after the other or at once and at several gateways. Nobody must be able to do what neither they
 * themselves could at the start, nor one of those who made changes, nor a delegation right of theirs.
 */
export async function walk(world: World, seed: number, length = 14): Promise<WalkReport> {
  const random = new Random(seed);
  const first = world.stores[0]!;
  await seedWorld(first, random);
  await world.settled();
  const actors = PEOPLE.slice(0, 1 + random.below(2));
  const start = await stateOf(first);
  const limit = handedOnBy(actors, start, TRIPLES);
  const limits = new Map(PEOPLE.map((person) => [person.name, allowedTo(person, start, TRIPLES)]));
  const outcomes = new Map<string, number>();
  const done: string[] = [];
  outcomes.set(limit === 'everything' ? 'walks without a limit' : 'walks', 1);
  if (limit === 'everything') return { violations: [], outcomes };
  const gateways = world.stores.map(gatewayOf);
  try {
    for (let step = 0; step < length; step++) {
      const state = await stateOf(first);
      const tokens = await tokensOf(first);
      const stored = state.policies.flatMap(({ spec }) => spec.statements);
      const atOnce = random.chance(0.3) ? 2 + random.below(2) : 1;
      const changes = Array.from({ length: atOnce }, async () => {
        const change = randomChange(random, stored, [...SUBJECTS, ...tokens.flatMap(({ subjects }) => subjects)]);
        const actor = random.pick(actors);
        const outcome = await outcomeOf(change.run(random.pick(gateways).manager, principalOf(actor)));
        const [verb, kind] = change.what.split(' ');
        const key = `${verb}${/create|update|delete/.test(verb!) ? ` ${kind}` : ''}: ${outcome}`;
        outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
        done.push(`${actor.name}: ${change.what}: ${outcome}`);
      });
      await Promise.all(changes);
      await world.settled();
      const after = await stateOf(first);
      for (const person of [...PEOPLE, ...(await tokensOf(first))]) {
        const now = allowedTo(person, after, TRIPLES);
        const own = limits.get(person.name);
        const gained = TRIPLES.names.filter((_, at) => now[at] === 1 && own?.[at] !== 1 && limit[at] !== 1);
        if (gained.length === 0) continue;
        const story = [
          `seed ${seed}: ${person.name} gained ${gained.slice(0, 3).join(', ')}`,
          describe(start),
          ...done,
        ];
        return { violations: [story.join('\n  ')], outcomes };
      }
    }
    return { violations: [], outcomes };
  } finally {
    for (const { directory } of gateways) directory.close();
  }
}

async function seedWorld(store: ResourceStore, random: Random): Promise<void> {
  for (const object of PREDEFINED_POLICIES) await store.create('Policy', object);
  for (const object of PREDEFINED_ROLES) await store.create('Role', object);
  for (const name of POLICIES) {
    if (random.chance(0.8)) await store.create('Policy', policy(name, { statements: randomStatements(random) }));
  }
  for (const name of ROLES) {
    // Some roles name a policy that does not exist, as with kubectl.
    const policies = POLICIES.filter(() => random.chance(0.4));
    if (random.chance(0.9)) await store.create('Role', role(name, { policies }));
  }
  for (const [index, subject] of SUBJECTS.entries()) {
    for (const name of [...ROLES, 'rbac-admin', 'table-reader']) {
      if (!random.chance(PREDEFINED.includes(name) ? 0.1 : 0.3)) continue;
      const assignment = roleAssignment(`a${index}-${name}`, { role: name, subjects: [subject] });
      await store.create('RoleAssignment', assignment);
    }
  }
  const keeper = roleAssignment('keeper', { role: 'system-admin', subjects: [{ type: 'user-email', name: 'keeper' }] });
  await store.create('RoleAssignment', keeper);
}

function gatewayOf(store: ResourceStore): { manager: RbacManager; directory: Directory } {
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { ownersByName: true });
  const manager = new RbacManager({ store, directory, clock: systemClock });
  return { manager, directory };
}

async function stateOf(store: ResourceStore): Promise<State> {
  return {
    policies: await store.readAll('Policy'),
    roles: await store.readAll('Role'),
    assignments: await store.readAll('RoleAssignment'),
  };
}

async function tokensOf(store: ResourceStore): Promise<Person[]> {
  const tokens = await store.readAll('ServiceToken');
  return tokens.map(({ metadata: { name } }) => ({ name, subjects: [{ type: 'service-token', name }] }));
}

function principalOf({ name, subjects }: Person): Principal {
  if (subjects[0]?.type === 'service-token') return tokenPrincipal(name);
  const groups = subjects.filter(({ type }) => type === 'group').map((subject) => subject.name);
  return { kind: 'user', srn: `srn2:user#${name}`, id: name, groups, domain: undefined, authenticator: 'test' };
}

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    if (error instanceof StoreError) return error.code;
    throw error;
  }
}

function describe({ policies, roles, assignments }: State): string {
  const own = <T extends { metadata: { name: string } }>(objects: readonly T[]): T[] =>
    objects.filter(({ metadata }) => !PREDEFINED_ROLES.some((other) => other.metadata.name === metadata.name));
  return JSON.stringify({
    policies: Object.fromEntries(own(policies).map(({ metadata, spec }) => [metadata.name, spec.statements])),
    roles: Object.fromEntries(own(roles).map(({ metadata, spec }) => [metadata.name, spec.policies])),
    assignments: assignments.map(({ spec }) => `${spec.role} ${spec.subjects.map(({ name }) => name).join(' ')}`),
  });
}
