import type { Random } from '../texts.ts';
import { Expressions } from './expressions.ts';
import { From } from './from.ts';
import { Names, OUTERMOST, type Relation, type Scope } from './names.ts';

/** Queries within one text, without the first. */
const MAX_QUERIES = 6;
const MAX_DEPTH = 5;
const SET_OPERATORS = ['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'UNION DISTINCT', 'EXCEPT ALL', 'INTERSECT ALL'];

interface Shape {
  /** The number of columns, and their names if the query must name them; undefined for any columns. */
  readonly columns: readonly string[] | undefined;
  /** Whether its columns must have these names. */
  readonly named: boolean;
}

const ANY: Shape = { columns: undefined, named: false };
const ONE: Shape = { columns: ['id'], named: false };

/** Random queries whose CTEs, aliases and columns have names of tables, in every position that the grammar of Calcite has for a query. */
export class Queries {
  readonly #random: Random;
  readonly #names: Names;
  readonly #expressions: Expressions;
  readonly #from: From;
  #left = 0;
  #depth = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#names = new Names(random);
    this.#expressions = new Expressions(random, this.#names, {
      scalar: (scope) => this.#scalar(scope),
      column: (scope) => `(${this.#nested(scope, ONE)})`,
      any: (scope) => `(${this.#nested(scope, ANY)})`,
      text: () => `'${this.#withinString().replaceAll("'", "''")}'`,
      more: () => this.#more(),
    });
    this.#from = new From(random, this.#names, this.#expressions, {
      more: () => this.#more(),
      derived: (scope, columns, named) => this.#nested(scope, { columns, named }),
    });
  }

  /** One whole text. */
  text(): string {
    this.#left = this.#random.below(this.#random.below(MAX_QUERIES) + 1) + 1;
    const query = this.#query(OUTERMOST, ANY);
    const explained = this.#random.chance(6)
      ? `EXPLAIN PLAN ${this.#random.pick(['', 'WITHOUT IMPLEMENTATION '])}FOR ${query}`
      : query;
    const before = this.#random.chance(6)
      ? this.#random.pick(['SET useMultistageEngine = true; ', "SET database='sales'; ", 'SET timeoutMs=10; '])
      : '';
    const after = this.#random.chance(6) ? this.#random.pick([';', ' OPTION(timeoutMs=10)', ' -- the end', ' ; ']) : '';
    return `${before}${explained}${after}`;
  }

  #more(): boolean {
    return this.#left > 0 && this.#depth < MAX_DEPTH;
  }

  /** A query within the one of `scope`. */
  #nested(scope: Scope, shape: Shape): string {
    this.#left--;
    this.#depth++;
    const within: Scope = { ctes: scope.ctes, relations: [], outer: [...scope.relations, ...scope.outer] };
    const query = this.#query(within, shape);
    this.#depth--;
    return query;
  }

  #scalar(scope: Scope): string {
    if (this.#random.chance(25)) return `(${this.#nested(scope, ONE)})`;
    this.#left--;
    const { text, relation } = this.#names.reference(scope);
    const alias = this.#random.chance(40) ? this.#names.fresh([]) : undefined;
    const own: Relation = { name: alias ?? relation.name, columns: relation.columns };
    const within: Scope = { ctes: scope.ctes, relations: [own], outer: [...scope.relations, ...scope.outer] };
    const where = this.#random.chance(25) ? ` WHERE ${this.#expressions.condition(within, 1)}` : '';
    const name = alias === undefined ? '' : ` AS ${this.#names.written(alias)}`;
    return `(SELECT ${this.#random.pick(['MAX', 'MIN', 'COUNT'])}(${this.#expressions.leaf(within)}) FROM ${text}${name}${where})`;
  }

  /** The single-stage engine executes it. */
  #withinString(): string {
    this.#left--;
    if (this.#random.chance(30)) return this.#nested(OUTERMOST, ONE);
    const { text, relation } = this.#names.reference(OUTERMOST);
    const where = this.#random.chance(50)
      ? ` WHERE ${this.#expressions.condition({ ...OUTERMOST, relations: [relation] }, 1)}`
      : '';
    return `SELECT ID_SET(id) FROM ${text}${where}`;
  }

  /** WITH, body, ORDER BY and LIMIT. */
  #query(scope: Scope, shape: Shape): string {
    if (!this.#more() || !this.#random.chance(this.#depth === 0 ? 75 : 30)) return this.#ordered(scope, shape);
    const { text, ctes } = this.#with(scope);
    const within: Scope = { ...scope, ctes: [...ctes.toReversed(), ...scope.ctes] };
    // The ORDER BY behind the parentheses is outside of the WITH, but names the same CTEs.
    if (this.#random.chance(10)) return `(${text} ${this.#ordered(within, shape)})${this.#tail(within, shape.columns)}`;
    return `${text} ${this.#ordered(within, shape)}`;
  }

  #with(scope: Scope): { readonly text: string; readonly ctes: readonly Relation[] } {
    const ctes: Relation[] = [];
    const items: string[] = [];
    const recursive = this.#random.chance(6);
    // The other half is for the query behind.
    const kept = Math.ceil(this.#left / 2);
    this.#left -= kept;
    for (let count = this.#random.pick([1, 1, 1, 2, 2, 3]); count > 0; count--) {
      const name = this.#names.fresh(ctes.map((cte) => cte.name));
      const columns = this.#names.columns();
      const before: Scope = { ...scope, ctes: [...ctes.toReversed(), ...scope.ctes] };
      const listed = this.#random.chance(40);
      const query =
        recursive && this.#random.chance(60)
          ? this.#recursive(before, { name, columns })
          : this.#nested(before, { columns, named: !listed });
      items.push(`${this.#names.written(name)}${listed || recursive ? this.#names.list(columns) : ''} AS (${query})`);
      ctes.push({ name, columns });
    }
    this.#left = Math.max(this.#left, 0) + kept;
    return { text: `WITH ${recursive ? 'RECURSIVE ' : ''}${items.join(', ')}`, ctes };
  }

  #recursive(scope: Scope, self: Relation): string {
    this.#left--;
    const within: Scope = { ctes: [self, ...scope.ctes], relations: [self], outer: [] };
    const values = self.columns.map(() => String(this.#random.below(5))).join(', ');
    const items = self.columns.map(() => this.#expressions.leaf(within)).join(', ');
    return `SELECT ${values} UNION ALL SELECT ${items} FROM ${this.#names.written(self.name)} WHERE ${this.#expressions.condition(within, 1)}`;
  }

  #ordered(scope: Scope, shape: Shape): string {
    const kind = this.#random.below(100);
    if (kind < 62 || !this.#more()) return this.#select(scope, shape, true);
    if (kind < 80) return `${this.#setOperation(scope, shape)}${this.#tail(scope, shape.columns)}`;
    if (kind < 88 && !shape.named) return `${this.#values(scope, shape)}${this.#tail(scope, shape.columns)}`;
    if (kind < 91 && shape.columns === undefined) return `TABLE ${this.#names.reference(scope).text}`;
    return `(${this.#nested({ ...scope, relations: [], outer: scope.outer }, shape)})${this.#tail(scope, shape.columns)}`;
  }

  #setOperation(scope: Scope, { columns = ['id'], named }: Shape): string {
    const branches: string[] = [];
    for (let count = this.#random.pick([2, 2, 2, 3]); count > 0; count--)
      branches.push(this.#branch(scope, { columns, named: named && branches.length === 0 }));
    return branches.reduce((left, right) => `${left} ${this.#random.pick(SET_OPERATORS)} ${right}`);
  }

  #branch(scope: Scope, shape: Shape): string {
    if (this.#more() && this.#random.chance(25)) return `(${this.#nested(scope, shape)})`;
    if (!shape.named && this.#random.chance(15)) return this.#values(scope, shape);
    return this.#select(scope, shape, false);
  }

  #values(scope: Scope, { columns = ['id'] }: Shape): string {
    const row = (): string => columns.map(() => this.#expressions.constant(scope)).join(', ');
    const rows = Array.from(
      { length: this.#random.pick([1, 2]) },
      () => `${this.#random.pick(['', '', 'ROW'])}(${row()})`,
    );
    return `VALUES ${rows.join(', ')}`;
  }

  /** @param last whether ORDER BY and LIMIT may follow */
  #select(scope: Scope, shape: Shape, last: boolean): string {
    const { text, relations } = this.#from.clause(scope);
    const within: Scope = { ...scope, relations };
    const head = `SELECT ${this.#random.chance(3) ? "/*+ joinOptions(join_strategy='hash') */ " : ''}`;
    const where = this.#random.chance(45) ? ` WHERE ${this.#expressions.condition(within)}` : '';
    if (this.#random.chance(25)) return head + this.#grouped(within, shape, { from: `${text}${where}`, last });
    const named = this.#random.chance(8) ? this.#names.fresh([]) : undefined;
    const window =
      named === undefined ? '' : ` WINDOW ${this.#names.written(named)} AS ${this.#expressions.window(within)}`;
    const distinct = this.#random.chance(8);
    const item = (): string =>
      this.#random.chance(12) ? this.#expressions.windowed(within, named) : this.#expressions.integer(within);
    const columns = shape.columns ?? this.#random.pick([undefined, ['id'], ['customers', 'a']]);
    const items = columns === undefined ? this.#star(relations) : this.#items(columns, shape.named, item);
    const qualify = this.#random.chance(3) ? ` QUALIFY ${this.#expressions.windowed(within, named)} > 1` : '';
    const tail = last ? this.#tail(distinct ? scope : within, columns) : '';
    return `${head}${distinct ? 'DISTINCT ' : ''}${items} FROM ${text}${where}${window}${qualify}${tail}`;
  }

  #star(relations: readonly Relation[]): string {
    return this.#random.chance(60) ? '*' : `${this.#names.written(this.#random.pick(relations).name)}.*`;
  }

  #items(columns: readonly string[], named: boolean, item: () => string): string {
    return columns
      .map(
        (column) =>
          `${item()}${named || this.#random.chance(30) ? `${this.#random.pick([' AS ', ' AS ', ' '])}${this.#names.written(column)}` : ''}`,
      )
      .join(', ');
  }

  #grouped(within: Scope, { columns = ['id'], named }: Shape, { from, last }: { from: string; last: boolean }): string {
    const keys = Array.from(
      { length: this.#random.below(3) },
      () => this.#names.column({ ...within, outer: [] }) ?? '1',
    );
    const key = (): string =>
      keys.length > 0 && this.#random.chance(60) ? this.#random.pick(keys) : this.#expressions.aggregate(within);
    const items = this.#items(columns, named, () =>
      this.#random.chance(15) ? this.#expressions.constant(within) : key(),
    );
    const form = this.#random.pick(['', '', '', '', 'ROLLUP', 'CUBE', 'GROUPING SETS']);
    const list = this.#more() && this.#random.chance(6) ? [...keys, this.#scalar(within)] : keys;
    const by =
      list.length === 0
        ? ''
        : ` GROUP BY ${form === '' ? list.join(', ') : `${form} (${list.map((one) => `(${one})`).join(', ')})`}`;
    const having = this.#random.chance(35)
      ? ` HAVING ${this.#expressions.aggregate(within)} > ${this.#expressions.constant(within)}`
      : '';
    const order =
      last && this.#random.chance(30) ? ` ORDER BY ${key()}, ${nonOrdinal(this.#expressions.constant(within))}` : '';
    return `${items} FROM ${from}${by}${having}${order}`;
  }

  /** ORDER BY and LIMIT. @param scope with the relations of FROM after one SELECT */
  #tail(scope: Scope, columns: readonly string[] | undefined): string {
    const items: string[] = [];
    for (let count = this.#random.pick([0, 0, 1, 1, 2]); count > 0; count--)
      items.push(this.#orderItem(scope, columns));
    const order = items.length === 0 ? '' : ` ORDER BY ${items.join(', ')}`;
    const limit = this.#random.chance(80)
      ? ''
      : this.#random.pick([' LIMIT 5', ' LIMIT 5 OFFSET 2', ' OFFSET 1 ROWS FETCH NEXT 3 ROWS ONLY', ' LIMIT 2, 5']);
    return order + limit;
  }

  #orderItem(scope: Scope, columns: readonly string[] | undefined): string {
    const direction = this.#random.pick(['', '', ' DESC', ' ASC NULLS LAST']);
    if (this.#more() && this.#random.chance(55)) return `${this.#scalar(scope)}${direction}`;
    if (scope.relations.length > 0 && this.#random.chance(60))
      return `${nonOrdinal(this.#expressions.integer(scope, 1))}${direction}`;
    return `${this.#random.below(columns?.length ?? 1) + 1}${direction}`;
  }
}

/** A number alone in ORDER BY is the position of a column. */
function nonOrdinal(expression: string): string {
  return /^\d+$/.test(expression) ? '1' : expression;
}
