import type { Random } from '../texts.ts';
import { OUTERMOST, type Names, type Scope } from './names.ts';

/** Queries within expressions. */
export interface Subqueries {
  /** One value. */
  readonly scalar: (scope: Scope) => string;
  /** Rows of one column. */
  readonly column: (scope: Scope) => string;
  /** Rows of any columns. */
  readonly any: (scope: Scope) => string;
  /** Of a query within a string. */
  readonly text: () => string;
  /** Whether the text may still become longer. */
  readonly more: () => boolean;
}

/** Random expressions of the types integer and boolean. */
export class Expressions {
  readonly #random: Random;
  readonly #names: Names;
  readonly #queries: Subqueries;

  constructor(random: Random, names: Names, queries: Subqueries) {
    this.#random = random;
    this.#names = names;
    this.#queries = queries;
  }

  /** @param depth how deep it may be nested, apart from its queries */
  integer(scope: Scope, depth = 1): string {
    if (depth <= 0 || this.#random.chance(55)) return this.leaf(scope);
    if (this.#queries.more() && this.#random.chance(55)) return this.#ofQuery(scope, depth);
    const one = (): string => this.integer(scope, depth - 1);
    return this.#random.pick([
      () => `${one()} ${this.#random.pick(['+', '-', '*'])} ${one()}`,
      () => `(${one()})`,
      () => `CASE WHEN ${this.condition(scope, depth - 1)} THEN ${one()} ELSE ${one()} END`,
      () => `CASE ${one()} WHEN 1 THEN ${one()} END`,
      () => `COALESCE(${one()}, ${one()})`,
      () => `${this.#names.written('abs')}(${one()})`,
      () => `CAST(${one()} AS ${this.#random.pick(['INTEGER', 'BIGINT'])})`,
      () => `- ${this.leaf(scope)}`,
    ])();
  }

  leaf(scope: Scope): string {
    const column = this.#random.chance(80) ? this.#names.column(scope) : undefined;
    return column ?? String(this.#random.below(9));
  }

  #ofQuery(scope: Scope, depth: number): string {
    const { scalar, column, text } = this.#queries;
    if (this.#random.chance(70)) return scalar(scope);
    return this.#random.pick([
      () => `CARDINALITY(ARRAY${column(scope)})`,
      () => `lookUp('${this.#random.pick(['orders', 'u', 'customers'])}', 'a', 'id', ${this.leaf(scope)})`,
      () => `in_subquery(${this.leaf(scope)}, ${text()})`,
      () => `CASE WHEN ${this.condition(scope, depth - 1)} THEN ${scalar(scope)} ELSE 0 END`,
      () => `COALESCE(${scalar(scope)}, ${scalar(scope)})`,
    ])();
  }

  condition(scope: Scope, depth = 1): string {
    if (this.#queries.more() && this.#random.chance(55)) return this.#conditionOfQuery(scope, depth);
    const one = (): string => this.integer(scope, depth - 1);
    const compared = (): string => `${one()} ${this.#random.pick(['=', '<>', '<', '>', '<=', '>='])} ${one()}`;
    if (depth <= 0) return compared();
    const inner = (): string => this.condition(scope, depth - 1);
    return this.#random.pick([
      compared,
      () => `(${inner()} ${this.#random.pick(['AND', 'OR'])} ${inner()})`,
      () => `NOT (${inner()})`,
      () => `${one()} BETWEEN ${one()} AND ${one()}`,
      () => `${one()} ${this.#random.pick(['IN', 'NOT IN'])} (${one()}, ${one()})`,
      () => `${one()} IS ${this.#random.pick(['NULL', 'NOT NULL'])}`,
    ])();
  }

  #conditionOfQuery(scope: Scope, depth: number): string {
    const { scalar, column, any, text } = this.#queries;
    const one = (): string => this.integer(scope, depth - 1);
    return this.#random.pick([
      () => `${one()} ${this.#random.pick(['IN', 'NOT IN'])} ${column(scope)}`,
      () => `${this.#random.pick(['', 'NOT '])}EXISTS ${any(scope)}`,
      () => `${one()} > ${scalar(scope)}`,
      () => `${scalar(scope)} BETWEEN 1 AND ${scalar(scope)}`,
      () => `${one()} ${this.#random.pick(['= ANY', '> ALL', '< SOME', '<> ALL'])} ${column(scope)}`,
      () => `IN_SUBQUERY(${this.leaf(scope)}, ${text()}) = 1`,
    ])();
  }

  aggregate(scope: Scope): string {
    const simple = this.#random.pick(['MAX', 'SUM', 'COUNT', 'MIN', 'distinctcount', '"max"']);
    const call = this.#random.pick([
      () => 'COUNT(*)',
      () => `${simple}(${this.leaf(scope)})`,
      () => `${simple}(${this.integer(scope, 1)})`,
      () => `COUNT(DISTINCT ${this.leaf(scope)})`,
    ])();
    return this.#random.chance(8) ? `${call} FILTER (WHERE ${this.condition(scope, 0)})` : call;
  }

  /** @param named of the clause WINDOW */
  windowed(scope: Scope, named: string | undefined): string {
    const call = `${this.#random.pick(['SUM', 'MAX', 'COUNT'])}(${this.leaf(scope)})`;
    if (named !== undefined && this.#random.chance(60)) return `${call} OVER ${this.#names.written(named)}`;
    return this.#random.chance(25)
      ? `ROW_NUMBER() OVER (ORDER BY ${this.leaf(scope)})`
      : `${call} OVER ${this.window(scope)}`;
  }

  window(scope: Scope): string {
    const partition = this.#random.chance(60) ? `PARTITION BY ${this.integer(scope, 1)}` : '';
    const order = this.#random.chance(60) ? `ORDER BY ${this.integer(scope, 1)}` : '';
    const frame = order !== '' && this.#random.chance(20) ? 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW' : '';
    return `(${[partition, order, frame].filter((part) => part !== '').join(' ')})`;
  }

  /** Without columns: only values, and queries that see the CTEs. */
  constant(scope: Scope): string {
    return this.integer({ ...OUTERMOST, ctes: scope.ctes }, 1);
  }
}
