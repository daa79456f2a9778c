import { Directory } from '../../../src/access/directory.ts';
import { RbacManager } from '../../../src/access/manager/manager.ts';
import { systemClock, type Clock } from '../../../src/platform/clock.ts';
import type { ResourceKind } from '../../../src/resources/kinds.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import { StoreError, type ResourceStore } from '../../../src/store/resource-store.ts';
import { Random } from '../../fuzz/http/random.ts';
import { POLICIES, PREDEFINED, randomChange, ROLES } from './changes.ts';
import { Invariants } from './invariants.ts';
import { ADMINISTRATORS, CHIEF, KEEPER, PEOPLE, principalOf, SUBJECTS, TOKENS, type Person } from './people.ts';
import { describeState, randomStart, type State } from './start.ts';
import type { World } from './store-world.ts';
import { allowedTo, handedOnBy, rolesOf, triplesOf } from './oracle.ts';
import { BEGIN, HOUR_MS } from './times.ts';

export interface WalkReport {
  /** Rights that a person gained or lost, with the changes before it; empty if there is no violation. */
  readonly violations: readonly string[];
  /** Number of changes by outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
}

const TRIPLES = triplesOf([...POLICIES, ...PREDEFINED], [...ROLES, ...PREDEFINED]);
/** After the last change of a walk and the last expiry. */
const END = BEGIN + 10_000 * HOUR_MS;

interface Gateway {
  readonly manager: RbacManager;
  readonly directory: Directory;
}

/**
 * Some people make random changes, one after the other or at once and at several gateways, and time passes. No person may gain a right that neither
 * the person would have without a change, nor any person who made changes had or could delegate. No person without a delegation right may take
 * the role `system-admin` from others. At the end, every gateway decides by the documented rules.
 *
 * @returns undefined if the actors have all rights from the beginning, so that nothing can be tested
 */
export async function walk(world: World, seed: number, length = 14): Promise<WalkReport | undefined> {
  const random = new Random(seed);
  const start = randomStart(random);
  const actors = actorsOf(random, start);
  if (handedOnBy(actors, start, TRIPLES, END) === 'everything') return undefined;
  await world.begin(start);
  const written = new Set<ResourceKind>();
  const unseen = new Set<ResourceKind>();
  const time = { now: BEGIN };
  const ended = new AbortController();
  const stores = world.stores.map((store) => noting(store, [written, unseen], ended.signal));
  const gateways = stores.map((store) => gatewayOf(store, { ...systemClock, now: () => time.now }));
  const invariants = new Invariants(start, actors, TRIPLES);
  const outcomes = new Map<string, number>();
  const done: string[] = [];
  let state = start;
  try {
    for (let step = 0; step < length; step++) {
      const passed = random.chance(0.2) ? random.below(40) * HOUR_MS : 0;
      time.now += passed;
      await Promise.all(changesOf(random, { state, actors, gateways, time, outcomes, done }));
      // Without a wait the next changes meet gateways whose views are behind.
      if (random.chance(0.5)) {
        await world.settled(unseen);
        unseen.clear();
      }
      if (written.size === 0 && passed === 0) continue;
      state = await stateOf(world.stores[0]!, state, written);
      written.clear();
      const problem = invariants.problem(state, time.now);
      if (problem === undefined) continue;
      const story = [`seed ${seed}: ${problem}`, describeState(start), ...done, describeState(state)];
      return { violations: [story.join('\n  ')], outcomes };
    }
    await world.settled(unseen);
    const wrong = gateways.flatMap(({ directory }) => disagreements(directory, state, time.now));
    return { violations: wrong.slice(0, 1).map((problem) => `seed ${seed}: ${problem}`), outcomes };
  } finally {
    ended.abort();
  }
}

function actorsOf(random: Random, start: State): Person[] {
  const all = [...PEOPLE, ...TOKENS.filter((token) => rolesOf(token, start, BEGIN).length > 0)];
  return Array.from({ length: 1 + random.below(2) }, () => random.pick(all));
}

interface Scene {
  readonly state: State;
  readonly actors: readonly Person[];
  readonly gateways: readonly Gateway[];
  readonly time: { readonly now: number };
  readonly outcomes: Map<string, number>;
  readonly done: string[];
}

function changesOf(random: Random, { state, actors, gateways, time, outcomes, done }: Scene): Promise<void>[] {
  const stored = state.policies.flatMap(({ spec }) => spec.statements);
  const tokens = state.tokens.map(({ metadata }): Subject => ({ type: 'service-token', name: metadata.name }));
  const atOnce = random.chance(0.3) ? 2 + random.below(2) : 1;
  return Array.from({ length: atOnce }, async () => {
    const subjects = random.chance(0.15) ? ADMINISTRATORS : [...SUBJECTS, ...tokens];
    const change = randomChange(random, stored, subjects);
    const actor = random.pick(actors);
    const { manager } = random.pick(gateways);
    // A service token that does not exist or has expired makes no calls.
    const calls = actor.subjects[0]?.type !== 'service-token' || rolesOf(actor, state, time.now).length > 0;
    const outcome = calls ? await outcomeOf(change.run(manager, principalOf(actor))) : 'unauthenticated';
    const [verb, kind] = change.what.split(' ');
    const key = `${verb}${/create|update|delete/.test(verb!) ? ` ${kind}` : ''}: ${outcome}`;
    outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
    done.push(`${new Date(time.now).toISOString()} ${actor.name}: ${change.what}: ${outcome}`);
  });
}

function gatewayOf(store: ResourceStore, clock: Clock): Gateway {
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' }, { clock });
  return { manager: new RbacManager({ store, directory, clock }), directory };
}

/** Decisions that differ from what the documented rules give. */
function disagreements(directory: Directory, state: State, now: number): string[] {
  return [KEEPER, CHIEF, ...PEOPLE].flatMap((person) => {
    const expected = allowedTo(person, state, TRIPLES, now);
    const principal = principalOf(person);
    const differs = TRIPLES.asked.findIndex(([action, path], at) => {
      const levels = path.map(([kind, id]) => ({ kind, id }));
      return directory.isAllowed(principal, action, { levels }) !== (expected[at] === 1);
    });
    return differs < 0 ? [] : [`the decision for ${person.name} on ${TRIPLES.names[differs]} is wrong`];
  });
}

const WRITES: ReadonlySet<PropertyKey> = new Set(['create', 'update', 'delete']);

/** The store for one walk: notes what kinds of objects are written, and ends all subscriptions with the walk. */
function noting(store: ResourceStore, written: readonly Set<ResourceKind>[], ended: AbortSignal): ResourceStore {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (WRITES.has(key)) for (const kinds of written) kinds.add(args[0] as ResourceKind);
        const result: unknown = Reflect.apply(value, target, args);
        if (key === 'subscribe') ended.addEventListener('abort', result as () => void);
        return result;
      };
    },
  });
}

/** What the store contains, if nothing but these kinds has changed. */
async function stateOf(store: ResourceStore, before: State, changed: ReadonlySet<ResourceKind>): Promise<State> {
  return {
    policies: changed.has('Policy') ? await store.readAll('Policy') : before.policies,
    roles: changed.has('Role') ? await store.readAll('Role') : before.roles,
    assignments: changed.has('RoleAssignment') ? await store.readAll('RoleAssignment') : before.assignments,
    tokens: changed.has('ServiceToken') ? await store.readAll('ServiceToken') : before.tokens,
  };
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
