import { KEYWORDS, MARKS, RESERVED, type Keyword, type Mark } from '../keywords.ts';
import type { Steps, Token } from '../lexer.ts';
import type { SqlLimits } from '../limits.ts';
import { SqlRefusal } from '../refusal.ts';
import type { CommonTable, Piece, TextPiece } from '../tree.ts';

/** State shared by a text and all texts within its strings: the limits hold for all of them together. */
export interface Budget {
  readonly steps: Steps;
  readonly limits: SqlLimits;
  tokens: number;
  /** Tokens at the end of the last part of the work. */
  tokensOfLastPart: number;
  /** Number of open brackets, queries and calls, including those in queries within strings. */
  depth: number;
  texts: number;
  tables: number;
  /** In the order of their definitions. */
  readonly commonTables: CommonTable[];
}

/** Grammar rules that refer to each other. */
export interface Grammar {
  readonly expression: (at: Reader) => void;
  /** @returns the maximum number of rows; undefined if the text does not limit it */
  readonly query: (at: Reader) => number | undefined;
  /** What may follow a query in parentheses: set operators, order and limits. */
  readonly queryTail: (at: Reader) => number | undefined;
}

/** One piece for each keyword and mark: a long text has tens of thousands of them. */
const KEYWORD_PIECES: ReadonlyMap<Keyword, Piece> = new Map(KEYWORDS.map((text) => [text, { kind: 'keyword', text }]));
const MARK_PIECES: ReadonlyMap<Mark, Piece> = new Map(MARKS.map((text) => [text, { kind: 'mark', text }]));

/** Position in the tokens of one text, and the pieces read so far. */
export class Reader {
  readonly pieces: Piece[] = [];
  readonly budget: Budget;
  readonly grammar: Grammar;
  /** Queries within strings, which are parsed after this text. */
  readonly texts: TextPiece[] = [];
  /** Visible common table expressions by name, the innermost one last. */
  readonly commonTables = new Map<string, CommonTable[]>();
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[], budget: Budget, grammar: Grammar) {
    this.#tokens = tokens;
    this.budget = budget;
    this.grammar = grammar;
  }

  peek(ahead = 0): Token {
    this.budget.steps.count++;
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)] as Token;
  }

  /** Keyword or mark at this distance; empty for other tokens. */
  key(ahead = 0): string {
    return this.peek(ahead).key;
  }

  /** Consumes a token without adding a piece. */
  skip(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  emit(piece: Piece): void {
    this.pieces.push(piece);
  }

  /** Adds a query within a string. @param at offset of the string */
  text(sql: string, at: number): void {
    const piece: TextPiece = { kind: 'text', sql, at, depth: this.budget.depth, script: undefined };
    this.texts.push(piece);
    this.emit(piece);
  }

  keyword(text: Keyword): void {
    this.pieces.push(KEYWORD_PIECES.get(text) as Piece);
  }

  mark(text: Mark): void {
    this.pieces.push(MARK_PIECES.get(text) as Piece);
  }

  /** If these words follow, consumes them, adds them as pieces and returns true. */
  take(...words: readonly Keyword[]): boolean {
    if (!words.every((word, index) => this.key(index) === word)) return false;
    for (const word of words) {
      this.#at++;
      this.keyword(word);
    }
    return true;
  }

  /** If one of these words follows, consumes it and adds it as a piece. @returns the word */
  takeOne<T extends Keyword>(words: readonly T[]): T | undefined {
    const key = this.key();
    const word = words.find((one) => one === key);
    if (word === undefined) return undefined;
    this.#at++;
    this.keyword(word);
    return word;
  }

  takeMark(mark: Mark): boolean {
    if (this.key() !== mark) return false;
    this.#at++;
    this.mark(mark);
    return true;
  }

  expect(...words: readonly Keyword[]): void {
    if (!this.take(...words)) throw this.unexpected(`\`${words.join(' ')}\``);
  }

  expectMark(mark: Mark): void {
    if (!this.takeMark(mark)) throw this.unexpected(`\`${mark}\``);
  }

  /** Whether a name follows: quoted, or a word that is not reserved. */
  atName(ahead = 0): boolean {
    const { kind, key } = this.peek(ahead);
    return kind === 'quoted' || (kind === 'word' && !RESERVED.has(key));
  }

  /** Whether an argument ends at this distance. */
  atArgumentEnd(ahead: number): boolean {
    const key = this.key(ahead);
    return key === ',' || key === ')';
  }

  /** Consumes a name. */
  name(expected: string): string {
    if (!this.atName()) throw this.unexpected(expected);
    return this.skip().text;
  }

  /** Consumes a word from a closed list and adds it with its spelling. */
  bare(): void {
    this.emit({ kind: 'bare', text: this.skip().text });
  }

  expression(): void {
    this.grammar.expression(this);
  }

  query(): void {
    this.grammar.query(this);
  }

  /** `item, item, …` */
  list(item: () => void): void {
    do item();
    while (this.takeMark(','));
  }

  /** Runs `read` one nesting level deeper. */
  nested<T>(read: () => T): T {
    const { nesting } = this.budget.limits;
    if (++this.budget.depth > nesting) throw this.refusal(`the query is nested deeper than ${nesting} levels`);
    const result = read();
    this.budget.depth--;
    return result;
  }

  /** `( … )` */
  parentheses<T>(read: () => T): T {
    this.expectMark('(');
    const result = this.nested(read);
    this.expectMark(')');
    return result;
  }

  refusal(message: string, at = this.peek().at): SqlRefusal {
    return new SqlRefusal(message, at);
  }

  unexpected(expected: string): SqlRefusal {
    const { kind, text, key } = this.peek();
    const found = kind === 'end' ? 'the text ends' : `\`${shortened(text)}\` is unexpected`;
    const advice =
      kind === 'word' && RESERVED.has(key) ? ' (a reserved word needs double quotes where it is a name)' : '';
    return this.refusal(`${found} here: ${expected} was expected${advice}`);
  }
}

const SHOWN = 60;

function shortened(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
