import type { Mask } from '../conditions.ts';
import type { NamedTable, Part, Select, SelectItem } from './tree.ts';

/**
 * `SELECT columns FROM table WHERE filter`
 * @param columns with their masks; undefined for all as they are
 */
export function partOfTable(
  table: NamedTable,
  columns: ReadonlyMap<string, Mask | undefined> | undefined,
  where: Part | undefined,
): Select {
  const scope = { outer: undefined, sources: [table] };
  const item = (parts: readonly string[]): SelectItem => ({
    kind: 'select-item',
    expression: { kind: 'column', parts, isAll: parts.length === 0, scope },
    alias: undefined,
  });
  const readable = [...(columns ?? [])].map(([name, mask]): SelectItem => {
    if (mask === undefined) return item([name]);
    return { kind: 'select-item', expression: mask.expression, alias: { kind: 'alias', name, columns: undefined } };
  });
  return {
    kind: 'select',
    hints: undefined,
    quantifier: undefined,
    items: columns === undefined ? [item([])] : readable,
    from: { kind: 'from', first: table, joins: [] },
    where,
    groupBy: undefined,
    having: undefined,
    windows: undefined,
    qualify: undefined,
    scope,
  };
}
