import { atOnce, type Slices } from '../../platform/long-work.ts';
import type { SqlLimits } from './limits.ts';
import { SqlRefusal } from './refusal.ts';

/** `word` is an unquoted identifier or keyword, `quoted` a double-quoted identifier, `mark` an operator or punctuation. */
export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'mark' | 'end';

/** Prefix of a string: `N'…'`, `X'…'`, `U&'…'`, `_utf8'…'`. */
export type StringPrefix = '' | 'N' | 'X' | 'U&' | '_utf8' | '_utf16' | '_latin1';

export interface Token {
  readonly kind: TokenKind;
  /** Identifiers and strings without quotes and escapes; other tokens as written. */
  readonly text: string;
  /** Upper-case ASCII word, or the mark; empty for other tokens, so that quoted names and non-ASCII words are never keywords. */
  readonly key: string;
  readonly prefix: StringPrefix;
  /** Offset of the first character. */
  readonly at: number;
  /** Content of a hint directly before the token. */
  readonly hint: string | undefined;
}

/** Counts the work in characters and tokens, so that tests can show that it is linear. */
export interface Steps {
  count: number;
}

const BLANKS = /[ \t\n\r\f]+/y;
/** Identifier characters of the engine's lexer: ASCII, `$`, `_` and fixed Unicode ranges. */
const NON_ASCII =
  '\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u1fff\\u3040-\\u318f\\u3300-\\u337f\\u3400-\\u3d2d\\u4e00-\\u9fff\\uf900-\\ufaff';
const WORD = new RegExp(`[A-Za-z_$${NON_ASCII}][0-9A-Za-z_$${NON_ASCII}]*`, 'y');
const ASCII = /^[\0-\x7f]*$/;
/** A name that begins with a digit; valid in newer versions. */
const DIGITS_NAME = new RegExp(`[0-9]+[A-Za-z_$${NON_ASCII}][0-9A-Za-z_$${NON_ASCII}]*`, 'y');
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
/** A single `|` only separates the values of an option. */
const MARK = /<=|>=|<>|!=|\|\|?|::|[()[\]{},;.=<>+\-*/%?:]/y;
const LINE_COMMENT = /[^\n\r]*/y;
const UESCAPE = /\s+UESCAPE\s*'([^'"0-9a-fA-F+\s])'/iy;
/** Control characters other than tab, line feed and carriage return. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
// oxlint-disable-next-line no-control-regex
const CONTROL_OR_BREAK = /[\0-\x1f\x7f]/;

const STRING_PREFIXES: ReadonlyMap<string, StringPrefix> = new Map([
  ['N', 'N'],
  ['X', 'X'],
  ['_UTF8', '_utf8'],
  ['_UTF16', '_utf16'],
  ['_LATIN1', '_latin1'],
]);

/** Step counter and limits of a text and all texts within its strings. */
export interface LexerBudget {
  readonly steps: Steps;
  readonly limits: SqlLimits;
  /** Tokens read so far. */
  tokens: number;
}

/** Tokens of one part of the work. */
const TOKENS_PER_PART = 8192;

/**
 * Splits a text into tokens without comments; the last one has kind `end`.
 * @throws {SqlRefusal}
 */
export function tokenize(sql: string, budget: LexerBudget): Token[] {
  return atOnce(tokenizing(sql, budget));
}

/** `tokenize` in parts. */
export function tokenizing(sql: string, budget: LexerBudget): Slices<Token[]> {
  return new Lexer(sql, budget).read();
}

class Lexer {
  readonly #sql: string;
  readonly #budget: LexerBudget;
  readonly #steps: Steps;
  readonly #limits: SqlLimits;
  readonly #tokens: Token[] = [];
  #at = 0;
  #hint: string | undefined;

  constructor(sql: string, budget: LexerBudget) {
    this.#sql = sql;
    this.#budget = budget;
    this.#steps = budget.steps;
    this.#limits = budget.limits;
  }

  *read(): Slices<Token[]> {
    const sql = this.#sql;
    if (!sql.isWellFormed())
      throw new SqlRefusal('the text contains half of a surrogate pair, which is not a character');
    for (this.#skip(); this.#at < sql.length; this.#skip()) {
      const start = this.#at;
      this.#token(sql.charCodeAt(start));
      this.#steps.count += this.#at - start;
      if (++this.#budget.tokens > this.#limits.tokens) {
        throw new SqlRefusal(`the text has more than ${this.#limits.tokens} tokens`, start);
      }
      if (this.#budget.tokens % TOKENS_PER_PART === 0) yield;
    }
    this.#push('end', '', '', this.#at);
    return this.#tokens;
  }

  #push(kind: TokenKind, text: string, key: string, at: number, prefix: StringPrefix = ''): void {
    this.#tokens.push({ kind, text, key, prefix, at, hint: this.#hint });
    this.#hint = undefined;
  }

  /** Matches at the current position and moves to the end of the match. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#sql)) return undefined;
    const text = this.#sql.slice(this.#at, pattern.lastIndex);
    this.#at = pattern.lastIndex;
    return text;
  }

  /** Skips blanks and comments. */
  #skip(): void {
    const start = this.#at;
    for (;;) {
      this.#match(BLANKS);
      if (this.#sql.startsWith('--', this.#at) || this.#sql.startsWith('//', this.#at)) this.#match(LINE_COMMENT);
      else if (this.#sql.startsWith('/*', this.#at)) this.#blockComment();
      else break;
    }
    this.#steps.count += this.#at - start;
  }

  #blockComment(): void {
    const start = this.#at;
    const end = this.#sql.indexOf('*/', start + 2);
    if (end === -1) throw new SqlRefusal('the comment is not closed: `*/` was expected', start);
    if (this.#sql[start + 2] === '+') this.#hint = this.#sql.slice(start + 3, end);
    this.#at = end + 2;
  }

  #token(code: number): void {
    const at = this.#at;
    if (code === 0x27) return this.#string('', at);
    if (code === 0x22) return this.#quoted(at);
    const word = this.#match(WORD);
    if (word !== undefined) return this.#word(word, at);
    const number = this.#match(NUMBER);
    if (number !== undefined) return this.#number(number, at);
    const mark = this.#match(MARK);
    if (mark !== undefined) return this.#push('mark', mark, mark, at);
    const char = String.fromCodePoint(this.#sql.codePointAt(at) ?? 0);
    throw new SqlRefusal(`the character ${nameOf(char)} may only be used within quotes`, at);
  }

  /** Longest match: `1e5` is a number, `1e5x` a name. */
  #number(number: string, at: number): void {
    this.#at = at;
    const name = this.#match(DIGITS_NAME);
    if (name !== undefined && name.length > number.length) return this.#name('word', name, '', at);
    this.#at = at + number.length;
    this.#push('number', number, '', at);
  }

  #word(word: string, at: number): void {
    const next = this.#sql[this.#at];
    const key = ASCII.test(word) ? word.toUpperCase() : '';
    if (next === '&' && key === 'U') {
      const quote = this.#sql[this.#at + 1];
      if (quote === "'" || quote === '"') return this.#unicode(quote, at);
    }
    if (next === "'") {
      const prefix = STRING_PREFIXES.get(key);
      if (prefix !== undefined) return this.#string(prefix, at);
      if (key === 'E' || key.startsWith('_'))
        throw new SqlRefusal(`strings with the prefix \`${word}\` are not supported`, at);
    }
    this.#name('word', word, key, at);
  }

  #name(kind: 'word' | 'quoted', name: string, key: string, at: number): void {
    if (name === '') throw new SqlRefusal('a quoted name is empty', at);
    if (name.length > this.#limits.nameLength) {
      throw new SqlRefusal(`a name is longer than ${this.#limits.nameLength} characters`, at);
    }
    if (CONTROL_OR_BREAK.test(name))
      throw new SqlRefusal('a quoted name contains a line break or another control character', at);
    this.#push(kind, name, key, at);
  }

  /** Reads the content up to the closing quote; a doubled quote stands for one. */
  #between(quote: string): string {
    const start = this.#at;
    let end = this.#sql.indexOf(quote, start + 1);
    while (end !== -1 && this.#sql[end + 1] === quote) {
      this.#steps.count += 2;
      end = this.#sql.indexOf(quote, end + 2);
    }
    if (end === -1)
      throw new SqlRefusal(quote === "'" ? 'the string is not closed' : 'the quoted name is not closed', start);
    this.#at = end + 1;
    return this.#sql.slice(start + 1, end).replaceAll(quote + quote, quote);
  }

  #string(prefix: StringPrefix, at: number): void {
    const text = this.#between("'");
    if (CONTROL.test(text)) throw new SqlRefusal('a string contains a control character', at);
    if (prefix === 'X' && !/^[0-9a-fA-F]*$/.test(text))
      throw new SqlRefusal('a binary string contains characters other than hexadecimal digits', at);
    this.#push('string', text, '', at, prefix);
  }

  #quoted(at: number): void {
    this.#name('quoted', this.#between('"'), '', at);
  }

  /** `U&'…'` and `U&"…"`, with `UESCAPE` where given. */
  #unicode(quote: string, at: number): void {
    this.#at++;
    const raw = this.#between(quote);
    UESCAPE.lastIndex = this.#at;
    const escape = UESCAPE.exec(this.#sql);
    if (escape !== null) this.#at = UESCAPE.lastIndex;
    const text = unescape(raw, escape?.[1] ?? '\\', at);
    if (CONTROL.test(text)) throw new SqlRefusal('a string contains a control character', at);
    if (quote === "'") this.#push('string', text, '', at, 'U&');
    else this.#name('quoted', text, '', at);
  }
}

/** The escape character with four hexadecimal digits is a UTF-16 unit; doubled, it is itself. */
function unescape(raw: string, escape: string, at: number): string {
  let text = '';
  for (let index = 0; index < raw.length; index++) {
    if (raw[index] !== escape) text += raw[index];
    else if (raw[index + 1] === escape) {
      text += escape;
      index++;
    } else {
      const digits = raw.slice(index + 1, index + 5);
      if (!/^[0-9a-fA-F]{4}$/.test(digits))
        throw new SqlRefusal('four hexadecimal digits were expected after the escape character', at);
      text += String.fromCharCode(Number.parseInt(digits, 16));
      index += 4;
    }
  }
  if (!text.isWellFormed())
    throw new SqlRefusal('the text contains half of a surrogate pair, which is not a character', at);
  return text;
}

/** A character for a message: printable characters as they are. */
function nameOf(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(char) ? `\`${char}\` (U+${code})` : `U+${code}`;
}
