import type { Keyword } from '../keywords.ts';
import { queryAhead, sortItem } from './parts.ts';
import type { Reader } from './reader.ts';
import { readType } from './types.ts';

const CLAUSE_WORDS: readonly Keyword[] = [
  ...([
    'NULL',
    'ERROR',
    'EMPTY',
    'ABSENT',
    'TRUE',
    'FALSE',
    'UNKNOWN',
    'ON',
    'WITH',
    'WITHOUT',
    'CONDITIONAL',
  ] as const),
  ...(['UNCONDITIONAL', 'ARRAY', 'OBJECT', 'WRAPPER', 'FORMAT', 'JSON'] as const),
];

/**
 * Arguments of a JSON function: expressions separated by `,`, `:` and keywords of the standard's clauses (`NULL ON EMPTY`, `WITH ARRAY WRAPPER`,
 * `RETURNING type`, `KEY k VALUE v`, `PASSING x AS y`). No clause can name a table.
 */
export function jsonArguments(at: Reader): void {
  let afterValue = false;
  while (at.key() !== ')') {
    if (afterValue) afterValue = !separator(at);
    else if (!clause(at)) {
      if (queryAhead(at)) at.query();
      else at.expression();
      afterValue = true;
    }
  }
}

/** Reads what may follow a value. @returns true; throws otherwise */
function separator(at: Reader): boolean {
  if (at.takeMark(',') || at.takeMark(':') || at.takeOne(['VALUE', 'PASSING', 'DEFAULT']) !== undefined) return true;
  if (at.take('ORDER', 'BY')) at.list(() => sortItem(at));
  else if (at.take('AS')) at.emit({ kind: 'name', parts: [at.name('a name')] });
  else if (at.takeOne(CLAUSE_WORDS) === undefined && !at.take('RETURNING'))
    throw at.unexpected('`,`, `)` or a clause of the JSON function');
  else if (lastWord(at) === 'RETURNING') readType(at);
  return true;
}

function lastWord(at: Reader): string {
  const { last } = at;
  return last?.kind === 'keyword' ? last.text : '';
}

/** Reads a clause keyword where a value may also begin: if a mark follows, the word is a name. */
function clause(at: Reader): boolean {
  if (at.takeMark(',') || (at.key() === 'RETURNING' && returning(at))) return true;
  const follower = at.peek(1);
  if (follower.kind === 'mark' && follower.key !== ')') return false;
  if (follower.key !== 'VALUE' && at.takeOne(['KEY', 'DEFAULT']) !== undefined) return true;
  return at.takeOne(CLAUSE_WORDS) !== undefined;
}

function returning(at: Reader): boolean {
  if (at.peek(1).kind === 'mark') return false;
  at.take('RETURNING');
  readType(at);
  return true;
}
