import { ACTIONS } from '../../src/access/policy/actions.ts';
import { TABLE_ACTIONS } from '../../src/pinot/action-names.ts';
import type { Principal } from '../../src/access/principal.ts';
import { tableResource, type Srn } from '../../src/access/policy/srn.ts';
import type { PolicySpec, Statement } from '../../src/resources/policy.ts';
import { tableNameOf } from '../../src/pinot/table-name.ts';

export interface Question {
  readonly principal: number;
  readonly action: string;
  readonly resource: Srn;
}

export interface Workload {
  /** One policy for each role, of the same name. */
  readonly policies: ReadonlyMap<string, PolicySpec>;
  readonly principals: readonly Principal[];
  /** By principal: the names of its roles. */
  readonly roles: readonly (readonly string[])[];
  readonly questions: readonly Question[];
}

export interface WorkloadSize {
  readonly roles: number;
  readonly statementsPerRole: number;
  readonly principals: number;
  readonly questions: number;
}

const VERBS = ['Get*', 'Update*', 'Delete*', 'Create*', '*Segment', 'Get*Config*', '*Table', 'Re*'];
const TEAMS = ['prod', 'dev', 'stage', 'ads', 'core', 'ml', 'web', 'ops', 'pay', 'geo', 'bi', 'iot'];
const WORDS = ['events', 'orders', 'clicks', 'users', 'metrics', 'logs', 'views', 'carts', 'trips', 'bids'];

/**
 * Actions: 60 % exact, 35 % globs such as `Get*`, 5 % `*`. Resources: 40 % exact, 57 % globs, 3 % `*`. Effects: 15 % deny.
 * @param random repeatable, so that a run can be compared with the next
 */
export function makeWorkload(size: WorkloadSize, random: () => number): Workload {
  const tables = TEAMS.flatMap((team) => WORDS.flatMap((word) => [1, 2, 3, 4].map((n) => `${team}_${word}_${n}`)));
  // One object for each table: a gateway decides on a name that it has just read, which is in the processor caches.
  const resources = tables.map((table) => tableResource(tableNameOf(table)));
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const policies = new Map<string, PolicySpec>();
  for (let role = 0; role < size.roles; role++) {
    const statements = Array.from({ length: size.statementsPerRole }, () => makeStatement(random, pick, tables));
    policies.set(`role-${role}`, { statements });
  }
  const names = [...policies.keys()];
  const roles = Array.from({ length: size.principals }, () => {
    const count = 1 + Math.floor(random() * Math.min(5, names.length));
    return [...new Set(Array.from({ length: count }, () => pick(names)))];
  });
  return {
    policies,
    principals: roles.map((_, index) => makePrincipal(index)),
    roles,
    questions: Array.from({ length: size.questions }, () => ({
      principal: Math.floor(random() * size.principals),
      action: random() < 0.7 ? pick(TABLE_ACTIONS) : pick(ACTIONS),
      resource: pick(resources),
    })),
  };
}

function makeStatement(
  random: () => number,
  pick: <T>(values: readonly T[]) => T,
  tables: readonly string[],
): Statement {
  const forAction = random();
  const forResource = random();
  const action = forAction < 0.6 ? pick(ACTIONS) : forAction < 0.95 ? pick(VERBS) : '*';
  const glob = (): string => {
    const form = random();
    if (form < 0.6) return `${pick(TEAMS)}_*`;
    return form < 0.9 ? `${pick(TEAMS)}_${pick(WORDS)}_*` : `${pick(TEAMS)}_*_${1 + Math.floor(random() * 4)}`;
  };
  const table = forResource < 0.4 ? pick(tables) : glob();
  return {
    effect: random() < 0.15 ? 'deny' : 'allow',
    actions: [action],
    resources: [forResource < 0.97 ? `srn2:table#${table}` : '*'],
  };
}

function makePrincipal(index: number): Principal {
  const id = `user-${index}@example.com`;
  return { kind: 'user', srn: `srn2:user#${id}`, id, groups: [], domain: 'example.com', authenticator: 'oidc' };
}
