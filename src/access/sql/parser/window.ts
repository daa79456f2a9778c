import { sortItem } from './parts.ts';
import type { Reader } from './reader.ts';

/** After `OVER`: a window name or a window specification. */
export function windowOrName(at: Reader): void {
  if (at.key() === '(') windowSpecification(at);
  else at.emit({ kind: 'name', parts: [at.name('a window')] });
}

/** `(PARTITION BY … ORDER BY … ROWS BETWEEN … AND … EXCLUDE …)` */
export function windowSpecification(at: Reader): void {
  at.parentheses(() => {
    // `ROWS` and `RANGE` are reserved.
    if (at.atName()) at.emit({ kind: 'name', parts: [at.name('a window')] });
    if (at.take('PARTITION', 'BY')) at.list(() => at.expression());
    if (at.take('ORDER', 'BY')) at.list(() => sortItem(at));
    if (at.takeOne(['ROWS', 'RANGE']) === undefined) return;
    frame(at);
    if (at.take('EXCLUDE')) exclusion(at);
  });
}

function frame(at: Reader): void {
  if (!at.take('BETWEEN')) return bound(at);
  bound(at);
  at.expect('AND');
  bound(at);
}

/** Rows of the frame that do not count. */
function exclusion(at: Reader): void {
  if (at.take('CURRENT', 'ROW') || at.take('NO', 'OTHERS') || at.takeOne(['GROUP', 'TIES']) !== undefined) return;
  throw at.unexpected('`CURRENT ROW`, `GROUP`, `TIES` or `NO OTHERS`');
}

function bound(at: Reader): void {
  if (at.take('CURRENT', 'ROW')) return;
  if (!at.take('UNBOUNDED')) at.expression();
  if (at.takeOne(['PRECEDING', 'FOLLOWING']) === undefined) throw at.unexpected('`PRECEDING` or `FOLLOWING`');
}
