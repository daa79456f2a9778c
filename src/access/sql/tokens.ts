/** Why a text is refused: one sentence for people. */
export class SqlRefusal extends Error {}

/** `word` is an unquoted identifier or keyword, `quoted` a double-quoted identifier, `mark` one punctuation character. */
export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'mark' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** An identifier or string without its quotes and escapes; else as written. */
  readonly text: string;
  /** A word in upper case, for keywords; a mark as it is; empty for all else, so that nothing quoted is ever taken for a keyword. */
  readonly key: string;
  /** Whether a string carries a prefix such as `N` or a character set. */
  readonly prefixed: boolean;
}

const END: Token = { kind: 'end', text: '', key: '', prefixed: false };

/** More than any query needs; parsing is linear, but a decision must not hold up others. */
export const MAX_SQL_LENGTH = 1_000_000;

const BLANKS = /[ \t\n\r\f]+/y;
/** Letters as the engine's lexer has them: ASCII, `$`, `_` and fixed ranges beyond. Whatever else is no ASCII may only stand within quotes. */
const WORD = new RegExp(
  '[A-Za-z_$\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u1fff\\u3040-\\u318f\\u3300-\\u337f\\u3400-\\u3d2d\\u4e00-\\u9fff\\uf900-\\ufaff]' +
    '[0-9A-Za-z_$\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u1fff\\u3040-\\u318f\\u3300-\\u337f\\u3400-\\u3d2d\\u4e00-\\u9fff\\uf900-\\ufaff]*',
  'y',
);
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const STRING = /'(?:[^']|'')*'/y;
const QUOTED = /"(?:[^"\n\r]|"")+"/y;
const MARKS = new Set('()[],;.=<>!+-*/%|:?^~');
const STRING_PREFIX = /^(?:[bnx]|_[a-z0-9_]+)$/i;
/** What may stand right before a comment: elsewhere, engine versions that cut comments out first would join what it parts. */
const BEFORE_COMMENT = new Set([' ', '\t', '\n', '\r', '\f', '(', ')', ',', ';', "'", '"', '']);
const HINT = /^[\w\s(),='".:*]*$/;

/**
 * Cuts a text into tokens exactly as every version of the engine does; refuses what versions read differently.
 * Comments and hints are left out: a hint names strategies, never a table.
 * @throws {SqlRefusal}
 */
export function tokenize(sql: string): Token[] {
  if (sql.length > MAX_SQL_LENGTH) throw new SqlRefusal(`it is longer than ${MAX_SQL_LENGTH} characters`);
  const tokens: Token[] = [];
  let at = 0;
  while (at < sql.length) {
    at = skipBlanks(sql, at);
    if (at >= sql.length) break;
    const next = sql.charCodeAt(at + 1);
    if (isCommentStart(sql.charCodeAt(at), next)) at = skipComment(sql, at);
    else at = readToken(sql, at, tokens);
  }
  tokens.push(END);
  return tokens;
}

function skipBlanks(sql: string, at: number): number {
  BLANKS.lastIndex = at;
  return BLANKS.test(sql) ? BLANKS.lastIndex : at;
}

const [MINUS, SLASH, STAR] = [0x2d, 0x2f, 0x2a];

function isCommentStart(first: number, second: number): boolean {
  return (first === MINUS && second === MINUS) || (first === SLASH && (second === STAR || second === SLASH));
}

function skipComment(sql: string, at: number): number {
  if (sql.startsWith('//', at)) throw new SqlRefusal('`//` begins a comment in some versions of the engine only');
  if (!BEFORE_COMMENT.has(sql[at - 1] ?? '')) throw new SqlRefusal('a comment must have a space before it');
  return sql[at] === '-' ? skipLineComment(sql, at) : skipBlockComment(sql, at);
}

function skipLineComment(sql: string, at: number): number {
  const end = sql.indexOf('\n', at);
  const comment = sql.slice(at, end < 0 ? sql.length : end);
  if (comment.slice(0, -1).includes('\r') || (end < 0 && comment.endsWith('\r'))) {
    throw new SqlRefusal('a comment holds a carriage return, at which it ends in some versions of the engine only');
  }
  return end < 0 ? sql.length : end + 1;
}

function skipBlockComment(sql: string, at: number): number {
  const end = sql.indexOf('*/', at + 2);
  if (end < 0) throw new SqlRefusal('a comment is not ended');
  // The engine's lexer reads `/**` and one more character at once: it would not see the end in `/***/`.
  if (sql.startsWith('/***', at)) throw new SqlRefusal('a comment begins with `/***`');
  if (sql[at + 2] === '+') checkHint(sql.slice(at + 3, end));
  return end + 2;
}

/** Within a hint some versions read tokens and others only look for its end: both must find the same end. */
function checkHint(content: string): void {
  const quotes = content.replaceAll(/[^'"]/g, '');
  if (!HINT.test(content) || !/^(?:''|"")*$/.test(quotes)) {
    throw new SqlRefusal('a hint holds more than names, numbers and quoted words');
  }
}

function readToken(sql: string, at: number, tokens: Token[]): number {
  const char = sql[at] ?? '';
  if (char === "'") return readString(sql, at, tokens);
  if (char === '"') return readQuoted(sql, at, tokens);
  WORD.lastIndex = at;
  if (WORD.test(sql)) {
    const text = sql.slice(at, WORD.lastIndex);
    tokens.push({ kind: 'word', text, key: text.toUpperCase(), prefixed: false });
    return WORD.lastIndex;
  }
  NUMBER.lastIndex = at;
  if (NUMBER.test(sql)) {
    tokens.push({ kind: 'number', text: sql.slice(at, NUMBER.lastIndex), key: '', prefixed: false });
    return NUMBER.lastIndex;
  }
  if (MARKS.has(char)) {
    if (char === '*' && sql[at + 1] === '/') throw new SqlRefusal('`*/` stands outside a comment');
    tokens.push({ kind: 'mark', text: char, key: char, prefixed: false });
    return at + 1;
  }
  throw new SqlRefusal(`the character \`${char}\` has no place outside quotes`);
}

function readString(sql: string, at: number, tokens: Token[]): number {
  STRING.lastIndex = at;
  if (!STRING.test(sql)) throw new SqlRefusal('a string is not ended');
  const end = STRING.lastIndex;
  const prefixed = at > 0 && prefixAt(sql, at, tokens);
  tokens.push({ kind: 'string', text: sql.slice(at + 1, end - 1).replaceAll("''", "'"), key: '', prefixed });
  return end;
}

/** A word that touches a string is its prefix; one such as `E` would change where the string ends. */
function prefixAt(sql: string, at: number, tokens: readonly Token[]): boolean {
  const before = tokens.at(-1);
  if (before?.kind !== 'word' || !sql.startsWith(before.text, at - before.text.length)) return false;
  if (STRING_PREFIX.test(before.text)) return true;
  throw new SqlRefusal(`the string after \`${before.text}\` must have a space before it`);
}

function readQuoted(sql: string, at: number, tokens: Token[]): number {
  QUOTED.lastIndex = at;
  if (!QUOTED.test(sql)) throw new SqlRefusal('a quoted identifier is empty, spans lines or is not ended');
  const end = QUOTED.lastIndex;
  tokens.push({ kind: 'quoted', text: sql.slice(at + 1, end - 1).replaceAll('""', '"'), key: '', prefixed: false });
  return end;
}
