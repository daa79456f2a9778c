import type { Cursor } from './cursor.ts';
import { readCall, type CallReader } from './functions.ts';
import {
  CLAUSES,
  FROM_IN_CALL,
  JOIN_WORDS,
  NOT_IN_EXPRESSIONS,
  QUERY_STARTS,
  RESERVED,
  SET_OPERATORS,
} from './keywords.ts';
import { SqlRefusal, type Token } from './tokens.ts';

/** Names of the common table expressions that a place can see, innermost first. */
interface Scope {
  readonly names: ReadonlySet<string>;
  readonly outer: Scope | undefined;
}

/**
 * Finds what a query reads. It follows the structure of queries exactly and that of expressions loosely: an expression can name a table
 * only within a parenthesised query or by one of a few functions, and whatever keyword could begin either elsewhere is refused.
 * That is why a text which the engine's parser takes gives every name to the same role here.
 */
export class QueryParser {
  /** The outermost `LIMIT`, once the query was read; undefined where there is none. */
  limit: number | undefined;
  readonly #at: Cursor;
  readonly #onTable: (name: string) => void;
  readonly #calls: CallReader;

  constructor(at: Cursor, onTable: (name: string) => void, calls: CallReader) {
    this.#at = at;
    this.#onTable = onTable;
    this.#calls = calls;
  }

  /** A whole query, to the first token that is no part of it. */
  query(scope?: Scope): void {
    this.#at.nested(() => {
      let inner = scope;
      if (this.#at.take('WITH')) inner = this.#with(scope);
      this.#term(inner);
      this.#tail(inner);
    });
  }

  /** `name [(columns)] AS (query)`, each seen by those that follow it, not by itself. */
  #with(scope: Scope | undefined): Scope {
    const at = this.#at;
    const recursive = at.take('RECURSIVE');
    let inner: Scope = { names: new Set(), outer: scope };
    do {
      const name = this.#identifier('the name of a common table expression was expected');
      if (at.key() === '(') this.#columns();
      at.expect('AS');
      at.expect('(');
      // Where the engine lets a recursive one read itself, a table of that name is asked for as well: more than needed, never less.
      this.query(inner);
      at.expect(')');
      if (recursive && inner.names.has(name)) throw new SqlRefusal(`\`${name}\` is defined twice`);
      inner = { names: new Set([...inner.names, name]), outer: scope };
    } while (at.take(','));
    return inner;
  }

  #term(scope: Scope | undefined): void {
    const at = this.#at;
    if (at.take('SELECT')) this.#select(scope);
    else if (at.take('VALUES')) this.#expressions(scope);
    else if (at.take('TABLE')) this.#explicitTable(scope);
    else if (at.take('(')) {
      this.query(scope);
      at.expect(')');
    } else throw at.unexpected('a query was expected');
  }

  /** Set operators, order and limits. */
  #tail(scope: Scope | undefined): void {
    const at = this.#at;
    while (at.takeOne(SET_OPERATORS)) {
      if (!at.take('ALL')) at.take('DISTINCT');
      // Some versions let the right side have a WITH of its own, seen by it alone.
      if (at.key() === 'WITH') return this.query(scope);
      this.#term(scope);
    }
    if (at.take('ORDER')) {
      at.expect('BY');
      this.#expressions(scope);
    }
    // The outermost query ends last.
    this.limit = this.#limits();
  }

  /** `LIMIT count`, `LIMIT offset, count`, `OFFSET offset`, `FETCH FIRST count ROWS ONLY`. @returns the count; undefined where none is told */
  #limits(): number | undefined {
    const at = this.#at;
    let limit: number | undefined;
    while (at.key() === 'LIMIT' || at.key() === 'OFFSET' || at.key() === 'FETCH') {
      const { key } = at.next();
      let last: number | undefined;
      while (isLimitPart(at.peek())) {
        const { kind, text } = at.next();
        if (kind === 'number') last = Number(text);
      }
      if (key !== 'OFFSET') limit = last;
    }
    return limit;
  }

  #explicitTable(scope: Scope | undefined): void {
    if (this.#at.key() === '(')
      throw this.#at.unexpected('the name of a table was expected: table functions are refused');
    this.#tableName(scope);
  }

  #select(scope: Scope | undefined): void {
    const at = this.#at;
    at.take('STREAM');
    if (!at.take('DISTINCT')) at.take('ALL');
    this.#expressions(scope);
    if (at.take('FROM')) this.#from(scope);
    if (at.take('WHERE')) this.#expression(scope);
    if (at.take('GROUP')) {
      at.expect('BY');
      if (!at.take('DISTINCT')) at.take('ALL');
      this.#expressions(scope);
    }
    if (at.take('HAVING')) this.#expression(scope);
    if (at.take('WINDOW')) this.#expressions(scope);
    if (at.take('QUALIFY')) this.#expression(scope);
  }

  /** Tables, joined or listed. */
  #from(scope: Scope | undefined): void {
    const at = this.#at;
    this.#tableRef(scope);
    for (;;) {
      if (at.take(',')) this.#tableRef(scope);
      else if (this.#join()) {
        this.#tableRef(scope);
        if (at.take('MATCH_CONDITION')) this.#expression(scope);
        if (at.take('ON')) this.#expression(scope);
        else if (at.take('USING')) this.#columns();
      } else return;
    }
  }

  /** Steps over the words of a join. */
  #join(): boolean {
    const at = this.#at;
    if (!JOIN_WORDS.has(at.key())) return false;
    const first = at.key();
    while (JOIN_WORDS.has(at.key()) && at.key() !== 'JOIN') at.next();
    if (at.key() === 'SEMI' || at.key() === 'ANTI') at.next();
    if ((first === 'CROSS' || first === 'OUTER') && at.take('APPLY')) return true;
    at.expect('JOIN');
    return true;
  }

  #tableRef(scope: Scope | undefined): void {
    const at = this.#at;
    at.take('LATERAL');
    if (at.take('UNNEST')) this.#unnest(scope);
    else if (at.key() === 'TABLE') throw at.unexpected('the name of a table was expected: table functions are refused');
    else if (at.take('(')) {
      at.nested(() => this.#parenthesisedTables(scope));
    } else this.#tableName(scope);
    this.#alias();
  }

  #unnest(scope: Scope | undefined): void {
    const at = this.#at;
    at.expect('(');
    this.#parentheses(scope, '');
    if (at.key() === 'WITH' && at.key(1) === 'ORDINALITY') {
      at.next();
      at.next();
    }
  }

  /** A query, or tables with their joins, up to the closing parenthesis. */
  #parenthesisedTables(scope: Scope | undefined): void {
    const at = this.#at;
    if (QUERY_STARTS.has(at.key())) this.query(scope);
    else {
      this.#from(scope);
      // It was a query in parentheses, then.
      if (CLAUSES.has(at.key())) this.#tail(scope);
    }
    at.expect(')');
  }

  #tableName(scope: Scope | undefined): void {
    const at = this.#at;
    const parts = [this.#identifier('the name of a table was expected')];
    while (at.take('.')) parts.push(this.#identifier('the rest of a name was expected'));
    if (at.key() === '(') throw at.unexpected('no parenthesis may stand: table functions are refused');
    const name = parts.join('.');
    if (parts.length > 1 || !seen(name, scope)) this.#onTable(name);
  }

  #alias(): void {
    const at = this.#at;
    const named = at.take('AS');
    const { kind, key } = at.peek();
    if (!named && key === 'OPTION' && at.key(1) === '(') return;
    if (kind !== 'quoted' && (kind !== 'word' || RESERVED.has(key))) {
      if (named) throw at.unexpected('an alias was expected');
      return;
    }
    at.next();
    if (at.key() === '(') this.#columns();
  }

  /** `(a, b, …)` */
  #columns(): void {
    const at = this.#at;
    at.expect('(');
    do {
      this.#identifier('the name of a column was expected');
      while (at.take('.')) this.#identifier('the rest of a name was expected');
    } while (at.take(','));
    at.expect(')');
  }

  #identifier(expected: string): string {
    const { kind, key, text } = this.#at.peek();
    if (kind !== 'quoted' && (kind !== 'word' || RESERVED.has(key))) throw this.#at.unexpected(expected);
    this.#at.next();
    return text;
  }

  #expressions(scope: Scope | undefined): void {
    do this.#expression(scope);
    while (this.#at.take(','));
  }

  /** An expression of a clause, up to a comma, a closing bracket, or the next clause or join. */
  #expression(scope: Scope | undefined): void {
    const at = this.#at;
    let length = 0;
    for (; !this.#endsExpression(); length++) this.#operand(scope, '');
    if (length === 0) throw at.unexpected('an expression was expected');
  }

  #endsExpression(): boolean {
    const at = this.#at;
    const key = at.key();
    if (key === '') return at.peek().kind === 'end';
    if (key === ',' || key === ')' || key === ']' || key === ';' || CLAUSES.has(key)) return true;
    if (key === 'ON' || key === 'USING' || key === 'MATCH_CONDITION') return true;
    if (key === 'OPTION') return at.key(1) === '(';
    return beginsJoin(key, at.key(1));
  }

  /** One token of an expression, or all that a pair of brackets holds. */
  #operand(scope: Scope | undefined, call: string): void {
    const at = this.#at;
    if (this.#distinctFrom()) return;
    if (at.key() === 'WITHIN' && at.key(1) === 'GROUP' && at.key(2) === '(') {
      // `LISTAGG(…) WITHIN GROUP (ORDER BY …)`: no clause begins here.
      at.next();
      at.next();
    }
    const { kind, key, text } = at.peek();
    if (NOT_IN_EXPRESSIONS.has(key) && !isTypeOrWrapper(key, at.key(1)))
      throw at.unexpected('an expression was expected');
    at.next();
    if (key === '(') this.#parentheses(scope, call);
    else if (key === '[') this.#brackets(scope);
    else if ((kind === 'word' || kind === 'quoted') && at.key() === '(') {
      at.next();
      readCall(text, at, this.#calls);
      this.#parentheses(scope, key);
    }
  }

  /** `IS [NOT] DISTINCT FROM` is an operator. */
  #distinctFrom(): boolean {
    const at = this.#at;
    if (at.key() !== 'IS') return false;
    const words = at.key(1) === 'NOT' ? 4 : 3;
    if (at.key(words - 2) !== 'DISTINCT' || at.key(words - 1) !== 'FROM') return false;
    for (let word = 0; word < words; word++) at.next();
    return true;
  }

  #brackets(scope: Scope | undefined): void {
    const at = this.#at;
    at.nested(() => {
      while (!at.take(']')) this.#inside(scope, '');
    });
  }

  /** The inside of parentheses, opened already: a query, or the arguments of `call`, or an expression. */
  #parentheses(scope: Scope | undefined, call: string): void {
    const at = this.#at;
    at.nested(() => {
      if (QUERY_STARTS.has(at.key())) this.query(scope);
      while (!at.take(')')) this.#inside(scope, call);
    });
  }

  #inside(scope: Scope | undefined, call: string): void {
    const at = this.#at;
    const { kind, key } = at.peek();
    if (kind === 'end' || key === ';' || key === ')' || key === ']') throw at.unexpected('a bracket is still open');
    if (SET_OPERATORS.has(key)) return this.#tail(scope);
    if (key === 'FROM' && !FROM_IN_CALL.has(call)) throw at.unexpected('an expression was expected');
    if (beginsJoin(key, at.key(1))) throw at.unexpected('an expression was expected');
    this.#operand(scope, '');
  }
}

/** `LEFT(text, 3)` and `RIGHT(text, 3)` are functions, and `ASOF` alone is a name in older versions. */
function beginsJoin(key: string, next: string): boolean {
  if (key === 'LEFT' || key === 'RIGHT') return next !== '(';
  return JOIN_WORDS.has(key) && (key !== 'ASOF' || next === 'JOIN');
}

function seen(name: string, scope: Scope | undefined): boolean {
  for (let at = scope; at !== undefined; at = at.outer) if (at.names.has(name)) return true;
  return false;
}

const LIMIT_WORDS = new Set(['ROW', 'ROWS', 'FIRST', 'NEXT', 'ONLY', 'ALL', '?', ',', '+', '-']);

function isLimitPart({ kind, key }: Token): boolean {
  return kind === 'number' || LIMIT_WORDS.has(key);
}

/** `WITH` of `TIMESTAMP WITH TIME ZONE` and of `JSON_QUERY(… WITH WRAPPER)`. */
function isTypeOrWrapper(key: string, next: string): boolean {
  return key === 'WITH' && WITH_FOLLOWERS.has(next);
}

const WITH_FOLLOWERS = new Set(['TIME', 'LOCAL', 'WRAPPER', 'ARRAY', 'CONDITIONAL', 'UNCONDITIONAL', 'UNIQUE']);
