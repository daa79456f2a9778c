import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { tokenize } from '../../../src/access/sql/lexer.ts';
import { SQL_LIMITS } from '../../../src/access/sql/limits.ts';

/** Parts of random texts. */
export const WORDS = parse(readFileSync(join(import.meta.dirname, 'texts.yaml'), 'utf8')) as Readonly<
  Record<
    | 'names'
    | 'tables'
    | 'aliases'
    | 'operators'
    | 'literals'
    | 'functions'
    | 'joins'
    | 'hints'
    | 'prefixes'
    | 'suffixes'
    | 'bits'
    | 'comments'
    | 'places',
    readonly string[]
  >
>;

/** A repeatable source of random choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** At least 0, below `limit`. */
  below(limit: number): number {
    // xorshift32
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** Random texts of a grammar that is wider than that of the SQL check. */
export class Grammar {
  readonly #random: Random;
  #depth = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  text(): string {
    return this.#random.pick(WORDS.prefixes) + this.query() + this.#random.pick(WORDS.suffixes);
  }

  /** Runs one of the rules; only the first one, which does not recurse, when nested deeply. */
  #one(...rules: readonly (() => string)[]): string {
    if (this.#depth > 3) return (rules[0] as () => string)();
    this.#depth++;
    const text = this.#random.pick(rules)();
    this.#depth--;
    return text;
  }

  query(): string {
    const select = () => this.#select();
    return this.#one(
      select,
      select,
      select,
      () =>
        `${this.query()} ${this.#random.pick(['UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT', 'MINUS'])} ${this.query()}`,
      () => `(${this.query()})`,
      () =>
        `(${this.query()}) ${this.#random.pick(['UNION', 'ORDER BY a', 'LIMIT 3', 'for', ''])} ${this.#random.chance(50) ? this.query() : ''}`,
      () =>
        `WITH ${this.#random.chance(10) ? 'RECURSIVE ' : ''}cte${this.#random.pick(['', ' (a)'])} AS (${this.query()}) ${this.query()}`,
      () => `WITH cte AS (${this.query()}), t AS (${this.query()}) ${this.query()}`,
      () => `VALUES (${this.expression()}), (${this.expression()})`,
      () => `TABLE ${this.#random.pick(WORDS.tables)}`,
    );
  }

  #select(): string {
    const { pick, chance } = {
      pick: this.#random.pick.bind(this.#random),
      chance: this.#random.chance.bind(this.#random),
    };
    let text = `${pick(['SELECT', 'select', 'SELECT DISTINCT', 'SELECT ALL'])} ${chance(8) ? `${pick(WORDS.hints)} ` : ''}`;
    text += chance(20)
      ? pick(['*', 't.*', '*, a'])
      : `${this.expression()}${pick(['', '', ' AS n', ' n', ' value', ' for', " AS 'n'"])}`;
    if (chance(15)) text += `, ${this.expression()}`;
    if (chance(90)) text += ` FROM ${this.from()}`;
    if (chance(40)) text += ` WHERE ${this.expression()}`;
    if (chance(15)) text += ` GROUP BY ${pick(['', 'ROLLUP', 'CUBE', 'DISTINCT '])} (${this.expression()})`;
    if (chance(8)) text += ` HAVING ${this.expression()}`;
    if (chance(5)) text += ` WINDOW w AS (ORDER BY ${this.expression()})`;
    if (chance(5)) text += ` QUALIFY ${this.expression()}`;
    if (chance(15)) text += ` ORDER BY ${this.expression()}${pick(['', ' DESC', ' ASC NULLS LAST', ' NULLS FIRST'])}`;
    if (chance(20))
      text += pick([
        ' LIMIT 10',
        ' LIMIT 5, 10',
        ' OFFSET 3',
        ' FETCH FIRST 3 ROWS ONLY',
        ' LIMIT ALL',
        ' LIMIT 10 OFFSET 2',
      ]);
    return text;
  }

  from(): string {
    const { pick } = { pick: this.#random.pick.bind(this.#random) };
    const table = () =>
      `${pick(WORDS.tables)}${this.#random.chance(3) ? ` ${pick(WORDS.hints)}` : ''}${pick(WORDS.aliases)}`;
    return this.#one(
      table,
      table,
      table,
      () =>
        `${this.from()}${pick(WORDS.joins)}${this.from()}${pick(['', ' ON a = b', ' USING (a)', ` ON ${this.expression()}`, ' MATCH_CONDITION(a > b) ON a = b'])}`,
      () => `(${this.query()})${pick(WORDS.aliases)}`,
      () => `(${this.from()})${pick(WORDS.aliases)}`,
      () => `LATERAL (${this.query()})`,
      () => `UNNEST(${this.expression()})${pick(['', ' WITH ORDINALITY', ' u(a)'])}`,
      () => `TABLE(${pick(['f(1)', 'secret', 'tumble(TABLE secret, DESCRIPTOR(a), 1)'])})`,
      () =>
        `${pick(WORDS.tables)} ${pick(['TABLESAMPLE BERNOULLI(5)', "FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01 00:00:00'", 'PIVOT (sum(a) FOR b IN (1))', 'MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS true)', '(a INT)', 'EXTEND (b INT)'])}`,
    );
  }

  expression(): string {
    const { pick } = { pick: this.#random.pick.bind(this.#random) };
    const literal = () => pick(WORDS.literals);
    const name = () => pick(WORDS.names);
    return this.#one(
      name,
      literal,
      name,
      () => `${this.expression()} ${pick(WORDS.operators)} ${this.expression()}`,
      () => `(${this.expression()})`,
      () =>
        `${pick(WORDS.functions)}(${pick(['', '*', 'DISTINCT '])}${pick([this.expression(), `${this.expression()}, ${this.expression()}`, this.query(), ''])})`,
      () => `${pick(['', 'EXISTS ', 'a IN ', 'a = ANY ', 'ARRAY', 'MULTISET', 'CURSOR', 'UNIQUE '])}(${this.query()})`,
      () => `CASE WHEN ${this.expression()} THEN ${this.expression()} ELSE ${this.expression()} END`,
      () =>
        `sum(a) OVER (PARTITION BY ${this.expression()} ORDER BY ${this.expression()} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`,
      () =>
        `CAST(${this.expression()} AS ${pick(['INT', 'VARCHAR(5)', 'LONG', 'TIMESTAMP', 'DECIMAL(1, 2)', 'ROW(a INT)', 'x', 'INT ARRAY'])})`,
      () => `lookUp('${pick(['secret', 'sales.secret', 't'])}', 'a', 'b', ${this.expression()})`,
      () => `in_subquery(a, '${this.query().replaceAll("'", "''")}')`,
      () => `EXTRACT(${pick(['YEAR', 'DAY', 'x'])} FROM ${this.expression()})`,
      () => `TRIM(${pick(['BOTH ', '', 'LEADING '])}${this.expression()} FROM ${this.expression()})`,
      () =>
        `${pick(['TIMESTAMPADD(DAY, 1, ', 'FLOOR(', 'JSON_OBJECT(KEY ', 'JSON_VALUE(', 'POSITION(a IN ', 'ROW(', 'ARRAY[', 'MAP[1, '])}${this.expression()}${pick([')', ']', ' TO DAY)', ' VALUE 1)', ", '$.a' NULL ON EMPTY)"])}`,
      () => `count(*) FILTER (WHERE ${this.expression()})`,
      () => `${this.expression()} IS ${pick(['NOT NULL', 'NULL', 'TRUE', 'JSON', 'NOT DISTINCT FROM a'])}`,
      () => `${name()}[${this.expression()}]`,
      () => `{fn ${pick(WORDS.functions)}(${this.expression()})}`,
    );
  }
}

/** A text with one or two changes. */
export function mutation(random: Random, texts: readonly string[]): string {
  let text = random.pick(texts);
  for (let change = 0; change <= random.below(2); change++) {
    const borders = [...text.matchAll(/\b|\s/g)].map((match) => match.index);
    const at = borders.length > 0 ? random.pick(borders) : 0;
    const cut = random.chance(30) ? random.below(10) : 0;
    text =
      text.slice(0, at) +
      (random.chance(80) ? random.pick(WORDS.bits) : random.pick(texts).slice(0, 40)) +
      text.slice(at + cut);
  }
  return text;
}

/** Letters that some case foldings convert to ASCII letters. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  i: 'ı',
  I: 'İ',
  s: 'ſ',
  k: '\u212a',
  K: '\u212a',
  a: 'ａ',
  e: 'ｅ',
  f: 'ｆ',
  o: 'о',
  S: 'Ｓ',
  '.': '．',
  "'": '＇',
  '"': '＂',
  ',': '，',
  '(': '（',
  ';': ';',
};

/** A text with some letters replaced by letters that look like them or fold to them. */
export function lookalike(random: Random, texts: readonly string[]): string {
  const chars = Array.from(random.pick(texts));
  for (let change = 0; change <= random.below(3); change++) {
    const places = chars.flatMap((char, at) => (LOOKALIKES[char] === undefined ? [] : [at]));
    if (places.length === 0) break;
    const at = random.pick(places);
    chars[at] = LOOKALIKES[chars[at] as string] as string;
  }
  return chars.join('');
}

/** A comment between any two tokens of a text. */
export function commented(random: Random, texts: readonly string[]): string {
  const text = random.pick(texts);
  let places: number[];
  try {
    places = tokenize(text, { steps: { count: 0 }, limits: SQL_LIMITS, tokens: 0 }).map(({ at }) => at);
  } catch {
    return text;
  }
  let result = text;
  for (const at of [random.pick(places), random.pick(places)].toSorted((a, b) => b - a)) {
    result = result.slice(0, at) + random.pick(WORDS.comments) + result.slice(at);
  }
  return result;
}
