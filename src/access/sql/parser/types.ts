import { TIME_UNITS, TYPES } from '../keywords.ts';
import type { Reader } from './reader.ts';

/** A type, as in `CAST(x AS …)`. */
export function readType(at: Reader): void {
  at.nested(() => simpleType(at));
  while (at.takeOne(['ARRAY', 'MULTISET']) !== undefined);
}

function simpleType(at: Reader): void {
  if (at.key() === 'ROW' && at.key(1) === '(') return rowType(at);
  if (at.key() === 'MAP' && at.key(1) === '<') return mapType(at);
  if (at.key() === 'INTERVAL') throw at.unexpected('a type without `INTERVAL`');
  if (TYPES.has(at.key())) keywordType(at);
  else at.emit({ kind: 'name', parts: [at.name('a type')] });
  if (at.key() === '(') at.parentheses(() => at.list(() => number(at)));
  zone(at);
  if (at.take('CHARACTER', 'SET')) at.emit({ kind: 'name', parts: [at.name('a character set')] });
}

function keywordType(at: Reader): void {
  const { key } = at.peek();
  at.bare();
  if (key === 'DOUBLE') at.take('PRECISION');
  if (key === 'CHAR' || key === 'CHARACTER' || key === 'BINARY') at.take('VARYING');
}

function zone(at: Reader): void {
  if (at.take('WITH', 'LOCAL', 'TIME', 'ZONE')) return;
  if (at.take('WITH', 'TIME', 'ZONE')) return;
  at.take('WITHOUT', 'TIME', 'ZONE');
}

function number(at: Reader): void {
  if (at.peek().kind !== 'number') throw at.unexpected('a number');
  at.emit({ kind: 'number', text: at.skip().text });
}

function rowType(at: Reader): void {
  at.take('ROW');
  at.parentheses(() =>
    at.list(() => {
      at.emit({ kind: 'name', parts: [at.name('the name of a field')] });
      readType(at);
      if (!at.take('NOT', 'NULL')) at.take('NULL');
    }),
  );
}

function mapType(at: Reader): void {
  at.take('MAP');
  at.expectMark('<');
  readType(at);
  at.expectMark(',');
  readType(at);
  at.expectMark('>');
}

/** A time unit with its precision. */
export function timeUnit(at: Reader): void {
  if (!TIME_UNITS.has(at.key())) throw at.unexpected('a unit of time such as `DAY`');
  at.bare();
  if (at.key() === '(') at.parentheses(() => at.list(() => (TIME_UNITS.has(at.key()) ? at.bare() : number(at))));
}
