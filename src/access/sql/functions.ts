import type { Cursor } from './cursor.ts';
import { SqlRefusal } from './tokens.ts';

/** Told what the arguments of a function name. */
export interface CallReader {
  readonly onTable: (name: string) => void;
  /** A whole SQL text within a string, which the engine runs on its own. */
  readonly onQuery: (sql: string) => void;
}

/** As the engine compares names of functions: without case and underscores. */
function canonical(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/**
 * Looks at a call whose parenthesis was just opened, without moving.
 * `LOOKUP('table', …)` reads a dimension table, `IN_SUBQUERY(x, 'SELECT …')` runs a query, and a Groovy script can do whatever it likes.
 * @throws {SqlRefusal}
 */
export function readCall(name: string, at: Cursor, reader: CallReader): void {
  switch (canonical(name)) {
    case 'lookup':
      reader.onTable(literalArgument(at, name, 0));
      return;
    case 'insubquery':
    case 'inpartitionedsubquery':
      reader.onQuery(literalArgument(at, name, 1));
      return;
    case 'groovy':
      throw new SqlRefusal('a Groovy script can read whatever the engine can');
    default:
  }
}

/** The argument at `index` (0 or 1), which must be one plain string: anything else could still become any string in the engine. */
function literalArgument(at: Cursor, name: string, index: number): string {
  let ahead = 0;
  if (index === 1) {
    for (let depth = 0; depth > 0 || at.key(ahead) !== ','; ahead++) {
      const key = at.key(ahead);
      if (at.peek(ahead).kind === 'end') throw new SqlRefusal(`\`${name}\` needs a second argument`);
      if (key === '(' || key === '[') depth++;
      if (key === ')' || key === ']') depth--;
      if (depth < 0) throw new SqlRefusal(`\`${name}\` needs a second argument`);
    }
    ahead++;
  }
  const { kind, text, prefixed } = at.peek(ahead);
  const after = at.key(ahead + 1);
  if (kind === 'string' && !prefixed && (after === ',' || after === ')')) return text;
  throw new SqlRefusal(
    `argument ${index + 1} of \`${name}\` must be a plain string, so that what it reads can be told`,
  );
}
