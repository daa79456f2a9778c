import type { Random } from '../texts.ts';
import { TABLES } from './names.ts';

/** Strings, names in quotes, words and numbers, other signs. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[\p{L}_$][\p{L}\p{N}_$]*|\d+|\s+|[^\s]/gu;
const CLAUSES: readonly string[] = [
  'ORDER BY (SELECT MAX(id) FROM customers)',
  'ORDER BY 1 LIMIT 3',
  'UNION ALL SELECT id FROM secret',
  'UNION SELECT 1 ORDER BY (SELECT MIN("id") FROM "orders")',
  'LIMIT (SELECT MAX(id) FROM t)',
  'OFFSET (SELECT 1 FROM u)',
  'WHERE EXISTS (SELECT * FROM secret)',
  'CROSS JOIN customers',
  ', secret',
  'NATURAL JOIN orders',
  'GROUP BY (SELECT MAX(id) FROM secret)',
  'HAVING (SELECT COUNT(*) FROM t) > 1',
  'WINDOW customers AS (ORDER BY id)',
  'AS "secret"',
];

/** A text with one to three changes, so that clauses stand at unusual positions and names mean something else. */
export function changed(random: Random, text: string): string {
  let tokens: readonly string[] = text.match(TOKENS) ?? [];
  for (let count = random.pick([1, 1, 2, 3]); count > 0; count--) tokens = change(random, tokens);
  return tokens.join('');
}

function change(random: Random, tokens: readonly string[]): string[] {
  const at = random.below(tokens.length + 1);
  const [before, after] = [tokens.slice(0, at), tokens.slice(at)];
  const span = random.below(8) + 1;
  return random.pick([
    () => [...before, ...after.slice(span)],
    () => [...before, ...after.slice(0, span), ' ', ...after],
    () => renamed(random, tokens),
    () => renamed(random, tokens),
    () => renamed(random, tokens),
    () => wrapped(random, tokens),
    () => wrapped(random, tokens),
    () => [...before, ` ${random.pick(CLAUSES)} `, ...after],
    () => [...tokens, ` ${random.pick(CLAUSES)}`],
    () => [...before, random.pick(['/* ) FROM secret ( */', '-- x\n', "/*+ h(a='b') */", ' ']), ...after],
  ])();
}

/** All or one of the uses of a name get another name, or one of its other notations. */
function renamed(random: Random, tokens: readonly string[]): string[] {
  const bare = (token: string): string => token.replaceAll('"', '');
  const names = tokens.filter((token) => TABLES.includes(bare(token).toLowerCase()) || token.startsWith('"'));
  if (names.length === 0) return [...tokens];
  const [from, to] = [random.pick(names), random.pick(TABLES)];
  const written = random.pick([
    to,
    `"${to}"`,
    to.toUpperCase(),
    bare(from).toUpperCase(),
    `"${bare(from)}"`,
    `sales.${to}`,
  ]);
  const once = random.chance(60) ? tokens.indexOf(from) : -1;
  return tokens.map((token, index) => (token === from && (once < 0 || index === once) ? written : token));
}

/** A span that begins with a query is put into parentheses, with something behind it. */
function wrapped(random: Random, tokens: readonly string[]): string[] {
  const starts = [...tokens.keys()].filter((index) => /^(?:WITH|SELECT|VALUES|TABLE)$/.test(tokens[index] as string));
  if (starts.length === 0) return [...tokens];
  const start = random.pick(starts);
  const end = closing(tokens, start);
  const behind = random.pick(['', '', ` ${random.pick(CLAUSES)}`]);
  return [...tokens.slice(0, start), '(', ...tokens.slice(start, end), ')', behind, ...tokens.slice(end)];
}

/** The end of the brackets around a position. */
function closing(tokens: readonly string[], start: number): number {
  let open = 0;
  for (let index = start; index < tokens.length; index++) {
    if (tokens[index] === '(') open++;
    if (tokens[index] === ')' && open-- === 0) return index;
  }
  return tokens.length;
}
