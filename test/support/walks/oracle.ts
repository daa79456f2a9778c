import type { Policy, Role, RoleAssignment } from '../../../src/resources/kinds.ts';
import type { Statement } from '../../../src/resources/policy.ts';
import type { Subject } from '../../../src/resources/role-assignment.ts';
import { naiveMatch } from '../../unit/access/naive.ts';

/** What a store contains. */
export interface State {
  readonly policies: readonly Policy[];
  readonly roles: readonly Role[];
  readonly assignments: readonly RoleAssignment[];
}

/** Somebody with these subjects. */
export interface Person {
  readonly name: string;
  readonly subjects: readonly Subject[];
}

type Level = readonly [kind: string, id: string];

/** `GetNewThing` stands for an action that a later version knows. */
const ACTIONS = [
  'Query',
  'GetSize',
  'DeleteTable',
  'GetHealth',
  'UpdatePolicy',
  'DetachPolicy',
  'CreateAssignment',
  'CreateRole',
  'GetNewThing',
  '*',
];
const TABLES = ['a1', 'a2', 'b1'];
const PLACE: readonly Level[] = [
  ['environment', 'olap'],
  ['cluster', 'pinot'],
];

export interface Triples {
  readonly names: readonly string[];
  /** By name of the triple: whether a statement is about it. */
  readonly covered: (statement: Statement) => Uint8Array;
}

/** Every action on every resource of a small world: the decision on each of them is all that matters. */
export function triplesOf(policies: readonly string[], roles: readonly string[]): Triples {
  const triples: (readonly [action: string, levels: readonly Level[]])[] = [];
  const resources: Level[][] = [
    ...TABLES.map((id) => PLACE.concat([['table', id]])),
    PLACE.slice(),
    ...roles.slice(0, 2).map((id): Level[] => [PLACE[0]!, ['role', id]]),
    ...policies.slice(0, 2).map((id): Level[] => [PLACE[0]!, ['policy', id]]),
    [PLACE[0]!, ['service-token', 't']],
    [PLACE[0]!],
  ];
  for (const levels of resources) for (const action of ACTIONS) triples.push([action, levels]);
  for (const id of policies) {
    for (const right of ['BindPolicy', 'EscalatePolicy']) triples.push([right, [PLACE[0]!, ['policy', id]]]);
  }
  for (const id of roles) triples.push(['AssignRole', [PLACE[0]!, ['role', id]]]);
  const cache = new Map<string, Uint8Array>();
  return {
    names: triples.map(([action, levels]) => `${action} on ${levels.at(-1)!.join('#')}`),
    covered(statement) {
      const key = JSON.stringify([statement.effect, statement.actions, statement.resources]);
      let known = cache.get(key);
      if (!known) {
        known = Uint8Array.from(triples, ([action, levels]) => (naiveMatch(statement, action, levels) ? 1 : 0));
        cache.set(key, known);
      }
      return known;
    },
  };
}

/** A name that no action has: a policy with it cannot be enforced. */
export const MISSPELT = 'Quary';

function isInvalid({ spec }: Policy): boolean {
  return spec.statements.some(({ actions }) => actions?.includes(MISSPELT));
}

function policiesOfRole(state: State, name: string): Policy[] {
  const names = state.roles.find(({ metadata }) => metadata.name === name)?.spec.policies ?? [];
  return state.policies.filter(({ metadata }) => names.includes(metadata.name));
}

/** What somebody may do, one number a triple. */
export function allowedTo(person: Person, state: State, { names, covered }: Triples): Uint8Array {
  const has = ({ spec }: RoleAssignment): boolean =>
    spec.subjects.some(({ type, name }) => person.subjects.some((own) => own.type === type && own.name === name));
  const roles = state.assignments.filter(has).map(({ spec }) => spec.role);
  const policies = roles.flatMap((role) => policiesOfRole(state, role));
  const allowed = new Uint8Array(names.length);
  if (policies.some(isInvalid)) return allowed;
  const statements = policies.flatMap(({ spec }) => spec.statements);
  for (const statement of statements) if (statement.effect === 'allow') add(allowed, covered(statement));
  for (const statement of statements) {
    if (statement.effect === 'allow') continue;
    for (const [at, denied] of covered(statement).entries()) if (denied === 1) allowed[at] = 0;
  }
  return allowed;
}

/** What the actors may grant: what they hold, and what their rights to bind, assign and escalate allow. `everything` if that is unlimited. */
export function handedOnBy(actors: readonly Person[], state: State, triples: Triples): Uint8Array | 'everything' {
  const reached = new Uint8Array(triples.names.length);
  for (const actor of actors) add(reached, allowedTo(actor, state, triples));
  for (let before = -1, count = total(reached); count > before; before = count, count = total(reached)) {
    for (const [at, name] of triples.names.entries()) {
      if (reached[at] === 0) continue;
      const [, right, id = ''] = /^(BindPolicy|EscalatePolicy|AssignRole) on \w+#(.+)$/.exec(name) ?? [];
      if (right === undefined) continue;
      if (right === 'EscalatePolicy') return 'everything';
      const bound =
        right === 'BindPolicy'
          ? state.policies.filter(({ metadata }) => metadata.name === id)
          : policiesOfRole(state, id);
      if (bound.some(isInvalid)) return 'everything';
      for (const { spec } of bound) for (const statement of spec.statements) add(reached, triples.covered(statement));
    }
  }
  return reached;
}

function add(to: Uint8Array, from: Uint8Array): void {
  for (const [at, value] of from.entries()) if (value === 1) to[at] = 1;
}

function total(of: Uint8Array): number {
  return of.reduce((sum, value) => sum + value, 0);
}
