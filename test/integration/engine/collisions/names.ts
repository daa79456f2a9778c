import type { Random } from '../texts.ts';

/** Something in FROM, or a common table expression (CTE). */
export interface Relation {
  readonly name: string;
  /** Without quotes. All are integers. */
  readonly columns: readonly string[];
}

/** What a query can refer to. */
export interface Scope {
  /** The innermost first. */
  readonly ctes: readonly Relation[];
  /** Those of FROM. */
  readonly relations: readonly Relation[];
  /** Those of the queries around it. */
  readonly outer: readonly Relation[];
}

/** Nothing but tables. */
export const OUTERMOST: Scope = { ctes: [], relations: [], outer: [] };

/** The tables of the planner's catalog, in each of its databases. */
export const TABLES: readonly string[] = ['customers', 'orders', 'secret', 'types', 't', 'u'];
/** The columns of each table that are integers. Most have the name of a table. */
export const COLUMNS: readonly string[] = ['id', 'a', 'b', 'customers', 'orders', 'secret', 't'];
/** Names of CTEs and aliases that are no tables. */
const OTHERS: readonly string[] = ['c1', 'a', 'id', 'x y', 'größe', 'cte 1', 'default', 'Customers', 'ORDERS', 'T'];

/** Chooses and writes names. CTEs, aliases and columns mostly have the name of a table, and all their columns are columns of every table, so that a text plans whichever of them a name means. */
export class Names {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A name in one of its notations. */
  written(name: string): string {
    const bare = /^[a-z]\w*$/i.test(name) && name !== 'default';
    return bare && this.#random.chance(45) ? name : `"${name.replaceAll('"', '""')}"`;
  }

  list(names: readonly string[]): string {
    return `(${names.map((name) => this.written(name)).join(', ')})`;
  }

  /** A name for a CTE or an alias. @param list others of the same list */
  fresh(list: readonly string[]): string {
    const taken = new Set(list.map((name) => name.toLowerCase()));
    const free = [TABLES, OTHERS].map((names) => names.filter((name) => !taken.has(name.toLowerCase())));
    return this.#random.pick((this.#random.chance(85) ? free[0] : free[1]) as string[]);
  }

  /** Columns of a CTE or a derived table. */
  columns(): string[] {
    return ['id', ...COLUMNS.slice(1).filter(() => this.#random.chance(12))];
  }

  /** A table or a CTE for FROM, mostly one whose name is that of a CTE of the text. */
  reference(scope: Scope): { readonly text: string; readonly relation: Relation } {
    const name =
      scope.ctes.length > 0 && this.#random.chance(60) ? this.#random.pick(scope.ctes).name : this.#random.pick(TABLES);
    const columns = scope.ctes.find((cte) => cte.name === name)?.columns ?? COLUMNS;
    return { text: this.#spelled(name), relation: { name, columns } };
  }

  #spelled(name: string): string {
    if (this.#random.chance(2)) return this.written(this.#random.pick([name.toUpperCase(), capital(name)]));
    if (!this.#random.chance(4)) return this.written(name);
    const database = this.#random.pick(['"default"', 'sales', '"sales"', 'Sales']);
    return this.#random.chance(80) ? `${database}.${this.written(name)}` : `"${database.replaceAll('"', '')}.${name}"`;
  }

  /** A column of FROM, or of a query around it; undefined if there is none. */
  column({ relations, outer }: Scope): string | undefined {
    const around = outer.filter(({ name }) => relations.every((relation) => relation.name !== name));
    const correlated = around.length > 0 && (relations.length === 0 || this.#random.chance(20));
    const from = correlated ? around : relations;
    if (from.length === 0) return undefined;
    const { name, columns } = this.#random.pick(from);
    const column = this.#random.chance(40) ? 'id' : this.#random.pick(columns);
    const single = from.filter((relation) => relation.columns.includes(column)).length === 1;
    if (single && !correlated && this.#random.chance(35)) return this.written(column);
    return `${this.written(name)}.${this.written(column)}`;
  }
}

function capital(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
