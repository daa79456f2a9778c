import type { Random } from '../texts.ts';
import type { Expressions } from './expressions.ts';
import type { Names, Relation, Scope } from './names.ts';

interface Derived {
  /** Whether the text may still become longer. */
  readonly more: () => boolean;
  /** @param named whether the columns must have these names */
  readonly derived: (scope: Scope, columns: readonly string[], named: boolean) => string;
}

interface Item {
  readonly text: string;
  readonly relations: readonly Relation[];
}

/** Random FROM clauses: tables, CTEs, derived tables, LATERAL, UNNEST, VALUES, and joins. */
export class From {
  readonly #random: Random;
  readonly #names: Names;
  readonly #expressions: Expressions;
  readonly #queries: Derived;

  constructor(random: Random, names: Names, expressions: Expressions, queries: Derived) {
    this.#random = random;
    this.#names = names;
    this.#expressions = expressions;
    this.#queries = queries;
  }

  clause(scope: Scope): Item {
    let clause = this.#item(scope, []);
    for (let joins = this.#random.pick([0, 0, 0, 1, 1, 2]); joins > 0; joins--) clause = this.#joined(scope, clause);
    return clause;
  }

  #joined(scope: Scope, left: Item): Item {
    const right = this.#random.chance(8) ? this.#grouped(scope, left.relations) : this.#item(scope, left.relations);
    const relations = [...left.relations, ...right.relations];
    const join = (kind: string, condition = ''): Item => ({
      text: `${left.text} ${kind} ${right.text}${condition}`,
      relations,
    });
    const on = (): string => ` ON ${this.#expressions.condition({ ...scope, relations }, 1)}`;
    return this.#random.pick([
      () => ({ text: `${left.text}, ${right.text}`, relations }),
      () => join('CROSS JOIN'),
      () => join('JOIN', on()),
      () => join('INNER JOIN', on()),
      () => join(`${this.#random.pick(['LEFT', 'RIGHT', 'FULL', 'LEFT OUTER'])} JOIN`, on()),
      () => (relations.length === 2 ? join('JOIN', ` USING ${this.#names.list(['id'])}`) : join('JOIN', on())),
    ])();
  }

  /** Joins in parentheses. */
  #grouped(scope: Scope, before: readonly Relation[]): Item {
    const first = this.#item(scope, before);
    const second = this.#item(scope, [...before, ...first.relations]);
    return { text: `(${first.text} CROSS JOIN ${second.text})`, relations: [...first.relations, ...second.relations] };
  }

  /** @param before the relations to its left */
  #item(scope: Scope, before: readonly Relation[]): Item {
    const name = this.#alias(before);
    if (!this.#queries.more() || this.#random.chance(60)) return this.#named(scope, before);
    const columns = this.#names.columns();
    const lateral = before.length > 0 && this.#random.chance(35);
    const around: Scope = lateral ? { ...scope, relations: before } : { ...scope, relations: [] };
    const as = (text: string, list: boolean): Item => ({
      text: `${text} AS ${this.#names.written(name)}${list ? this.#names.list(columns) : ''}`,
      relations: [{ name, columns }],
    });
    const value = (): string => this.#expressions.constant(scope);
    const unnested = (text: string): Item => ({
      text: `${text} AS ${this.#names.written(name)}${this.#names.list(['id'])}`,
      relations: [{ name, columns: ['id'] }],
    });
    const derived = (): Item => {
      const listed = this.#random.chance(40);
      return as(`${lateral ? 'LATERAL ' : ''}(${this.#queries.derived(around, columns, !listed)})`, listed);
    };
    return this.#random.pick([
      derived,
      derived,
      derived,
      derived,
      () => as(`(VALUES (${columns.map(value).join(', ')}))`, true),
      () => unnested(`UNNEST(ARRAY[${value()}, ${value()}])`),
      () => unnested(`UNNEST(ARRAY(${this.#queries.derived(around, ['id'], false)}))`),
      () => this.#explicit(scope, name),
    ])();
  }

  #alias(before: readonly Relation[]): string {
    return this.#names.fresh(before.map((relation) => relation.name));
  }

  /** A table or a CTE by its name. */
  #named(scope: Scope, before: readonly Relation[]): Item {
    const { text, relation } = this.#names.reference(scope);
    const taken = before.some(({ name }) => name === relation.name);
    if (!taken && this.#random.chance(45)) return { text, relations: [relation] };
    const name = this.#alias(before);
    const list = this.#random.chance(6);
    const alias = `${this.#random.pick([' AS ', ' '])}${this.#names.written(name)}`;
    // Too short for a table, and right for a CTE of one column.
    return {
      text: `${text}${alias}${list && relation.columns.length === 1 ? this.#names.list(['id']) : ''}`,
      relations: [{ name, columns: relation.columns }],
    };
  }

  #explicit(scope: Scope, name: string): Item {
    const { text, relation } = this.#names.reference(scope);
    return {
      text: `(TABLE ${text}) AS ${this.#names.written(name)}`,
      relations: [{ name, columns: relation.columns }],
    };
  }
}
