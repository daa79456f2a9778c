import { fromClause } from './from.ts';
import { hints } from './hints.ts';
import { alias, clauseAhead, columns, LIMITS, qualifyAhead, SET_OPERATORS, sortItem, tableName } from './parts.ts';
import type { CommonTable } from '../tree.ts';
import type { Reader } from './reader.ts';
import { windowSpecification } from './window.ts';

type Limit = number | undefined;

/** Reads a query. @returns its maximum number of rows; undefined if the text does not limit it */
export function readQuery(at: Reader): Limit {
  return at.nested(() => {
    if (!at.take('WITH')) return body(at);
    const tables = commonTables(at);
    const limit = body(at);
    for (const table of tables) hide(at, table);
    return limit;
  });
}

function body(at: Reader): Limit {
  return queryTail(at, term(at));
}

/** `name [(columns)] AS (query), …`: each is visible to the following ones, and with `RECURSIVE` to itself. */
function commonTables(at: Reader): CommonTable[] {
  const recursive = at.take('RECURSIVE');
  const tables: CommonTable[] = [];
  at.list(() => {
    const table = commonTable(at);
    if (at.key() === '(') columns(at);
    at.expect('AS');
    if (recursive) show(at, table);
    at.parentheses(() => readQuery(at));
    if (!recursive) show(at, table);
    tables.push(table);
  });
  return tables;
}

/** The name in a definition. */
function commonTable(at: Reader): CommonTable {
  const { limits, commonTables } = at.budget;
  if (commonTables.length >= limits.commonTables) {
    throw at.refusal(`the query has more than ${limits.commonTables} common table expressions`);
  }
  const name = at.name('the name of a common table expression');
  const table = { number: commonTables.length + 1, name };
  commonTables.push(table);
  at.emit({ kind: 'common-table', table });
  return table;
}

/** Of two with one name, the engine reads the last one. */
function show(at: Reader, table: CommonTable): void {
  const visible = at.commonTables.get(table.name);
  if (visible === undefined) at.commonTables.set(table.name, [table]);
  else visible.push(table);
}

function hide(at: Reader, { name }: CommonTable): void {
  const visible = at.commonTables.get(name) ?? [];
  visible.pop();
  if (visible.length === 0) at.commonTables.delete(name);
}

function term(at: Reader): Limit {
  if (at.take('SELECT')) select(at);
  else if (at.take('VALUES')) at.list(() => at.expression());
  else if (at.take('TABLE')) tableName(at);
  else if (at.key() === '(') return at.parentheses(() => readQuery(at));
  else throw at.unexpected('a query');
  return undefined;
}

/** Set operators, order and limits. @param limit of the preceding query */
export function queryTail(at: Reader, limit?: Limit): Limit {
  let inner = limit;
  while (setOperator(at)) {
    inner = undefined;
    term(at);
  }
  if (at.take('ORDER', 'BY')) at.list(() => sortItem(at));
  return limits(at) ?? inner;
}

function setOperator(at: Reader): boolean {
  if (at.takeOne(SET_OPERATORS) === undefined) return false;
  at.takeOne(['ALL', 'DISTINCT']);
  return true;
}

/** `LIMIT count`, `LIMIT offset, count`, `OFFSET offset`, `FETCH FIRST count ROWS ONLY` */
function limits(at: Reader): Limit {
  let limit: Limit;
  let counts = 0;
  let offsets = 0;
  while (LIMITS.has(at.key())) {
    if (at.key() === 'OFFSET' ? offsets++ > 0 : counts++ > 0) throw at.unexpected('the end of the query');
    if (at.take('OFFSET')) {
      rows(at);
      at.takeOne(['ROW', 'ROWS']);
    } else limit = at.take('LIMIT') ? limitRows(at) : fetchRows(at);
  }
  return limit;
}

function limitRows(at: Reader): Limit {
  if (at.take('ALL')) return undefined;
  const first = rows(at);
  return at.takeMark(',') ? rows(at) : first;
}

function fetchRows(at: Reader): Limit {
  at.expect('FETCH');
  if (at.takeOne(['FIRST', 'NEXT']) === undefined) throw at.unexpected('`FIRST` or `NEXT`');
  const count = rows(at);
  if (at.takeOne(['ROW', 'ROWS']) === undefined) throw at.unexpected('`ROWS`');
  at.expect('ONLY');
  return count;
}

/** A row count. */
function rows(at: Reader): Limit {
  if (at.takeMark('?')) return undefined;
  if (at.peek().kind !== 'number') throw at.unexpected('a number');
  const { text } = at.skip();
  at.emit({ kind: 'number', text });
  return Number(text);
}

function select(at: Reader): void {
  hints(at);
  at.takeOne(['ALL', 'DISTINCT']);
  at.list(() => selectItem(at));
  if (at.take('FROM')) fromClause(at);
  if (at.take('WHERE')) at.expression();
  if (at.take('GROUP', 'BY')) {
    at.takeOne(['ALL', 'DISTINCT']);
    at.list(() => groupItem(at));
  }
  if (at.take('HAVING')) at.expression();
  if (at.take('WINDOW')) at.list(() => namedWindow(at));
  if (qualifyAhead(at)) {
    at.take('QUALIFY');
    at.expression();
  }
}

/** `*`, `t.*`, `expression [[AS] alias]` */
function selectItem(at: Reader): void {
  if (at.takeMark('*')) return;
  at.expression();
  alias(at, () => !clauseAhead(at));
}

/** `ROLLUP (a, b)`, `CUBE (a, b)`, `GROUPING SETS ((a, b), ())`, an expression, `()` */
function groupItem(at: Reader): void {
  at.nested(() => {
    if (at.take('GROUPING', 'SETS')) at.parentheses(() => at.list(() => groupItem(at)));
    else if (at.key(1) === '(' && at.takeOne(['ROLLUP', 'CUBE']) !== undefined)
      at.parentheses(() => at.list(() => at.expression()));
    else if (at.key() === '(' && at.key(1) === ')') at.parentheses(() => undefined);
    else at.expression();
  });
}

function namedWindow(at: Reader): void {
  at.emit({ kind: 'name', parts: [at.name('the name of a window')] });
  at.expect('AS');
  windowSpecification(at);
}
