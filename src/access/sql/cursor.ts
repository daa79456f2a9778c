import { SqlRefusal, type Token } from './tokens.ts';

/** Deeper nesting than this is no ordinary query; the limit keeps the parser off the end of the stack. */
const MAX_DEPTH = 200;

/** A place in a list of tokens. */
export class Cursor {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  /** @param tokens ended by a token of kind `end` */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)] as Token;
  }

  /** Keyword or mark ahead; empty for anything else. */
  key(ahead = 0): string {
    return this.peek(ahead).key;
  }

  next(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  /** Steps over `key` if it is next. */
  take(key: string): boolean {
    if (this.key() !== key) return false;
    this.#at++;
    return true;
  }

  takeOne(keys: ReadonlySet<string>): boolean {
    if (!keys.has(this.key())) return false;
    this.#at++;
    return true;
  }

  /** @throws {SqlRefusal} where `key` is not next */
  expect(key: string): void {
    if (!this.take(key)) throw this.unexpected(`\`${key}\` was expected`);
  }

  unexpected(why: string): SqlRefusal {
    const { kind, text } = this.peek();
    const found = kind === 'end' ? 'the end' : `\`${text.length > 40 ? `${text.slice(0, 40)}…` : text}\``;
    return new SqlRefusal(`${found} stands where ${why}`);
  }

  /** Runs `parse` one level deeper. @throws {SqlRefusal} too deep */
  nested<T>(parse: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new SqlRefusal(`it is nested more than ${MAX_DEPTH} levels deep`);
    const result = parse();
    this.#depth--;
    return result;
  }
}
