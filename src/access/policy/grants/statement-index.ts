import type { CompiledStatement } from '../compiled-policy.ts';
import type { StatementIndex } from '../question.ts';
import { StatementList } from './statement-list.ts';
import { StatementTrie } from './statement-trie.ts';

/** Up to this many patterns a list is faster than a trie, because of memory locality. */
const MAX_LIST = 128;

export function indexStatements(statements: readonly CompiledStatement[]): StatementIndex {
  const probes = statements.flatMap((statement) => statement.resources.map((pattern) => ({ statement, pattern })));
  return probes.length <= MAX_LIST ? new StatementList(probes) : new StatementTrie(probes);
}
