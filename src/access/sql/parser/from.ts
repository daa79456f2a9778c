import type { Keyword } from '../keywords.ts';
import type {
  Alias,
  DerivedTable,
  From,
  FromItem,
  Join,
  NamedTable,
  Query,
  Sequence,
  TableName,
  Unnest,
} from '../tree.ts';
import { hints } from './hints.ts';
import { alias, clauseAhead, columns, queryAhead, tableName, tailAhead } from './parts.ts';
import type { Reader } from './reader.ts';

/** Tables, joined or separated by commas. */
export function fromClause(at: Reader): From {
  return moreTables(at, fromItem(at));
}

function moreTables(at: Reader, first: FromItem): From {
  const joins: Join[] = [];
  for (;;) {
    const words = at.acceptMark(',') ? [] : joinWords(at);
    if (words === undefined) return { kind: 'from', first, joins };
    joins.push(joined(at, words));
  }
}

/** The table of a join and its condition. */
function joined(at: Reader, words: readonly Keyword[]): Join {
  const item = fromItem(at);
  const join = { kind: 'join', words, item, match: undefined, on: undefined, using: undefined } as const;
  if (words.length === 0) return join;
  const match = matchAhead(at) && at.accept('MATCH_CONDITION') ? at.expressionPart() : undefined;
  if (at.accept('ON')) return { ...join, match, on: at.expressionPart() };
  return { ...join, match, using: at.accept('USING') ? columns(at) : undefined };
}

/** Whether `MATCH_CONDITION` with a condition follows; otherwise the word is an alias, as in versions without this clause. */
function matchAhead(at: Reader): boolean {
  if (at.key() !== 'MATCH_CONDITION') return false;
  const { kind, key } = at.peek(1);
  return (
    kind === 'quoted' ||
    kind === 'number' ||
    key === '(' ||
    (kind === 'word' && key !== 'ON' && key !== 'USING' && key !== 'JOIN')
  );
}

/** Joins whose first two words are read together: each first word alone is a name or an error. */
const JOINS_OF_TWO_WORDS = [
  ['CROSS', 'APPLY'],
  ['OUTER', 'APPLY'],
  ['ASOF', 'JOIN'],
] as const;

/** The keywords of a join. */
function joinWords(at: Reader): readonly Keyword[] | undefined {
  if (at.accept('JOIN')) return ['JOIN'];
  const two = JOINS_OF_TWO_WORDS.find((words) => at.accept(...words));
  if (two !== undefined) return two;
  const natural = at.acceptOne(['NATURAL']);
  const kind = at.acceptOne(['INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS']);
  if (kind === undefined && natural === undefined) return undefined;
  const side = at.acceptOne(kind === 'LEFT' ? ['OUTER', 'SEMI', 'ANTI', 'ASOF'] : ['OUTER']);
  at.require('JOIN');
  return [natural, kind, side, 'JOIN' as const].filter((word) => word !== undefined);
}

/** Whether the next word belongs to a join or a clause and is therefore not an alias. */
function noAlias(at: Reader): boolean {
  const key = at.key();
  if (key === 'ASOF') return at.key(1) === 'JOIN';
  if (key === 'FOR') return at.key(1) === 'SYSTEM_TIME';
  return matchAhead(at) || clauseAhead(at);
}

function fromItem(at: Reader): FromItem {
  const item = readItem(at);
  at.scope?.sources.push(item);
  return item;
}

function readItem(at: Reader): FromItem {
  if (at.accept('LATERAL')) return lateral(at);
  if (at.key() === 'UNNEST') return unnest(at, false);
  if (at.key() === '(') return derivedTable(at, false);
  return namedTable(at);
}

function namedTable(at: Reader): NamedTable {
  const scope = requireScope(at);
  const name = tableName(at);
  const found = hints(at);
  const systemTime = at.accept('FOR', 'SYSTEM_TIME', 'AS', 'OF') ? at.expressionPart() : undefined;
  const pivot = pivotClause(at);
  const written = tableAlias(at) ?? writtenName(name);
  return { kind: 'named-table', name, hints: found, systemTime, pivot, alias: written, scope };
}

/** The printed text has another name for a common table expression, and the rest of the query refers to the written one. */
function writtenName({ kind, table }: TableName): Alias | undefined {
  return kind === 'table' ? undefined : { kind: 'alias', name: table.name, columns: undefined };
}

/** @throws {Error} on a parser defect: FROM belongs to a SELECT */
function requireScope({ scope }: Reader): NamedTable['scope'] {
  if (scope === undefined) throw new Error('a table in FROM outside of a SELECT');
  return scope;
}

function tableAlias(at: Reader): Alias | undefined {
  const found = alias(at, () => !noAlias(at));
  return found !== undefined && at.key() === '(' ? { ...found, columns: columns(at) } : found;
}

function lateral(at: Reader): FromItem {
  if (at.key() === 'UNNEST') return unnest(at, true);
  if (at.key() === '(') return derivedTable(at, true);
  throw at.unexpected('a query in parentheses or `UNNEST`');
}

function unnest(at: Reader, isLateral: boolean): Unnest {
  at.require('UNNEST');
  const content = at.inParentheses(() =>
    at.sequence(() => {
      if (queryAhead(at)) at.query();
      else at.list(() => at.expression());
    }),
  );
  const hasOrdinality = at.accept('WITH', 'ORDINALITY');
  return { kind: 'unnest', isLateral, content, hasOrdinality, alias: tableAlias(at) };
}

function derivedTable(at: Reader, isLateral: boolean): DerivedTable {
  const content = tablesInParentheses(at);
  const pivot = pivotClause(at);
  return { kind: 'derived-table', isLateral, content, pivot, alias: tableAlias(at) };
}

/** `PIVOT (sum(a) AS s, … FOR column IN (value AS name, …))`; without a call in its brackets it is an alias with columns. */
function pivotClause(at: Reader): Sequence | undefined {
  if (at.key() !== 'PIVOT' || at.key(1) !== '(' || at.key(3) !== '(') return undefined;
  const name = (): void => at.emit({ kind: 'name', parts: [at.name('the name of a column')] });
  return at.sequence(() => {
    at.expect('PIVOT');
    at.parentheses(() => {
      at.list(() => pivotItem(at));
      at.expect('FOR');
      if (at.key() === '(') at.parentheses(() => at.list(name));
      else name();
      at.expect('IN');
      at.parentheses(() => at.list(() => pivotItem(at)));
    });
  });
}

function pivotItem(at: Reader): void {
  at.expression();
  const found = alias(at, () => at.key() !== 'FOR');
  if (found !== undefined) at.emit(found);
}

/** `( … )` in place of a table: a query, or tables with joins. */
function tablesInParentheses(at: Reader): Query | From {
  return at.inParentheses(() => {
    if (queryAhead(at)) return at.grammar.query(at);
    if (at.key() !== '(') return fromClause(at);
    const content = tablesInParentheses(at);
    if (content.kind === 'query' && (tailAhead(at) || at.key() === ')')) {
      return at.grammar.queryTail(at, { kind: 'query-in-parentheses', query: content });
    }
    const pivot = pivotClause(at);
    const first: DerivedTable = { kind: 'derived-table', isLateral: false, content, pivot, alias: tableAlias(at) };
    at.scope?.sources.push(first);
    return moreTables(at, first);
  });
}
