import type { Policy } from '../../../src/resources/kinds.ts';
import type { Statement } from '../../../src/resources/policy.ts';
import { isAdministration, naiveMatch } from '../../unit/access/naive.ts';
import { isSame, type Person } from './people.ts';
import type { State } from './start.ts';
import { BEGIN } from './times.ts';

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
  'SimulateAccess',
  '*',
];
const TABLES = ['a1', 'a2', 'b1', 'A1', 'a.1', 'ä1', 'a\u03081', '?1', '\u{1f4a5}1', 'a\u200b1'];
const PLACE: readonly Level[] = [
  ['environment', 'olap'],
  ['cluster', 'pinot'],
];

export interface Triples {
  readonly names: readonly string[];
  readonly asked: readonly (readonly [action: string, levels: readonly Level[]])[];
  /** By name of the triple: 1 where nothing takes it from a holder of `system-admin`. */
  readonly administration: Uint8Array;
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
    [PLACE[0]!, ['role', 'system-admin']],
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
    asked: triples,
    administration: Uint8Array.from(triples, ([action, levels]) => (isAdministration(action, levels.at(-1)!) ? 1 : 0)),
    names: triples.map(([action, levels]) => `${action} on ${levels.at(-1)!.join('#')}`),
    covered(statement) {
      const key = `${statement.effect} ${statement.actions?.join()} ${statement.resources.join()}`;
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

function isOver(expiresAt: string | undefined, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

/** Names of the roles that a person has at a time. An expired service token has none. */
export function rolesOf(person: Person, { assignments, tokens }: State, now: number): string[] {
  const [first] = person.subjects;
  const token = tokens.find(({ metadata }) => first?.type === 'service-token' && metadata.name === first.name);
  if (isOver(token?.spec.expiresAt, now)) return [];
  return assignments
    .filter(({ spec }) =>
      spec.subjects.some(
        (subject) => !isOver(subject.expiresAt, now) && person.subjects.some((own) => isSame(own, subject)),
      ),
    )
    .map(({ spec }) => spec.role);
}

/** The rights of a person at a time, one number for each triple. */
export function allowedTo(person: Person, state: State, triples: Triples, now: number): Uint8Array {
  const roles = rolesOf(person, state, now);
  const policies = roles.flatMap((role) => policiesOfRole(state, role));
  const allowed = policies.some(isInvalid) ? new Uint8Array(triples.names.length) : byStatements(policies, triples);
  const builtIn = policiesOfRole(state, 'system-admin').some(({ metadata }) => metadata.name === 'system-admin');
  if (builtIn && roles.includes('system-admin')) add(allowed, triples.administration);
  return allowed;
}

function byStatements(policies: readonly Policy[], { names, covered }: Triples): Uint8Array {
  const allowed = new Uint8Array(names.length);
  const statements = policies.flatMap(({ spec }) => spec.statements);
  for (const statement of statements) if (statement.effect === 'allow') add(allowed, covered(statement));
  for (const statement of statements) {
    if (statement.effect === 'allow') continue;
    const denied = covered(statement);
    for (let at = 0; at < denied.length; at++) if (denied[at] === 1) allowed[at] = 0;
  }
  return allowed;
}

/** The times at which a person may gain or lose a right without a change. */
function momentsOf({ assignments, tokens }: State): number[] {
  const expiries = [...assignments.flatMap(({ spec }) => spec.subjects), ...tokens.map(({ spec }) => spec)];
  return [BEGIN, ...expiries.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [Date.parse(expiresAt)]))];
}

/**
 * What the actors may grant until a time: what they hold then, and what their rights to bind, assign and escalate have allowed.
 * `everything` if that is unlimited.
 */
export function handedOnBy(
  actors: readonly Person[],
  state: State,
  triples: Triples,
  now: number,
): Uint8Array | 'everything' {
  const reached = new Uint8Array(triples.names.length);
  for (const actor of actors) add(reached, allowedTo(actor, state, triples, now));
  // A right that has ended since may have been used.
  for (const moment of momentsOf(state)) {
    if (moment > now) continue;
    for (const actor of actors) add(reached, onlyRights(allowedTo(actor, state, triples, moment), triples));
  }
  for (let before = -1, count = total(reached); count > before; before = count, count = total(reached)) {
    for (const [at, name] of triples.names.entries()) {
      if (reached[at] === 0) continue;
      const [, right, id = ''] = RIGHT.exec(name) ?? [];
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

const RIGHT = /^(BindPolicy|EscalatePolicy|AssignRole) on \w+#(.+)$/;

export function isRight(triple: string): boolean {
  return RIGHT.test(triple);
}

function onlyRights(allowed: Uint8Array, { names }: Triples): Uint8Array {
  return allowed.map((value, at) => (value === 1 && isRight(names[at]!) ? 1 : 0));
}

function add(to: Uint8Array, from: Uint8Array): void {
  for (let at = 0; at < from.length; at++) if (from[at] === 1) to[at] = 1;
}

function total(of: Uint8Array): number {
  return of.reduce((sum, value) => sum + value, 0);
}
