import { judgeSql } from './judge.ts';
import { SqlRefusal } from './refusal.ts';

/** A query of time series over one table. */
export interface TimeSeriesQuery {
  /** As it is written, perhaps with a database and a type. */
  readonly table: string;
  /** The canonical text. @param table what to write for its name */
  print(table: string): string;
}

const MAX_LENGTH = 16 * 1024;
const MAX_COMMANDS = 32;
const COMMAND = /[ \t\r\n]*([A-Za-z]+)[ \t\r\n]*\{([^{}|]*)\}[ \t\r\n]*/y;
/** No quotes or escapes, which the readers of Pinot's versions take in different ways, and only ASCII. */
const ARGUMENT = /[ \t\r\n]*([a-z_]+)[ \t\r\n]*=[ \t\r\n]*"([^"\\`;\0-\x1f\x7f-\uffff]*)"[ \t\r\n]*/y; // oxlint-disable-line no-control-regex
/** Columns, or a number. */
const PLAIN = /^(?:[A-Za-z_$][\w$]*(?:[ \t\r\n]*,[ \t\r\n]*[A-Za-z_$][\w$]*)*|-?\d+(?:\.\d+)?)?$/;
const NAME = /^[A-Za-z_$][\w$]*$/;
const TABLE = /^[A-Za-z0-9_.$-]+$/;
/** The order in which they are printed. */
const KEYS = ['table', 'filter', 'ts_column', 'ts_unit', 'value'] as const;
const AFTER_FETCH: ReadonlySet<string> = new Set(['sum', 'min', 'max', 'keepLastValue', 'transformNull']);

type Arguments = ReadonlyMap<string, string>;

/**
 * Reads Pinot's language `m3ql`: `fetch{table="…",filter="…",ts_column="…",ts_unit="…",value="…"} | sum{a,b} | transformNull{0} | keepLastValue{}`. Accepted is what
 * all versions of Pinot read in the same way. Filter and value are SQL expressions, whose functions and queries may read no other table.
 * @throws {SqlRefusal}
 */
export function readM3ql(text: string): TimeSeriesQuery {
  if (text.length > MAX_LENGTH) throw new SqlRefusal(`the text is longer than ${MAX_LENGTH} characters`);
  const [first, ...rest] = commands(text);
  if (first?.name !== 'fetch') throw new SqlRefusal('it must begin with `fetch{table="…",…}`');
  const fetched = fetchArguments(first.content);
  const table = fetched.get('table') ?? '';
  if (!TABLE.test(table)) throw new SqlRefusal('`fetch` must name one table, as in `table="orders"`');
  requireOneTable(table, fetched);
  const others = rest.map(({ name, content }) => plainCommand(name, content.trim()));
  return {
    table,
    print(printed) {
      const given = KEYS.filter((key) => fetched.has(key));
      const list = given.map((key) => `${key}="${key === 'table' ? printed : fetched.get(key)}"`);
      return [`fetch{${list.join(',')}}`, ...others].join(' | ');
    },
  };
}

function commands(text: string): { readonly name: string; readonly content: string }[] {
  const found: { readonly name: string; readonly content: string }[] = [];
  for (let at = 0; ; at++) {
    COMMAND.lastIndex = at;
    const match = COMMAND.exec(text);
    if (match === null)
      throw new SqlRefusal('it is not a list of commands of the form `name{…}` with `|` between them', at);
    const [whole, name = '', content = ''] = match;
    found.push({ name, content });
    at += whole.length;
    if (at === text.length) return found;
    if (found.length === MAX_COMMANDS) throw new SqlRefusal(`it has more than ${MAX_COMMANDS} commands`, at);
    if (text[at] !== '|') throw new SqlRefusal('`|` or the end of the text was expected', at);
  }
}

function fetchArguments(content: string): Arguments {
  const found = new Map<string, string>();
  for (let at = 0; ; at++) {
    ARGUMENT.lastIndex = at;
    const match = ARGUMENT.exec(content);
    const [whole = '', key = '', value = ''] = match ?? [];
    if (match === null || !(KEYS as readonly string[]).includes(key))
      throw new SqlRefusal(`the arguments of \`fetch\` must be ${KEYS.map((one) => `\`${one}="…"\``).join(', ')}`);
    if (found.has(key)) throw new SqlRefusal(`\`fetch\` has \`${key}\` twice`);
    // Some version could read an expression there.
    if (key.startsWith('ts_') && !NAME.test(value))
      throw new SqlRefusal(`\`${key}\` of \`fetch\` must be a plain name`);
    found.set(key, value);
    at += whole.length;
    if (at === content.length) return found;
    if (content[at] !== ',') throw new SqlRefusal('`,` or `}` was expected in `fetch`');
  }
}

/** Filter and value are parsed like those of a query; a comment could hide a part from one reader. @throws {SqlRefusal} */
function requireOneTable(table: string, fetched: Arguments): void {
  const filter = fetched.get('filter')?.trim() ?? '';
  const value = fetched.get('value')?.trim() ?? '';
  if (/--|\/[/*]/.test(`${value} ${filter}`)) throw new SqlRefusal('`filter` and `value` must not have comments');
  const from = `FROM "${table}"`;
  const where = filter === '' ? '' : ` WHERE (${filter})`;
  const judged = judgeSql(`SELECT (${value === '' ? 1 : value}) ${from}${where}`);
  if (!judged.ok) throw new SqlRefusal(`\`filter\` or \`value\` cannot be read: ${judged.reason}`);
  const alone = judgeSql(`SELECT 1 ${from}`);
  if (!alone.ok || judged.tables.join() !== alone.tables.join())
    throw new SqlRefusal('`filter` and `value` must not read another table');
}

function plainCommand(name: string, content: string): string {
  if (!AFTER_FETCH.has(name)) {
    const known = [...AFTER_FETCH].map((one) => `\`${one}\``).join(', ');
    throw new SqlRefusal(`after \`fetch\`, the commands may be ${known}`);
  }
  if (!PLAIN.test(content)) throw new SqlRefusal(`\`${name}\` may have columns or a number in its brackets`);
  return `${name}{${content.replace(/[ \t\r\n]+/g, '')}}`;
}
