import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SqlContext } from '../../../src/access/sql/judge.ts';
import { changed } from './collisions/hostile.ts';
import { Queries } from './collisions/queries.ts';
import { startPlanners, type Plan, type Planned, type Planner, type Planners, type Refused } from './planner.ts';
import { compare, judged, reduced, type Case, type Difference, type Finding } from './plans.ts';
import { Random } from './texts.ts';

// The engine's planners plan every text that the SQL check has printed. They must not scan a table that was not authorized.
const TEXTS = Number(process.env['SQL_PLANS'] || 1_000);
const SEED = Number(process.env['SQL_SEED'] || 20_261_125);
const PROGRESS = 10_000;

let planners: Planners;

beforeAll(async () => {
  planners = await startPlanners();
});

afterAll(() => planners.remove());

async function plans(
  planner: Planner,
  texts: readonly string[],
  request: Partial<Planned> = {},
): Promise<(Plan | Refused)[]> {
  const found: (Plan | Refused)[] = [];
  const planned = texts.map((text) => ({ text, database: undefined, byCase: true, ...request }));
  await planner.plan(planned, (_, plan) => found.push(plan));
  return found;
}

describe('the planners', () => {
  it('scan the tables of subqueries, of queries within strings and of EXPLAIN, not common table expressions', async () => {
    const texts = [
      "EXPLAIN PLAN FOR SELECT a FROM t WHERE id IN (SELECT a FROM u) AND in_subquery(a, 'SELECT ID_SET(a) FROM orders') = 1",
      "WITH customers AS (SELECT lookUp('types', 'a', 'id', id) AS id FROM t) SELECT customers.id FROM customers, sales.u",
      "SET database='sales'; SELECT a FROM t",
      'SELECT id FROM missing',
    ];
    for (const planner of planners.versions) {
      const [nested, common, option, missing] = await plans(planner, texts);
      expect(nested).toMatchObject({ tables: ['default.orders', 'default.t', 'default.u'], columns: ['a'] });
      expect(common).toMatchObject({ tables: ['default.t', 'lookup:types', 'sales.u'], columns: ['id'] });
      expect(option).toMatchObject({ tables: ['sales.t'] });
      expect(missing).toMatchObject({ error: expect.stringContaining("Object 'missing' not found") as string });
    }
  });

  it('attach ORDER BY behind VALUES outside of WITH, where a name is that of a table', async () => {
    const text = 'WITH customers AS (SELECT 1 AS id) VALUES (1), (2) ORDER BY (SELECT MAX(id) FROM customers)';
    for (const planner of planners.versions) {
      const [plan] = await plans(planner, [text]);
      expect(plan).toMatchObject({ tables: ['default.customers'] });
    }
  });

  it('compare names with or without case', async () => {
    for (const planner of planners.versions) {
      const texts = ['SELECT ID FROM Customers'];
      expect(await plans(planner, texts, { byCase: true })).toMatchObject([{ error: expect.any(String) as string }]);
      const [plan] = await plans(planner, texts, { byCase: false, database: 'sales' });
      expect(plan).toMatchObject({ tables: ['sales.customers'] });
    }
  });
});

/** Requests that a text comes with, in turn. */
const CONTEXTS: readonly SqlContext[] = [
  {},
  {},
  { database: 'sales' },
  { multistage: true },
  { database: 'sales', multistage: true },
];

/** Every fourth text is changed, so that most of these are invalid. */
function accepted(count: number): Case[] {
  const random = new Random(SEED);
  const queries = new Queries(random);
  const cases: Case[] = [];
  for (let index = 0; index < count; index++) {
    const text = index % 4 === 3 ? changed(random, queries.text()) : queries.text();
    // Newer versions compare names without case by default.
    const found = judged(text, CONTEXTS[index % CONTEXTS.length] as SqlContext, random.chance(40));
    if (found !== undefined) cases.push(found);
  }
  return cases;
}

/** All findings; the first, which is a short one, is made shorter. */
async function shown(findings: readonly Finding[]): Promise<string[]> {
  const shortest = findings.toSorted((one, other) => one.found.text.length - other.found.text.length);
  const line = ({ planner, found, difference, detail }: Finding): string =>
    `${planner.version}, ${JSON.stringify(found.context)}, ${difference}: ${found.text}\n${detail}`;
  const first = shortest[0];
  return [...(first === undefined ? [] : [`shorter: ${await reduced(first)}`]), ...shortest.slice(0, 50).map(line)];
}

describe('printed texts', () => {
  it('scan only tables that were checked, and have the plan of the original text', async () => {
    const cases = accepted(TEXTS);
    const { planned, findings } = await compare(cases, planners.versions, (version, index) => {
      if ((index + 1) % PROGRESS === 0) process.stderr.write(`${version}: ${index + 1} of ${cases.length} texts\n`);
    });
    const of = (...kinds: Difference[]): Finding[] => findings.filter(({ difference }) => kinds.includes(difference));
    const unsound = of('reads other tables than were checked');
    const outside = of('common table expression not visible');
    const hidden = of('common table expression visible to the engine only');
    const lost = of('no longer plans', 'other tables', 'other columns', 'other plan');
    process.stdout.write(
      `seed ${SEED}, ${TEXTS} texts: ${cases.length} passed the check, some version planned ${planned.size}; ${unsound.length} unsound, ${lost.length} lost, ${outside.length} use a common table expression outside of its WITH, ${hidden.length} a table that the engine takes for one\n`,
    );
    expect(await shown(unsound)).toEqual([]);
    expect(await shown(lost)).toEqual([]);
    expect(planned.size).toBeGreaterThan(TEXTS * 0.4);
    // The generator reaches the positions where the scopes of the check and of the engine differ.
    if (TEXTS >= 1_000) expect(outside.length).toBeGreaterThan(0);
  }, 14_400_000);
});
