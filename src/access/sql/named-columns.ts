import type { Mask } from '../conditions.ts';
import { SqlRefusal } from './refusal.ts';
import type { Column, NamedTable, Part, SelectItem, Sequence } from './tree.ts';
import { Leaves, markLeaf } from './walk.ts';

const MAX_SHOWN = 100;
/** Columns that a message lists. */
const MAX_LISTED = 20;

/** The columns of a query in the single-stage engine, whose only table has columns that may not be read as they are. */
export class NamedColumns {
  readonly #columns: ReadonlyMap<string, Mask | undefined>;
  /** Names in lower case, with all spellings. */
  readonly #spellings = new Map<string, string[]>();
  readonly #aliases: ReadonlySet<string>;
  /** The columns within the selected items, where the engine has no aliases: a name there is always one of the table. */
  readonly #selected = new WeakSet<Column>();
  readonly #table: NamedTable;
  /** What a name may begin with, in lower case. */
  readonly #prefixes: ReadonlySet<string>;

  constructor(table: NamedTable, items: readonly SelectItem[], columns: ReadonlyMap<string, Mask | undefined>) {
    this.#table = table;
    this.#columns = columns;
    for (const name of columns.keys()) {
      const key = name.toLowerCase();
      this.#spellings.set(key, [...(this.#spellings.get(key) ?? []), name]);
    }
    this.#aliases = new Set(items.flatMap(({ alias }) => (alias === undefined ? [] : [alias.name])));
    this.#prefixes = prefixesOf(table);
    for (const { expression } of items) {
      const leaves = new Leaves(expression);
      for (let leaf = leaves.next(); leaf !== undefined; leaf = leaves.next())
        if (leaf.kind === 'column') this.#selected.add(leaf);
    }
  }

  /**
   * What is read in place of a column: the column by its name in the schema, its mask, or an alias of the query.
   * @throws {SqlRefusal} for another name
   */
  read(column: Column): Part {
    const written = column.parts.join('.');
    if (column.isAll) throw this.#refusal(`${written}.*`);
    const name = this.#named(written);
    if (name !== undefined) return this.#shown(name, column);
    // The engine puts the expression of the alias in its place before it looks for columns.
    if (column.parts.length === 1 && this.#aliases.has(written) && !this.#selected.has(column)) return column;
    throw this.#refusal(written);
  }

  /** `*` becomes the columns that may be read. */
  expanded(items: readonly SelectItem[]): readonly SelectItem[] {
    return items.flatMap((item) => {
      const { expression, alias } = item;
      if (expression.kind !== 'column' || !expression.isAll || expression.parts.length > 0 || alias !== undefined)
        return [item];
      return [...this.#columns.keys()].map((name) => ({
        kind: 'select-item',
        expression: plain(name, expression),
        alias: undefined,
      }));
    });
  }

  /** The names of the columns that items select by masks: the engine would name them after the expressions. Keys are positions from 0. */
  maskedNames(items: readonly SelectItem[]): ReadonlyMap<number, string> {
    const names = new Map<number, string>();
    for (const [index, { expression, alias }] of items.entries()) {
      if (alias !== undefined || expression.kind !== 'column' || expression.isAll) continue;
      const name = this.#named(expression.parts.join('.'));
      if (name !== undefined && this.#columns.get(name) !== undefined) names.set(index, name);
    }
    return names;
  }

  #named(written: string): string | undefined {
    const found = new Set<string>();
    const names = [written];
    for (let dot = written.indexOf('.'); dot >= 0; dot = written.indexOf('.', dot + 1))
      if (this.#prefixes.has(written.slice(0, dot).toLowerCase())) names.push(written.slice(dot + 1));
    for (const name of names) {
      if (this.#columns.has(name)) found.add(name);
      else for (const spelling of this.#spellings.get(name.toLowerCase()) ?? []) found.add(spelling);
    }
    const [only, ...others] = found;
    return others.length === 0 ? only : undefined;
  }

  #shown(name: string, column: Column): Part {
    const mask = this.#columns.get(name);
    if (mask === undefined) return plain(name, column);
    const sequence: Sequence = { kind: 'sequence', parts: [markLeaf('('), mask.expression, markLeaf(')')] };
    return sequence;
  }

  #refusal(written: string): SqlRefusal {
    const listed = [...this.#columns.keys()].slice(0, MAX_LISTED).map((name) => `\`${name.slice(0, MAX_SHOWN)}\``);
    const more = this.#columns.size > MAX_LISTED ? `, and ${this.#columns.size - MAX_LISTED} more` : '';
    const { table } = this.#table.name;
    const at = 'at' in table ? table.at : 0;
    const name = 'parts' in table ? table.parts.join('.') : table.name;
    return new SqlRefusal(
      `\`${name.slice(0, MAX_SHOWN)}\` may be read in part only, and \`${written.slice(0, MAX_SHOWN)}\` is not one of the columns that may be read: ${listed.join(', ')}${more}`,
      at,
    );
  }
}

function plain(name: string, { scope }: Column): Column {
  return { kind: 'column', parts: [name], isAll: false, scope };
}

const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/i;

/** What may be before a column in the single-stage engine, in lower case: table, database and table, with and without type, and the alias. */
export function prefixesOf({ name, alias }: NamedTable): ReadonlySet<string> {
  const written = name.kind === 'table' ? name.table.parts.join('.') : name.table.name;
  const names = [written, written.slice(written.lastIndexOf('.') + 1)];
  const all = [...names, ...names.map((one) => one.replace(TYPE_SUFFIX, ''))];
  return new Set([...all, ...(alias === undefined ? [] : [alias.name])].map((one) => one.toLowerCase()));
}
