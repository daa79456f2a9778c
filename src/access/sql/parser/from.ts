import { hints } from './hints.ts';
import { alias, clauseAhead, columns, queryAhead, tableName, tailAhead } from './parts.ts';
import type { Reader } from './reader.ts';

/** Tables, joined or separated by commas. */
export function fromClause(at: Reader): void {
  tableReference(at);
  moreTables(at);
}

function moreTables(at: Reader): void {
  for (;;) {
    if (at.takeMark(',')) tableReference(at);
    else if (join(at)) {
      tableReference(at);
      joinCondition(at);
    } else return;
  }
}

function joinCondition(at: Reader): void {
  if (matchAhead(at)) {
    at.take('MATCH_CONDITION');
    at.expression();
  }
  if (at.take('ON')) at.expression();
  else if (at.take('USING')) columns(at);
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

/** Reads the keywords of a join. */
function join(at: Reader): boolean {
  if (at.take('JOIN')) return true;
  if (at.take('CROSS', 'APPLY') || at.take('OUTER', 'APPLY')) return true;
  if (at.key() === 'ASOF' && at.take('ASOF', 'JOIN')) return true;
  const natural = at.take('NATURAL');
  const kind = at.takeOne(['INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS']);
  if (kind === undefined && !natural) return false;
  at.takeOne(kind === 'LEFT' ? ['OUTER', 'SEMI', 'ANTI', 'ASOF'] : ['OUTER']);
  at.expect('JOIN');
  return true;
}

/** Whether the next word belongs to a join or a clause and is therefore not an alias. */
function noAlias(at: Reader): boolean {
  const key = at.key();
  if (key === 'ASOF') return at.key(1) === 'JOIN';
  if (key === 'FOR') return at.key(1) === 'SYSTEM_TIME';
  return matchAhead(at) || clauseAhead(at);
}

function tableReference(at: Reader): void {
  if (at.key() === 'LATERAL') lateral(at);
  else if (at.key() === 'UNNEST') unnest(at);
  else if (at.key() === '(') tablesInParentheses(at);
  else return namedTable(at);
  tableAlias(at);
}

function namedTable(at: Reader): void {
  const common = tableName(at);
  hints(at);
  if (at.take('FOR', 'SYSTEM_TIME', 'AS', 'OF')) at.expression();
  if (tableAlias(at) || common === undefined) return;
  // The printed text has another name for it, and the rest of the query refers to the written one.
  at.keyword('AS');
  at.emit({ kind: 'name', parts: [common.name] });
}

/** @returns whether there is an alias */
function tableAlias(at: Reader): boolean {
  const found = alias(at, () => !noAlias(at));
  if (found && at.key() === '(') columns(at);
  return found;
}

function lateral(at: Reader): void {
  at.take('LATERAL');
  if (at.key() === 'UNNEST') unnest(at);
  else if (at.key() === '(') tablesInParentheses(at);
  else throw at.unexpected('a query in parentheses or `UNNEST`');
}

function unnest(at: Reader): void {
  at.take('UNNEST');
  at.parentheses(() => {
    if (queryAhead(at)) at.query();
    else at.list(() => at.expression());
  });
  at.take('WITH', 'ORDINALITY');
}

/** `( … )` in place of a table: a query, or tables with joins. @returns whether it is a query */
function tablesInParentheses(at: Reader): boolean {
  return at.parentheses(() => {
    if (queryAhead(at)) {
      at.query();
      return true;
    }
    if (at.key() !== '(') {
      fromClause(at);
      return false;
    }
    const query = tablesInParentheses(at);
    if (query && tailAhead(at)) {
      at.grammar.queryTail(at);
      return true;
    }
    if (query && at.key() === ')') return true;
    tableAlias(at);
    moreTables(at);
    return false;
  });
}
