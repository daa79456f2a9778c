import type { Keyword } from '../keywords.ts';
import { call } from './calls.ts';
import { queryAhead } from './parts.ts';
import type { Reader } from './reader.ts';
import { timeUnit } from './types.ts';

/** JDBC escapes: `{fn f(x)}`; `{d '…'}`, `{t '…'}` and `{ts '…'}` are printed as standard literals. */
export function braces(at: Reader): void {
  at.skip();
  const word = JDBC_LITERALS.get(at.key());
  if (word !== undefined) {
    at.skip();
    at.keyword(word);
    plainString(at);
    if (at.key() !== '}') throw at.unexpected('`}`');
    at.skip();
    return;
  }
  at.mark('{');
  at.expect('FN');
  at.nested(() => call(at));
  at.expectMark('}');
}

const JDBC_LITERALS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ['D', 'DATE'],
  ['T', 'TIME'],
  ['TS', 'TIMESTAMP'],
]);

/** `DATE '…'`, `TIMESTAMP WITH LOCAL TIME ZONE '…'` */
export function datetime(at: Reader, word: 'DATE' | 'TIME' | 'TIMESTAMP'): boolean {
  if (
    at.key(1) === 'WITH' &&
    (at.take(word, 'WITH', 'LOCAL', 'TIME', 'ZONE') || at.take(word, 'WITH', 'TIME', 'ZONE'))
  ) {
    plainString(at);
    return true;
  }
  if (at.peek(1).kind === 'string') {
    at.take(word);
    plainString(at);
    return true;
  }
  // Some versions have a function of this name; in no version is it an unquoted column.
  if (at.key(1) !== '(') return false;
  call(at);
  return true;
}

function plainString(at: Reader): void {
  const { kind, text, prefix: before } = at.peek();
  if (kind !== 'string' || before !== '') throw at.unexpected('a string');
  at.skip();
  at.emit({ kind: 'string', text, prefix: '' });
}

/** `INTERVAL '1' DAY`, `INTERVAL '1-2' YEAR(4) TO MONTH` */
export function interval(at: Reader): boolean {
  at.take('INTERVAL');
  if (at.key() === '-') at.takeMark('-');
  else if (at.key() === '+') at.takeMark('+');
  intervalValue(at);
  timeUnit(at);
  if (at.take('TO')) timeUnit(at);
  return true;
}

/** Newer versions accept any simple value, not only a string. */
function intervalValue(at: Reader): void {
  const { kind } = at.peek();
  if (kind === 'mark') at.parentheses(() => (queryAhead(at) ? at.query() : at.expression()));
  else if (kind === 'number') at.emit({ kind, text: at.skip().text });
  else if (kind === 'string') plainString(at);
  else at.emit({ kind: 'column', parts: [at.name('the length of an interval')], isAll: false, scope: at.scope });
}
