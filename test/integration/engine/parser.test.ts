import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { judgeSql, type JudgedSql, type SqlContext } from '../../../src/access/sql/judge.ts';
import { tableNames } from '../../../src/access/sql/table-names.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { startOracles, type Oracle, type Oracles, type Reading } from './oracle.ts';
import { commented, Grammar, lookalike, mutation, Random, WORDS } from './texts.ts';

// The engine's parsers parse every text that the SQL check has printed. They must not find a table that was not authorized.
const TEXTS = Number(process.env['SQL_TEXTS'] || 12_000);
const SEED = Number(process.env['SQL_SEED'] || 20_261_121);
const ROOT = join(import.meta.dirname, '../../..');

interface Group {
  readonly group: string;
  readonly texts: readonly string[];
  readonly refused?: boolean;
}

const groups = parse(readFileSync(join(ROOT, 'test/unit/access/sql/corpus.yaml'), 'utf8')) as Group[];
const ordinary = parse(readFileSync(join(ROOT, 'test/unit/access/sql/ordinary.yaml'), 'utf8')) as Group[];
const corpus = [...groups, ...ordinary].flatMap(({ texts }) => texts);

let oracles: Oracles;
/** The keywords of every version. */
let words: string[];

beforeAll(async () => {
  oracles = await startOracles();
  const found = new Set<string>();
  for (const oracle of oracles.versions) for (const word of await oracle.words()) found.add(word);
  words = [...found].toSorted();
});

afterAll(() => oracles.remove());

/** What a version finds in the printed text that the SQL check did not find; undefined for nothing. */
function excess(judged: JudgedSql, reading: Reading): string | undefined {
  const databases = reading.options
    .filter((option) => /^database=/i.test(option))
    .map((option) => option.slice('database='.length));
  if (judged.database !== undefined) databases.push(judged.database);
  for (const name of reading.tables) {
    if (COMMON_TABLE.test(name)) continue;
    const missing = meanings(name, databases).find(
      (meaning) => !(judged.tables as readonly string[]).includes(meaning),
    );
    if (missing !== undefined) return `reads ${missing}`;
  }
  if (reading.options.some((option) => /^useMultistageEngine=true$/i.test(option)) && !judged.multistage)
    return 'selects the other engine';
  // Without a limit the engine returns 10 rows.
  return reading.limit > (judged.limit ?? 10) ? `requests ${reading.limit} rows` : undefined;
}

/** A name that only a common table expression of a printed text has: no table can have a blank in its name. */
const COMMON_TABLE = /^cte \d+$/;

/** The tables that a name may mean with or without the header and the option. The servers resolve the table of `LOOKUP` with neither. */
function meanings(name: string, databases: readonly string[]): readonly string[] {
  const looked = name.startsWith('lookup:') ? name.slice('lookup:'.length) : undefined;
  const alone = tableNames(looked ?? name) ?? [name];
  if (name.includes('.') || looked !== undefined) return alone;
  return [...alone, ...databases.flatMap((database) => tableNames(name, database) ?? [])];
}

/** Requests that a text comes with, in turn. */
const CONTEXTS: readonly SqlContext[] = [
  {},
  { database: 'sales' },
  {},
  { database: 'sales', multistage: true },
  {},
  { multistage: true },
];

/** Checks texts, and parses the printed ones with every version. @returns how many passed, how many of these some version accepted, and all differences */
async function check(texts: Iterable<string>): Promise<{ passed: number; taken: number; wrong: string[] }> {
  const judged: JudgedSql[] = [];
  const wrong: string[] = [];
  let turn = 0;
  for (const text of texts) {
    const context = CONTEXTS[turn++ % CONTEXTS.length] as SqlContext;
    const found = judgeSql(text, context);
    if (!found.ok) continue;
    judged.push(found);
    const again = judgeSql(found.text, context);
    // A name to which the header added its prefix no longer counts as that of the option.
    const sameTables = again.ok && (context.database !== undefined || again.tables.join() === found.tables.join());
    if (!again.ok || again.text !== found.text || !sameTables)
      wrong.push(`${JSON.stringify(text)} is printed in two ways`);
  }
  const taken = new Set<number>();
  const printed = judged.map(({ text }) => text);
  for (const oracle of oracles.versions) {
    await oracle.read(printed, (index, reading) => {
      if (reading === undefined) return;
      taken.add(index);
      const found = excess(judged[index] as JudgedSql, reading);
      if (found !== undefined) wrong.push(`${oracle.version}: ${JSON.stringify(printed[index])} ${found}`);
    });
  }
  return { passed: judged.length, taken: taken.size, wrong };
}

function* randomTexts(count: number): Generator<string> {
  const random = new Random(SEED);
  const grammar = new Grammar(random);
  const kinds = [
    () => grammar.text(),
    () => mutation(random, corpus),
    () => lookalike(random, corpus),
    () => commented(random, corpus),
    () => wordInPlace(random),
  ];
  for (let index = 0; index < count; index++) yield (kinds[index % kinds.length] as () => string)();
}

function wordInPlace(random: Random): string {
  const word = random.pick(words);
  return random.pick(WORDS.places).replaceAll('?', random.chance(80) ? word : word.toLowerCase());
}

function* everyWordInEveryPlace(): Generator<string> {
  for (const word of words) for (const place of WORDS.places) yield place.replaceAll('?', word);
}

describe('the parsers', () => {
  it('return the tables, options and limits of a text, including queries within strings', async () => {
    const sql = "SELECT lookUp('d', 'a', 'b', c), x FROM t for, secret WHERE in_subquery(a, 'SELECT b FROM u') = 1";
    for (const oracle of oracles.versions) {
      const [names, refused, limited] = await readings(oracle, [
        sql,
        'SELECT FROM',
        "SET database='x'; SELECT a FROM t LIMIT 77",
      ]);
      expect(names?.tables).toEqual(['lookup:d', 'secret', 't', 'u']);
      expect(refused).toBeUndefined();
      expect(limited).toMatchObject({ limit: 77, options: ['database=x'] });
      expect(
        excess(
          {
            ok: true,
            text: '',
            queryOptions: undefined,
            database: undefined,
            tables: [tableNameOf('t')],
            limit: 77,
            multistage: false,
            commonTables: [],
            explains: false,
            columnNames: new Map(),
          },
          limited as Reading,
        ),
      ).toBe('reads x.t');
    }
  });
});

describe('printed texts', () => {
  it('contain no table that only an engine version finds: the corpus, and random texts', async () => {
    const { passed, taken, wrong } = await check([...corpus, ...randomTexts(TEXTS)]);
    expect(wrong).toEqual([]);
    expect(passed).toBeGreaterThan(500 + TEXTS / 4);
    expect(taken).toBeGreaterThan(400 + TEXTS / 4);
    process.stdout.write(
      `${corpus.length + TEXTS} texts: ${passed} passed the check, of which a version took ${taken}\n`,
    );
  }, 3_600_000);

  // Takes many minutes: `make fuzz-sql`.
  if (TEXTS >= 100_000)
    it('nor does any keyword in any place', async () => {
      const { passed, taken, wrong } = await check(everyWordInEveryPlace());
      expect(wrong).toEqual([]);
      process.stdout.write(
        `${words.length * WORDS.places.length} texts with a keyword: ${passed} passed the check, of which a version took ${taken}\n`,
      );
    }, 3_600_000);
});

/** Differences by the clock, and strings with a query, which is printed again. */
const NOT_COMPARED = /\b(?:now|ago)\s*\(|subquery/i;

/** Groups of the corpus that versions parse differently; the check chooses one meaning. */
const READ_DIFFERENTLY: ReadonlySet<string> = new Set(['comments', 'unusual but accepted', 'the option database']);

describe('ordinary texts', () => {
  it('have the same meaning in every version before and after printing', async () => {
    const plain = groups.filter(({ group, refused }) => refused !== true && !READ_DIFFERENTLY.has(group));
    const texts = [...ordinary, ...plain].flatMap((group) => group.texts);
    const wrong: string[] = [];
    const accepted = new Set<number>();
    for (const oracle of oracles.versions) {
      const found = await readings(oracle, [...texts, ...texts.map((text) => textOf(text))]);
      for (const [index, text] of texts.entries()) {
        const [before, after] = [found[index], found[texts.length + index]];
        if (before === undefined) continue;
        accepted.add(index);
        const same = writtenTree(after?.tree, text) === before.tree;
        if (!NOT_COMPARED.test(text) && !same) wrong.push(`${oracle.version}: ${text}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(accepted.size).toBeGreaterThanOrEqual(450);
  });
});

/** The parse tree of the printed text, with the written names of the common table expressions. */
function writtenTree(tree: string | undefined, text: string): string | undefined {
  const judged = judgeSql(text);
  let written = tree;
  for (const [index, name] of (judged.ok ? judged.commonTables : []).entries()) {
    const printed = `\`cte ${index + 1}\``;
    written = written?.replaceAll(`${printed} AS \`${name}\``, `\`${name}\``).replaceAll(printed, `\`${name}\``);
  }
  return written;
}

function textOf(text: string): string {
  const judged = judgeSql(text);
  return judged.ok ? judged.text : '';
}

async function readings(oracle: Oracle, texts: readonly string[]): Promise<(Reading | undefined)[]> {
  const found: (Reading | undefined)[] = [];
  await oracle.read(texts, (_, reading) => found.push(reading));
  return found;
}
