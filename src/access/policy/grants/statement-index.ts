import type { CompiledStatement } from '../compiled-policy.ts';
import type { Question } from '../question.ts';
import { StatementList, type Probe, type StatementIndex } from './statement-list.ts';
import { StatementTrie } from './statement-trie.ts';

/** Up to this many patterns a list is as fast as a trie, and much smaller. */
const MAX_LIST = 128;

export function indexStatements(statements: readonly CompiledStatement[]): StatementIndex {
  const probes = statements.flatMap((statement) =>
    statement.resources.map((pattern): Probe => ({ statement, pattern })),
  );
  return probes.length <= MAX_LIST ? new StatementList(probes) : new StatementTrie(probes);
}

/** The first matching statement. */
export function firstMatch(index: StatementIndex, question: Question): CompiledStatement | undefined {
  let first: CompiledStatement | undefined;
  index.some(question, (statement) => {
    first = statement;
    return true;
  });
  return first;
}

/** Matching statements without duplicates. */
export function matches(index: StatementIndex, question: Question, limit: number): ReadonlySet<CompiledStatement> {
  const found = new Set<CompiledStatement>();
  index.some(question, (statement) => found.add(statement).size >= limit);
  return found;
}
