import { fromClause } from './from.ts';
import { hints } from './hints.ts';
import {
  alias,
  clauseAhead,
  columns,
  LIMITS,
  qualifyAhead,
  SET_OPERATORS,
  sortItem,
  tableName,
  tailAhead,
} from './parts.ts';
import type {
  CommonTable,
  CommonTableDefinition,
  Query,
  Scope,
  Select,
  SelectItem,
  Sequence,
  SetOperation,
  Term,
  With,
} from '../tree.ts';
import type { Reader } from './reader.ts';
import { windowSpecification } from './window.ts';

type RowLimit = number | undefined;

export function readQuery(at: Reader): Query {
  return at.nested(() => {
    if (!at.accept('WITH')) return queryTail(at, term(at));
    const clause = commonTables(at);
    const query = queryTail(at, term(at));
    for (const { table } of clause.tables) hide(at, table);
    return { ...query, with: clause };
  });
}

/** `name [(columns)] AS (query), …`: each is visible to the following ones, and with `RECURSIVE` to itself. */
function commonTables(at: Reader): With {
  const isRecursive = at.accept('RECURSIVE');
  return { kind: 'with', isRecursive, tables: at.items(() => commonTableDefinition(at, isRecursive)) };
}

function commonTableDefinition(at: Reader, isRecursive: boolean): CommonTableDefinition {
  const table = commonTable(at);
  const names = at.key() === '(' ? columns(at) : undefined;
  at.require('AS');
  if (isRecursive) show(at, table);
  const query = at.inParentheses(() => readQuery(at));
  if (!isRecursive) show(at, table);
  return { kind: 'common-table-definition', table, columns: names, query };
}

/** The name in a definition. */
function commonTable(at: Reader): CommonTable {
  const { limits, commonTables: known } = at.budget;
  if (known.length >= limits.commonTables) {
    throw at.refusal(`the query has more than ${limits.commonTables} common table expressions`);
  }
  const name = at.name('the name of a common table expression');
  const table = { number: known.length + 1, name };
  known.push(table);
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

function term(at: Reader): Term {
  if (at.accept('SELECT')) return select(at);
  if (at.accept('VALUES')) {
    return { kind: 'values', rows: at.sequence(() => at.list(() => at.expression())) };
  }
  if (at.accept('TABLE')) return { kind: 'table-term', table: tableName(at) };
  if (at.key() === '(') return { kind: 'query-in-parentheses', query: at.inParentheses(() => readQuery(at)) };
  throw at.unexpected('a query');
}

/** Set operators, order and limits. @param first the preceding query */
export function queryTail(at: Reader, first: Term): Query {
  const operations: SetOperation[] = [];
  for (let next = setOperation(at); next !== undefined; next = setOperation(at)) operations.push(next);
  const orderBy = at.accept('ORDER', 'BY') ? sorted(at, operations.length === 0 ? first : undefined) : undefined;
  const rows = LIMITS.has(at.key()) ? limits(at) : undefined;
  const inner = operations.length === 0 && first.kind === 'query-in-parentheses' ? first.query.limit : undefined;
  return {
    kind: 'query',
    with: undefined,
    first,
    operations,
    orderBy,
    limits: rows?.sequence,
    limit: rows?.limit ?? inner,
  };
}

/** @param only the only term of the query: if it is a SELECT, the items can name its columns */
function sorted(at: Reader, only: Term | undefined): Sequence {
  const scope = only?.kind === 'select' ? only.scope : at.scope;
  return withScope(at, scope, () => at.sequence(() => at.list(() => sortItem(at))));
}

function withScope<T>(at: Reader, scope: Scope | undefined, read: () => T): T {
  const { scope: outer } = at;
  at.scope = scope;
  const result = read();
  at.scope = outer;
  return result;
}

function setOperation(at: Reader): SetOperation | undefined {
  const operator = at.acceptOne(SET_OPERATORS);
  if (operator === undefined) return undefined;
  const quantifier = at.acceptOne(['ALL', 'DISTINCT']);
  return { kind: 'set-operation', operator, quantifier, term: term(at) };
}

/** `LIMIT count`, `LIMIT offset, count`, `OFFSET offset`, `FETCH FIRST count ROWS ONLY` */
function limits(at: Reader): { sequence: Sequence; limit: RowLimit } {
  let limit: RowLimit;
  let counts = 0;
  let offsets = 0;
  const sequence = at.sequence(() => {
    while (LIMITS.has(at.key())) {
      if (at.key() === 'OFFSET' ? offsets++ > 0 : counts++ > 0) throw at.unexpected('the end of the query');
      if (at.take('OFFSET')) {
        rows(at);
        at.takeOne(['ROW', 'ROWS']);
      } else limit = at.take('LIMIT') ? limitRows(at) : fetchRows(at);
    }
  });
  return { sequence, limit };
}

function limitRows(at: Reader): RowLimit {
  if (at.take('ALL')) return undefined;
  const first = rows(at);
  return at.takeMark(',') ? rows(at) : first;
}

function fetchRows(at: Reader): RowLimit {
  at.expect('FETCH');
  if (at.takeOne(['FIRST', 'NEXT']) === undefined) throw at.unexpected('`FIRST` or `NEXT`');
  const count = rows(at);
  if (at.takeOne(['ROW', 'ROWS']) === undefined) throw at.unexpected('`ROWS`');
  at.expect('ONLY');
  return count;
}

/** A row count. */
function rows(at: Reader): RowLimit {
  if (at.takeMark('?')) return undefined;
  if (at.peek().kind !== 'number') throw at.unexpected('a number');
  const { text } = at.skip();
  at.emit({ kind: 'number', text });
  return Number(text);
}

/** The properties are in the order of the text: each reads its clause. */
function select(at: Reader): Select {
  const scope: Scope = { outer: at.scope, sources: [] };
  return withScope(at, scope, () => ({
    kind: 'select',
    hints: hints(at),
    quantifier: at.acceptOne(['ALL', 'DISTINCT']),
    items: at.items(() => selectItem(at)),
    from: at.accept('FROM') ? fromClause(at) : undefined,
    where: at.accept('WHERE') ? at.expressionPart() : undefined,
    groupBy: at.accept('GROUP', 'BY') ? at.sequence(() => groupBy(at)) : undefined,
    having: at.accept('HAVING') ? at.expressionPart() : undefined,
    windows: at.accept('WINDOW') ? at.sequence(() => at.list(() => namedWindow(at))) : undefined,
    qualify: qualifyAhead(at) && at.accept('QUALIFY') ? at.expressionPart() : undefined,
    scope,
  }));
}

/** `*`, `t.*`, `expression [[AS] alias]` */
function selectItem(at: Reader): SelectItem {
  if (at.acceptMark('*')) {
    return {
      kind: 'select-item',
      expression: { kind: 'column', parts: [], isAll: true, scope: at.scope },
      alias: undefined,
    };
  }
  const expression = at.expressionPart();
  return { kind: 'select-item', expression, alias: alias(at, () => !clauseAhead(at)) };
}

/** `GROUP BY ALL` without items groups by the items of SELECT that do not aggregate. */
function groupBy(at: Reader): void {
  if (at.takeOne(['ALL', 'DISTINCT']) === 'ALL' && groupEnds(at)) return;
  at.list(() => groupItem(at));
}

function groupEnds(at: Reader): boolean {
  const { kind, key } = at.peek();
  return kind === 'end' || key === ')' || key === ';' || AFTER_GROUP.has(key) || tailAhead(at) || clauseAhead(at);
}

const AFTER_GROUP: ReadonlySet<string> = new Set(['HAVING', 'WINDOW']);

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
