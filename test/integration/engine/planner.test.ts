import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeSql, type SqlContext } from '../../../src/access/sql/judge.ts';
import { readableTable, type ReadableTable } from '../../../src/access/sql/readable-table.ts';
import { parseMask, parseRowFilter } from '../../../src/access/sql/row-filter.ts';
import { changed } from './collisions/hostile.ts';
import { ATTACKS } from '../proxy/partial/attacks.ts';
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

const COLUMNS = new Set(['id', 'a', 'b', 'customers', 'orders', 'secret', 't', 'name', 'arr']);

/** `some` denies a column, and masks another one. */
type Columns = 'all' | 'some';

function readable(columns: Columns): ReadableTable {
  const condition = parseRowFilter('id = 424242');
  const mask = parseMask('upper(name)', 'name');
  if (!condition.ok || !mask.ok) throw new Error('the conditions of this test are not valid');
  const limits =
    columns === 'all'
      ? { columns: undefined, masks: new Map() }
      : {
          columns: { kind: 'deny', names: new Set(['secret']) } as const,
          masks: new Map([['name', { expression: mask.expression, text: 'upper(name)' }]]),
        };
  const found = readableTable({ rows: [[condition]], ...limits, key: '' }, COLUMNS);
  if (typeof found === 'string') throw new Error(found);
  return found;
}

/** Tables with conditions. */
const LIMITED = /^(?:sales\.)?(?:customers|secret|t)$/i;
const FILTER = /^Filter\((?:AND\()?=\(\$0, 424242\)/;

/** A text as it is printed with and without conditions. */
interface Pair {
  readonly plain: Planned;
  readonly limited: Planned;
  readonly isMultistage: boolean;
  readonly columns: Columns;
}

/** Texts that try to read around the conditions, with tables and columns of the planners. */
const TRIED = ATTACKS.map((text) =>
  text
    .replaceAll(/@t(?:_OFFLINE)?|@T/g, 'customers')
    .replaceAll('@o', 'orders')
    .replaceAll(/\b(?:region|tags)\b/g, 'name')
    .replaceAll(/\b(?:level|amount|at)\b/g, 'a'),
);

function limitedPairs(count: number): Pair[] {
  const random = new Random(SEED + 1);
  const queries = new Queries(random);
  const pairs: Pair[] = [];
  for (let index = 0; index < count + 6 * TRIED.length; index++) {
    const text = TRIED[Math.floor((index - count) / 6)] ?? queries.text();
    const isMultistage = index % 4 !== 0;
    const columns = index % 3 === 0 ? 'some' : 'all';
    const one = readable(columns);
    const context: SqlContext = { ...(index % 5 === 0 && { database: 'sales' }), multistage: isMultistage };
    const plain = judgeSql(text, context);
    if (!plain.ok || !plain.tables.some((table) => LIMITED.test(table))) continue;
    const limited = judgeSql(text, {
      ...context,
      conditionsOf: (all) => (all.some((table) => LIMITED.test(table)) ? one : undefined),
    });
    if (!limited.ok) continue;
    const rest = { database: plain.database, byCase: random.chance(40) };
    pairs.push({
      plain: { text: plain.text, ...rest },
      limited: { text: limited.text, ...rest },
      isMultistage,
      columns,
    });
  }
  return pairs;
}

/** The scan of a table with conditions that lacks some of them; undefined for none. */
function missing({ isMultistage, columns }: Pair, { scans }: Plan): string | undefined {
  return scans.find((scan) => {
    const [table = '', ...above] = scan.split(' < ');
    if (!LIMITED.test(table.replace(/^default\./, ''))) return false;
    // A subquery in WHERE may become a join below the filter of the single-stage form.
    if (!isMultistage) return !above.some((node) => FILTER.test(node));
    return !FILTER.test(above[0] ?? '') || (columns === 'some' && showsHidden(above[1] ?? ''));
  });
}

/** By the catalog of the planners: `secret` is column 5, `name` column 7. */
const HIDDEN = /\$(?:5|7)\b/;

/** Whether the first projection above the filter has a column that is denied, or the masked one without its mask. */
function showsHidden(node: string): boolean {
  if (node === 'Count') return false;
  return !node.startsWith('Project(') || HIDDEN.test(node.replaceAll('UPPER($7)', ''));
}

it('with conditions, the filter is above every scan, and a text that plans without them plans', async () => {
  // Each is planned twice by each version.
  const pairs = limitedPairs(Math.ceil(TEXTS / 3));
  const wrong: string[] = [];
  const lost: string[] = [];
  let scans = 0;
  for (const planner of planners.versions) {
    let before: Plan | Refused = { error: '' };
    await planner.plan(
      pairs.flatMap(({ plain, limited }) => [plain, limited]),
      (index, plan) => {
        const pair = pairs[index >> 1] as Pair;
        if (index % 2 === 0) before = plan;
        else if ('error' in plan) {
          if (!('error' in before) && pair.columns === 'all')
            lost.push(`${planner.version}: ${pair.plain.text}\n${pair.limited.text}\n${plan.error}`);
        } else {
          scans += plan.scans.length;
          const found = missing(pair, plan);
          if (found !== undefined) wrong.push(`${planner.version}: ${pair.limited.text}\n${found}`);
        }
      },
    );
  }
  process.stdout.write(
    `seed ${SEED + 1}, ${pairs.length} texts with conditions, ${scans} scans, ${wrong.length} without their filter, ${lost.length} no longer plan\n`,
  );
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(lost.slice(0, 5)).toEqual([]);
  expect(scans).toBeGreaterThan(pairs.length);
}, 14_400_000);
