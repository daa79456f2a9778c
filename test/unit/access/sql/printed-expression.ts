import { resolveDatabases } from '../../../../src/access/sql/databases.ts';
import { print } from '../../../../src/access/sql/printer.ts';
import type { Sequence } from '../../../../src/access/sql/tree.ts';

const DATABASES = resolveDatabases([], [], { header: undefined, options: [], multistage: false });

/** The text of an expression as it is in printed queries. */
export function printedExpression(expression: Sequence): string {
  const value = { kind: 'values', rows: expression } as const;
  const rest = { with: undefined, operations: [], orderBy: undefined, limits: undefined, limit: undefined } as const;
  const query = { kind: 'query', first: value, ...rest } as const;
  const statement = { kind: 'statement', explain: undefined, query, options: [] } as const;
  return print({ kind: 'script', statements: [statement], options: [] }, DATABASES, 100).replace('VALUES ', '');
}
