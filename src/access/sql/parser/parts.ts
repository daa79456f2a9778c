import type { Alias, TableName } from '../tree.ts';
import type { Reader } from './reader.ts';

/** Whether a query begins here. A query may also begin with an opening parenthesis, which the caller must check. */
export function queryAhead(at: Reader): boolean {
  const key = at.key();
  return key === 'SELECT' || key === 'WITH' || key === 'VALUES' || key === 'TABLE';
}

export const SET_OPERATORS = ['UNION', 'INTERSECT', 'EXCEPT', 'MINUS'] as const;

/** Whether a query continues here with set operators or limits. */
export function tailAhead(at: Reader): boolean {
  const key = at.key();
  return SET_OPERATORS.some((word) => word === key) || key === 'ORDER' || LIMITS.has(key);
}

/** `(a, b)` */
export function columns(at: Reader): readonly string[] {
  return at.inParentheses(() => at.items(() => at.name('the name of a column')));
}

/** `x DESC NULLS LAST` */
export function sortItem(at: Reader): void {
  at.expression();
  at.takeOne(['ASC', 'DESC']);
  if (at.key() === 'NULLS' && !at.take('NULLS', 'FIRST')) at.expect('NULLS', 'LAST');
}

export const LIMITS: ReadonlySet<string> = new Set(['LIMIT', 'OFFSET', 'FETCH']);

/** `[AS] alias`: a name, or a string as in some versions. @param free whether a name without `AS` may be an alias here */
export function alias(at: Reader, free: () => boolean): Alias | undefined {
  if (at.key() === 'AS') at.skip();
  else if (at.peek().kind !== 'string' && (!at.atName() || !free())) return undefined;
  const { kind, text, prefix } = at.peek();
  if (kind === 'string' && prefix === '' && text !== '' && !/[\r\n\t]/.test(text)) at.skip();
  else at.name('an alias');
  return { kind: 'alias', name: text, columns: undefined };
}

/** Whether a non-reserved word begins a clause here. */
export function clauseAhead(at: Reader): boolean {
  if (at.peek().kind !== 'word') return false;
  if (at.key() === 'OPTION') return at.key(1) === '(' && at.key(3) === '=';
  return qualifyAhead(at);
}

/** Whether `QUALIFY condition` follows; without a condition it is an alias, as in versions without this clause. */
export function qualifyAhead(at: Reader): boolean {
  if (at.key() !== 'QUALIFY') return false;
  const { kind, key } = at.peek(1);
  if (kind === 'end') return false;
  return kind !== 'word' ? key !== ',' && key !== ')' && key !== ';' : !AFTER_ALIAS.has(key);
}

const AFTER_ALIAS: ReadonlySet<string> = new Set([
  ...([
    'FROM',
    'WHERE',
    'GROUP',
    'HAVING',
    'WINDOW',
    'QUALIFY',
    'ORDER',
    'LIMIT',
    'OFFSET',
    'FETCH',
    'JOIN',
    'INNER',
    'LEFT',
    'RIGHT',
  ] as const),
  ...(['FULL', 'CROSS', 'NATURAL', 'OUTER', 'ON', 'USING', 'OPTION', ...SET_OPERATORS] as const),
]);

/** `table`, `database.table`: a table or a visible common table expression. */
export function tableName(at: Reader): TableName {
  const { at: offset } = at.peek();
  const parts = [at.name('the name of a table')];
  while (at.key() === '.') {
    at.skip();
    parts.push(at.name('the rest of the name of a table'));
  }
  if (at.key() === '(') throw at.unexpected('an alias, a join or a clause (functions as tables are not supported)');
  const common = parts.length === 1 ? at.commonTables.get(parts[0] as string)?.at(-1) : undefined;
  if (common !== undefined) return { kind: 'common-table', table: common };
  countTable(at, offset);
  return { kind: 'table', table: { parts, at: offset } };
}

/** Counts a table reference against the limit. */
export function countTable(at: Reader, offset: number): void {
  const { tables } = at.budget.limits;
  if (++at.budget.tables > tables) throw at.refusal(`the text names more than ${tables} tables`, offset);
}
