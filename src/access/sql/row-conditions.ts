import { NamedColumns, prefixesOf } from './named-columns.ts';
import { foldedFunction } from './parser/calls.ts';
import { partOfTable } from './part-of-table.ts';
import type { ReadableTable } from './readable-table.ts';
import { isPlainFunction } from './row-functions.ts';
import { type ConditionsContext, type Found, MAX_SHOWN, requireOptions, survey, unsupported } from './row-survey.ts';
import type {
  Call,
  Column,
  DerivedTable,
  DescribeStatement,
  NamedTable,
  Node,
  Part,
  Query,
  QueryStatement,
  Scope,
  Script,
  Select,
  Statement,
  SelectItem,
  Sequence,
  TableReference,
} from './tree.ts';
import { keywordLeaf, Leaves, markLeaf, type Rewrite } from './walk.ts';

/**
 * Lets a text read only what the conditions of its tables allow. In the single-stage engine `WHERE where` becomes `WHERE (filter) AND (where)`, and
 * each column is compared with those that may be read;
 * elsewhere each reference to such a table becomes `(SELECT columns FROM table WHERE filter) AS "alias"`.
 * @returns undefined if no table of the text has conditions
 * @throws {SqlRefusal} for a text that could tell something about other rows or columns
 */
export function conditioned(script: Script, context: ConditionsContext): ConditionedText | undefined {
  const found = survey(script, context);
  if (found === undefined) return undefined;
  requireOptions(found.table, context);
  const conditions = new Conditions(context, found);
  return { rewrite: (part) => conditions.rewritten(part), columnNames: () => conditions.columnNames };
}

export interface ConditionedText {
  /** What is printed in place of each node, or throws `SqlRefusal`. */
  readonly rewrite: Rewrite;
  /** Names of columns of the result that the engine names otherwise, by position from 0; known once the text is printed. */
  readonly columnNames: () => ReadonlyMap<number, string>;
}

interface Unqualified {
  /** What may be before a column, in lower case. */
  readonly prefixes: ReadonlySet<string>;
  /** In lower case. Another column may have the name of an alias. */
  readonly names: ReadonlySet<string>;
}

/** Leaves and columns of all conditions that are printed: a text may name a table a thousand times. */
const MAX_ADDED = 50_000;

class Conditions {
  readonly #context: ConditionsContext;
  readonly #found: Found;
  /** References made here, whose filter is in the query around them. */
  readonly #filtered = new WeakSet<NamedTable>();
  /** Nodes and columns of filters and masks, which are printed as they are. */
  readonly #own = new WeakSet<Node | Column>();
  /** Of the only table of a single-stage query. */
  #named: NamedColumns | undefined;
  /** The columns of a SELECT that are printed without their table. */
  readonly #unqualified = new Map<Scope, Unqualified>();
  #added = 0;
  columnNames: ReadonlyMap<number, string> = new Map();

  constructor(context: ConditionsContext, found: Found) {
    this.#context = context;
    this.#found = found;
  }

  rewritten(node: Node | Column): Part {
    if (this.#own.has(node)) return node;
    switch (node.kind) {
      case 'column':
        return this.#named === undefined ? this.#withoutTable(node) : this.#adopted(this.#named.read(node));
      case 'statement':
      case 'describe':
        return this.#statement(node);
      case 'query':
        return this.#query(node);
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

  #statement(node: QueryStatement | DescribeStatement): Statement {
    if (node.kind === 'describe') throw unsupported(this.#found.table, '`DESCRIBE`', 'read its schema');
    if (node.explain !== undefined) throw unsupported(this.#found.table, '`EXPLAIN`', 'run the query');
    return node;
  }

  /** The single-stage engine takes a function named `as` for an alias, also in quotes. */
  #call(call: Call): Call {
    const name = call.name.kind === 'bare' ? call.name.text : (call.name.parts[0] ?? '');
    const folded = foldedFunction(name);
    if (REFUSED_FUNCTIONS.has(folded) || (this.#found.hasColumnRules && !isPlainFunction(folded)))
      throw unsupported(this.#found.table, `the function \`${name.slice(0, MAX_SHOWN)}\``, 'leave it out');
    // Pinot 0.11 then counts some of the rows that the NOT of a filter excludes.
    if (this.#found.negates && call.tail?.parts.some((part) => part.kind === 'keyword' && part.text === 'FILTER'))
      throw unsupported(this.#found.table, '`FILTER`, because a filter has `NOT`', 'use `CASE`');
    return call;
  }

  /** In the single-stage engine the columns of a table with column rules are compared by name, so the query has one table and nothing around it. */
  #query(query: Query): Query {
    if (!this.#found.hasColumnRules || this.#context.multistage) return query;
    const { with: common, first, operations } = query;
    if (common === undefined && operations.length === 0 && first.kind === 'select' && this.#found.selects === 1) {
      const { from } = first;
      if (from?.joins.length === 0 && from.first.kind === 'named-table' && from.first.name.kind === 'table') {
        const conditions = this.#of(from.first);
        if (conditions?.columns !== undefined)
          this.#named = new NamedColumns(from.first, first.items, conditions.columns);
        return query;
      }
    }
    const advice = 'write one SELECT from this table, or set the option `useMultistageEngine` to true';
    throw unsupported(this.#found.table, 'a query within a query in the single-stage engine', advice);
  }

  #select(select: Select): Select {
    for (const { name, options } of select.hints?.hints ?? [])
      if (options?.some(({ value }) => value.toLowerCase() === 'lookup'))
        throw unsupported(this.#found.table, `the hint \`${name}\` for a lookup join`, 'leave it out');
    const { from } = select;
    if (this.#context.multistage || from?.joins.length !== 0 || from.first.kind !== 'named-table') return select;
    const conditions = this.#of(from.first);
    if (conditions === undefined) return select;
    requireNoSystemTime(from.first);
    this.#unqualified.set(select.scope, { prefixes: prefixesOf(from.first), names: conditions.reserved });
    for (const item of select.items) this.#requireOwnName(item, conditions);
    // A copy: the written reference must not pass without its filter if it is printed once more.
    const first = { ...from.first };
    this.#filtered.add(first);
    // A mask has the name of its column without an alias, which would replace the column within the mask.
    const named = select.items.map((item) =>
      item.alias !== undefined && conditions.columns?.get(item.alias.name) !== undefined ? withoutAlias(item) : item,
    );
    const items = this.#named === undefined ? select.items : this.#named.expanded(named);
    if (this.#named !== undefined) this.columnNames = this.#named.maskedNames(items);
    const where = and([...this.#filters(conditions), select.where]);
    return { ...select, items, from: { ...from, first }, where };
  }

  /** Old versions of the single-stage engine put the expression of an alias in place of a column of its name, also in WHERE. */
  #requireOwnName({ expression, alias }: SelectItem, { reserved, columns }: ReadableTable): void {
    if (alias === undefined || !reserved.has(alias.name.toLowerCase())) return;
    const isItself = expression.kind === 'column' && this.#withoutTable(expression).parts.join('.') === alias.name;
    if (isItself && (columns === undefined || columns.has(alias.name))) return;
    const advice = 'the filter, or a column that may not be read as it is, has this name; use another';
    throw unsupported(this.#found.table, `the alias \`${alias.name.slice(0, MAX_SHOWN)}\``, advice);
  }

  /** `column` for `table.column`, so that an alias of this name stands for nothing but the column. */
  #withoutTable(column: Column): Column {
    const found = column.scope && this.#unqualified.get(column.scope);
    const name = column.parts.at(-1);
    if (found === undefined || column.isAll || name === undefined || !found.names.has(name.toLowerCase()))
      return column;
    const isOfTable = found.prefixes.has(column.parts.slice(0, -1).join('.').toLowerCase());
    return isOfTable ? { ...column, parts: [name] } : column;
  }

  /** @returns undefined also if the filter is in the query around the reference */
  #of(table: NamedTable): ReadableTable | undefined {
    if (this.#filtered.has(table) || table.name.kind !== 'table') return undefined;
    return this.#context.conditionsOf(table.name.table, 'table');
  }

  #reference(table: NamedTable): NamedTable | DerivedTable {
    const conditions = this.#of(table);
    if (conditions === undefined || table.name.kind !== 'table') return table;
    requireNoSystemTime(table);
    const name = table.name.table.parts.join('.');
    const written = table.alias ?? { kind: 'alias', name: name.slice(name.lastIndexOf('.') + 1), columns: undefined };
    // An engine that has no other may run this in its single stage, where the filter would read the mask by its name.
    const alias = filtersMasked(conditions)
      ? { ...written, columns: written.columns ?? [...(conditions.columns?.keys() ?? [])] }
      : written;
    const content = queryOf(this.#readable({ ...table, alias: undefined }, conditions));
    return { kind: 'derived-table', isLateral: false, content, alias };
  }

  /** `TABLE t` */
  #all(table: TableReference): Node {
    const name = { kind: 'table', table } as const;
    if (this.#context.conditionsOf(table, 'table') === undefined) return { kind: 'table-term', table: name };
    const scope = { outer: undefined, sources: [] };
    const reference = { kind: 'named-table', name, hints: undefined, systemTime: undefined, alias: undefined, scope };
    return this.#select(partOfTable(reference as NamedTable, undefined, undefined));
  }

  #readable(table: NamedTable, conditions: ReadableTable): Select {
    this.#filtered.add(table);
    this.#count(conditions.columns?.size ?? 1);
    for (const mask of conditions.columns?.values() ?? []) if (mask !== undefined) this.#adopted(mask.expression);
    const part = partOfTable(table, conditions.columns, and(this.#filters(conditions)));
    return filtersMasked(conditions) ? { ...part, items: part.items.map(withoutAlias) } : part;
  }

  /** Conditions that all must hold; `(a) OR (b)` for several alternatives. */
  #filters({ rows = [] }: ReadableTable): readonly Part[] {
    const alternatives = rows.map((filters) => filters.map(({ condition }) => this.#adopted(condition)));
    if (alternatives.length <= 1) return alternatives[0] ?? [];
    const each = alternatives.map((filters) => (filters.length === 1 ? (filters[0] as Part) : joined('AND', filters)));
    return [joined('OR', each)];
  }

  /** A part of the conditions, whose columns are read as they are. */
  #adopted(part: Part): Part {
    const leaves = new Leaves(part, (own) => {
      this.#own.add(own);
      return own;
    });
    while (leaves.next() !== undefined) this.#count(1);
    return part;
  }

  #count(added: number): void {
    this.#added += added;
    if (this.#added > MAX_ADDED)
      throw unsupported(this.#found.table, 'so many references to it', 'name tables with conditions fewer times');
  }
}

/** Whether a filter reads a column that has a mask. */
function filtersMasked({ rows = [], columns }: ReadableTable): boolean {
  return rows.flat().some((filter) => filter.columns.some((name) => columns?.get(name) !== undefined));
}

function withoutAlias(item: SelectItem): SelectItem {
  return { ...item, alias: undefined };
}

function requireNoSystemTime({ name, systemTime }: NamedTable): void {
  if (systemTime !== undefined && name.kind === 'table')
    throw unsupported(name.table, '`FOR SYSTEM_TIME`', 'leave it out');
}

/** `ID_SET` is an aggregate of all rows; the nearest rows are searched before those of the filter are left. */
const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set(['as', 'idset', 'vectorsimilarity']);

function queryOf(first: Select): Query {
  const nothing = { with: undefined, operations: [], orderBy: undefined, limits: undefined, limit: undefined };
  return { kind: 'query', first, ...nothing };
}

/** `(a) AND (b)`; undefined for none */
function and(conditions: readonly (Part | undefined)[]): Sequence | undefined {
  const all = conditions.filter((condition) => condition !== undefined);
  return all.length === 0 ? undefined : joined('AND', all);
}

function joined(word: 'AND' | 'OR', conditions: readonly Part[]): Sequence {
  const parts: Part[] = [];
  for (const condition of conditions) {
    if (parts.length > 0) parts.push(keywordLeaf(word));
    parts.push(markLeaf('('), condition, markLeaf(')'));
  }
  return { kind: 'sequence', parts };
}
