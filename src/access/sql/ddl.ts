import { tokenize, type Token } from './lexer.ts';
import { SQL_LIMITS } from './limits.ts';
import { SqlRefusal } from './refusal.ts';

/** A statement of Pinot's DDL (`POST /sql/ddl`). */
export interface DdlStatement {
  readonly operation: 'create' | 'drop' | 'show' | 'show-create';
  /** The table or materialized view that it is about, perhaps with its database; undefined for lists. */
  readonly table: string | undefined;
  /** Whether it reads tables that it does not name in a place that the gateway knows: a materialized view, or a task with SQL in a property. */
  readonly readsOthers: boolean;
  /** The canonical text: its tokens, without comments. */
  readonly text: string;
}

const LIST = /^SHOW (?:TABLES|MATERIALIZED VIEWS)(?: FROM @)?$/;
const OF_TABLE = /^(DROP|SHOW CREATE) (?:TABLE|MATERIALIZED VIEW)( IF EXISTS)? @(?: TYPE (?:OFFLINE|REALTIME))?$/;
const CREATE = /^CREATE (?:(TABLE)(?: IF NOT EXISTS)? @$|MATERIALIZED VIEW(?: IF NOT EXISTS)? @(?: |$))/;
/** What a property with a query or with a task that has one contains. */
const SQL_PROPERTY = /sql|query|task/i;

/** Words that could name another table in a newer version: `AS SELECT`, `LIKE`. */
const READING: ReadonlySet<string> = new Set(['AS', 'CLONE', 'COPY', 'FROM', 'LIKE', 'SELECT']);

/**
 * Reads one statement: `CREATE`, `DROP` and `SHOW CREATE` of a table or a materialized view, `SHOW TABLES` and `SHOW MATERIALIZED VIEWS`.
 * @throws {SqlRefusal}
 */
export function readDdl(sql: string): DdlStatement {
  const limits = SQL_LIMITS;
  if (sql.length > limits.bytes) throw new SqlRefusal(`the text is longer than ${limits.bytes} characters`);
  const all = tokenize(sql, { steps: { count: 0 }, limits, tokens: 0 });
  const end = all.findIndex(({ kind, key }) => kind === 'end' || key === ';');
  const tokens = all.slice(0, end);
  const more = all.slice(end).find(({ kind, key }) => kind !== 'end' && key !== ';');
  if (more !== undefined) throw new SqlRefusal('only one statement is allowed', more.at);
  const text = tokens.map(printed).join(' ');
  const { shape, table } = shapeOf(tokens);
  if (LIST.test(shape)) return { operation: 'show', table: undefined, readsOthers: false, text };
  const [, verb] = OF_TABLE.exec(shape) ?? [];
  if (verb !== undefined)
    return { operation: verb === 'DROP' ? 'drop' : 'show-create', table, readsOthers: false, text };
  const created = CREATE.exec(shape);
  if (created === null)
    throw new SqlRefusal(
      'it must be `CREATE`, `DROP` or `SHOW CREATE` of a `TABLE` or `MATERIALIZED VIEW`, `SHOW TABLES` or `SHOW MATERIALIZED VIEWS`',
      tokens[0]?.at,
    );
  // Strings in a row are one string.
  const strings = tokens.map(({ kind, text: value }) => (kind === 'string' ? value : '\n')).join('');
  const hasSql = SQL_PROPERTY.test(strings);
  const reads = tokens.some(({ kind, key }) => kind === 'word' && READING.has(key));
  return { operation: 'create', table, readsOthers: created[1] === undefined || hasSql || reads, text };
}

const WORDS: ReadonlySet<string> = new Set(
  'CREATE DROP SHOW TABLE TABLES MATERIALIZED VIEW VIEWS IF NOT EXISTS FROM TYPE OFFLINE REALTIME'.split(' '),
);

/** The words of the statement up to its first bracket, with `@` for the first name, which may have a database. */
function shapeOf(tokens: readonly Token[]): { readonly shape: string; readonly table: string | undefined } {
  const shape: string[] = [];
  let table: string | undefined;
  for (let index = 0; index < tokens.length; index++) {
    const { key, kind } = tokens[index] as Token;
    if (key === '(') break;
    if (table === undefined && (kind === 'quoted' || (kind === 'word' && !WORDS.has(key)))) {
      const parts = [(tokens[index] as Token).text];
      while (tokens[index + 1]?.key === '.' && ['word', 'quoted'].includes(tokens[index + 2]?.kind ?? '')) {
        index += 2;
        parts.push((tokens[index] as Token).text);
      }
      table = parts.join('.');
      shape.push('@');
    } else shape.push(kind === 'word' ? key : '?');
  }
  return { shape: shape.join(' '), table };
}

const PLAIN_WORD = /^[\w$]+$/;

function printed({ kind, text, prefix, at }: Token): string {
  if (prefix !== '') throw new SqlRefusal('strings with a prefix are not supported here', at);
  if (kind === 'string') return `'${text.replaceAll("'", "''")}'`;
  if (kind === 'quoted') return `"${text.replaceAll('"', '""')}"`;
  if (kind === 'word' && !PLAIN_WORD.test(text))
    throw new SqlRefusal('a name with other letters must be in quotes', at);
  return text;
}
