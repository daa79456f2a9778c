import { foldedFunction } from './parser/calls.ts';
import { SqlRefusal } from './refusal.ts';
import type { RowFilter } from './row-filter.ts';
import { scriptOf, type Call, type DerivedTable, type NamedTable, type Node, type Part } from './tree.ts';
import type { Query, Script, Select, SelectItem, Sequence, TableReference } from './tree.ts';
import { keywordLeaf, Leaves, markLeaf, type Rewrite } from './walk.ts';

/** What may be read of a table. */
export interface RowConditions {
  /** All must hold; at least one. */
  readonly filters: readonly RowFilter[];
  /** In this order; undefined for all. */
  readonly columns: readonly string[] | undefined;
}

export interface ConditionsContext {
  /** @returns undefined for a table that may be read without conditions */
  readonly conditionsOf: (table: TableReference) => RowConditions | undefined;
  /** The engine that runs the text. Only this engine has queries in place of tables. */
  readonly multistage: boolean;
}

/**
 * Lets a text read only what the conditions of its tables allow. In the single-stage engine `WHERE where` becomes `WHERE (filter) AND (where)`;
 * elsewhere each reference to such a table becomes `(SELECT columns FROM table WHERE filter) AS "alias"`.
 * @returns what is printed in place of each node, or throws `SqlRefusal`; undefined if no table of the text has conditions
 * @throws {SqlRefusal} for a text that could tell something about other rows
 */
export function conditioned(script: Script, context: ConditionsContext): Rewrite | undefined {
  const table = firstConditioned(script, context);
  if (table === undefined) return undefined;
  const conditions = new Conditions(context, table);
  return (node) => conditions.rewritten(node);
}

/** @throws {SqlRefusal} for a leaf that reads other rows of a table with conditions */
function firstConditioned(script: Script, context: ConditionsContext): TableReference | undefined {
  let first: TableReference | undefined;
  let place: string | undefined;
  const leaves = new Leaves(script);
  for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next()) {
    if (leaf.kind === 'table' && context.conditionsOf(leaf.table) !== undefined) first ??= leaf.table;
    else if (leaf.kind === 'lookup' && context.conditionsOf(leaf.table) !== undefined)
      throw unsupported(leaf.table, '`LOOKUP`', 'join it');
    else if (leaf.kind === 'text') {
      const inner = firstConditioned(scriptOf(leaf), context);
      if (inner !== undefined)
        throw unsupported({ ...inner, at: leaf.at }, 'a query within a string', 'use `IN (SELECT …)`');
    } else if (leaf.kind === 'column') place ??= leaf.parts.find((part) => part.startsWith('$'));
  }
  if (first !== undefined && place !== undefined) throw unsupported(first, `\`${place}\``, 'leave it out');
  return first;
}

function unsupported({ parts, at }: TableReference, what: string, advice: string): SqlRefusal {
  const name = parts.join('.').slice(0, 100);
  return new SqlRefusal(`\`${name}\` may be read in part only, which is not possible with ${what}: ${advice}`, at);
}

class Conditions {
  readonly #context: ConditionsContext;
  /** For messages. */
  readonly #table: TableReference;
  /** References made here, whose filter is in the query around them. */
  readonly #filtered = new WeakSet<NamedTable>();

  constructor(context: ConditionsContext, table: TableReference) {
    this.#context = context;
    this.#table = table;
  }

  rewritten(node: Node): Node {
    switch (node.kind) {
      case 'statement':
        if (node.explain !== undefined) throw unsupported(this.#table, '`EXPLAIN`', 'run the query');
        return node;
      case 'describe':
        throw unsupported(this.#table, '`DESCRIBE`', 'read its schema');
      case 'call':
        return this.#call(node);
      case 'select':
        return this.#select(node);
      case 'named-table':
        return this.#reference(node);
      case 'table-term':
        return node.table.kind === 'table' ? this.#all(node.table.table) : node;
      default:
        return node;
    }
  }

  /** The single-stage engine takes a function named `as` for an alias, also in quotes. */
  #call(call: Call): Call {
    const name = call.name.kind === 'bare' ? call.name.text : (call.name.parts[0] ?? '');
    const folded = foldedFunction(name);
    if (folded === 'as' || folded === 'idset') throw unsupported(this.#table, `\`${name}\``, 'leave it out');
    return call;
  }

  #select(select: Select): Select {
    for (const { name, options } of select.hints?.hints ?? [])
      if (options?.some(({ value }) => value.toLowerCase() === 'lookup'))
        throw unsupported(this.#table, `the hint \`${name}\` for a lookup join`, 'leave it out');
    const { from } = select;
    if (this.#context.multistage || from?.joins.length !== 0 || from.first.kind !== 'named-table') return select;
    const conditions = this.#of(from.first);
    if (conditions === undefined || conditions.columns !== undefined) return select;
    for (const item of select.items) this.#requireOwnName(item, conditions);
    // A copy: the written reference must not pass without its filter if it is printed once more.
    const first = { ...from.first };
    this.#filtered.add(first);
    const where = and([...conditions.filters.map(({ condition }) => condition), select.where]);
    return { ...select, from: { ...from, first }, where };
  }

  /** Old versions of the single-stage engine put the expression of an alias in place of a column of its name, also in WHERE. */
  #requireOwnName({ expression, alias }: SelectItem, { filters }: RowConditions): void {
    if (alias === undefined) return;
    const name = alias.name.toLowerCase();
    if (!filters.some(({ columns }) => columns.some((column) => column.toLowerCase() === name))) return;
    if (expression.kind === 'column' && expression.parts.length === 1 && expression.parts[0] === alias.name) return;
    throw unsupported(this.#table, `the alias \`${alias.name}\``, 'the filter has a column of this name; use another');
  }

  /** @returns undefined also if the filter is in the query around the reference */
  #of(table: NamedTable): RowConditions | undefined {
    if (this.#filtered.has(table) || table.name.kind !== 'table') return undefined;
    return this.#context.conditionsOf(table.name.table);
  }

  #reference(table: NamedTable): NamedTable | DerivedTable {
    const conditions = this.#of(table);
    if (conditions === undefined || table.name.kind !== 'table') return table;
    if (table.systemTime !== undefined) throw unsupported(table.name.table, '`FOR SYSTEM_TIME`', 'leave it out');
    const name = table.name.table.parts.join('.');
    const alias = table.alias ?? { kind: 'alias', name: name.slice(name.lastIndexOf('.') + 1), columns: undefined };
    const content = queryOf(this.#readable({ ...table, alias: undefined }, conditions));
    return { kind: 'derived-table', isLateral: false, content, alias };
  }

  /** `TABLE t` */
  #all(table: TableReference): Node {
    const conditions = this.#context.conditionsOf(table);
    const name = { kind: 'table', table } as const;
    if (conditions === undefined) return { kind: 'table-term', table: name };
    const scope = { outer: undefined, sources: [] };
    const reference = { kind: 'named-table', name, hints: undefined, systemTime: undefined, alias: undefined, scope };
    return this.#readable(reference as NamedTable, conditions);
  }

  #readable(table: NamedTable, { filters, columns }: RowConditions): Select {
    this.#filtered.add(table);
    const scope = { outer: undefined, sources: [table] };
    const item = (parts: readonly string[]): SelectItem => ({
      kind: 'select-item',
      expression: { kind: 'column', parts, isAll: parts.length === 0, scope },
      alias: undefined,
    });
    return {
      kind: 'select',
      hints: undefined,
      quantifier: undefined,
      items: columns === undefined ? [item([])] : columns.map((column) => item([column])),
      from: { kind: 'from', first: table, joins: [] },
      where: and(filters.map(({ condition }) => condition)),
      groupBy: undefined,
      having: undefined,
      windows: undefined,
      qualify: undefined,
      scope,
    };
  }
}

function queryOf(first: Select): Query {
  const nothing = { with: undefined, operations: [], orderBy: undefined, limits: undefined, limit: undefined };
  return { kind: 'query', first, ...nothing };
}

/** `(a) AND (b)` */
function and(conditions: readonly (Part | undefined)[]): Sequence {
  const parts: Part[] = [];
  for (const condition of conditions) {
    if (condition === undefined) continue;
    if (parts.length > 0) parts.push(keywordLeaf('AND'));
    parts.push(markLeaf('('), condition, markLeaf(')'));
  }
  return { kind: 'sequence', parts };
}
