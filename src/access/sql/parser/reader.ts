import { RESERVED, type Keyword, type Mark } from '../keywords.ts';
import type { Steps, Token } from '../lexer.ts';
import type { SqlLimits } from '../limits.ts';
import { SqlRefusal } from '../refusal.ts';
import type { CommonTable, Part, Query, Scope, Sequence, Term, TextLeaf } from '../tree.ts';
import { keywordLeaf, markLeaf } from '../walk.ts';

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

export function newBudget(limits: SqlLimits, steps: Steps): Budget {
  return { steps, limits, tokens: 0, tokensOfLastPart: 0, depth: 0, texts: 0, tables: 0, commonTables: [] };
}

/** Grammar rules that refer to each other. */
export interface Grammar {
  readonly expression: (at: Reader) => void;
  readonly query: (at: Reader) => Query;
  /** What may follow a query in parentheses: set operators, order and limits. */
  readonly queryTail: (at: Reader, first: Term) => Query;
}

/**
 * Position in the tokens of one text, and the sequence that is being parsed. `take…` and `expect…` add words and marks to the sequence;
 * `accept…` and `require…` only consume them, where a node stands for them.
 */
export class Reader {
  readonly budget: Budget;
  readonly grammar: Grammar;
  /** Queries within strings, which are parsed after this text. */
  readonly texts: TextLeaf[] = [];
  /** Visible common table expressions by name, the innermost one last. */
  readonly commonTables = new Map<string, CommonTable[]>();
  /** Of the innermost SELECT that is being parsed. */
  scope: Scope | undefined;
  readonly #tokens: readonly Token[];
  #parts: Part[] = [];
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

  /** Consumes a token without adding a part. */
  skip(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  emit(part: Part): void {
    this.#parts.push(part);
  }

  /** The last part of the current sequence. */
  get last(): Part | undefined {
    return this.#parts.at(-1);
  }

  /** What `read` adds, as a sequence of its own. */
  sequence(read: () => void): Sequence {
    const outer = this.#parts;
    const parts: Part[] = [];
    this.#parts = parts;
    read();
    this.#parts = outer;
    return { kind: 'sequence', parts };
  }

  /** An expression as a part of its own. */
  expressionPart(): Part {
    const sequence = this.sequence(() => this.grammar.expression(this));
    return sequence.parts.length === 1 ? (sequence.parts[0] as Part) : sequence;
  }

  /** Adds a query within a string. @param at offset of the string */
  text(sql: string, at: number): void {
    const leaf: TextLeaf = { kind: 'text', sql, at, depth: this.budget.depth, script: undefined };
    this.texts.push(leaf);
    this.emit(leaf);
  }

  keyword(text: Keyword): void {
    this.#parts.push(keywordLeaf(text));
  }

  mark(text: Mark): void {
    this.#parts.push(markLeaf(text));
  }

  /** If these words follow, consumes them and returns true. */
  accept(...words: readonly Keyword[]): boolean {
    if (!words.every((word, index) => this.key(index) === word)) return false;
    this.#at += words.length;
    return true;
  }

  /** If one of these words follows, consumes it. @returns the word */
  acceptOne<T extends Keyword>(words: readonly T[]): T | undefined {
    const key = this.key();
    const word = words.find((one) => one === key);
    if (word !== undefined) this.#at++;
    return word;
  }

  acceptMark(mark: Mark): boolean {
    if (this.key() !== mark) return false;
    this.#at++;
    return true;
  }

  /** `accept` that adds the words to the sequence. */
  take(...words: readonly Keyword[]): boolean {
    if (!this.accept(...words)) return false;
    for (const word of words) this.keyword(word);
    return true;
  }

  /** `acceptOne` that adds the word to the sequence. */
  takeOne<T extends Keyword>(words: readonly T[]): T | undefined {
    const word = this.acceptOne(words);
    if (word !== undefined) this.keyword(word);
    return word;
  }

  /** `acceptMark` that adds the mark to the sequence. */
  takeMark(mark: Mark): boolean {
    if (!this.acceptMark(mark)) return false;
    this.mark(mark);
    return true;
  }

  require(...words: readonly Keyword[]): void {
    if (!this.accept(...words)) throw this.unexpected(`\`${words.join(' ')}\``);
  }

  requireMark(mark: Mark): void {
    if (!this.acceptMark(mark)) throw this.unexpected(`\`${mark}\``);
  }

  expect(...words: readonly Keyword[]): void {
    this.require(...words);
    for (const word of words) this.keyword(word);
  }

  expectMark(mark: Mark): void {
    this.requireMark(mark);
    this.mark(mark);
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

  /** A query within the current sequence. */
  query(): void {
    this.emit(this.grammar.query(this));
  }

  /** `item, item, …` within the current sequence. */
  list(item: () => void): void {
    do item();
    while (this.takeMark(','));
  }

  /** `item, item, …` */
  items<T>(item: () => T): T[] {
    const items: T[] = [];
    do items.push(item());
    while (this.acceptMark(','));
    return items;
  }

  /** Runs `read` one nesting level deeper. */
  nested<T>(read: () => T): T {
    const { nesting } = this.budget.limits;
    if (++this.budget.depth > nesting) throw this.refusal(`the query is nested deeper than ${nesting} levels`);
    const result = read();
    this.budget.depth--;
    return result;
  }

  /** `( … )` within the current sequence. */
  parentheses<T>(read: () => T): T {
    this.expectMark('(');
    const result = this.nested(read);
    this.expectMark(')');
    return result;
  }

  /** `( … )` of a node. */
  inParentheses<T>(read: () => T): T {
    this.requireMark('(');
    const result = this.nested(read);
    this.requireMark(')');
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
