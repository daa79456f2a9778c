import { globMatches } from '../../../platform/glob.ts';
import { includesAction, type ActionBits } from '../action-set.ts';
import type { CompiledStatement } from '../compiled-policy.ts';
import type { Question } from '../question.ts';
import { patternMatches, type SrnPattern } from '../srn.ts';

/** Statements of one effect. */
export interface StatementIndex {
  /** Calls `accept` for matching statements until it returns true, as Array.some(). A statement with several matching patterns may be repeated. */
  some(question: Question, accept: (statement: CompiledStatement) => boolean): boolean;
}

/** One pattern of a statement. */
export interface Probe {
  readonly statement: CompiledStatement;
  readonly pattern: SrnPattern;
}

/** Patterns that are compared one after the other. */
export class StatementList implements StatementIndex {
  readonly #probes: Probe[] = [];
  /** By probe: its actions, and the first two characters of its pattern. They exclude most probes without a look at them. */
  readonly #bits: ActionBits[] = [];
  readonly #heads: number[] = [];

  constructor(probes: readonly Probe[] = []) {
    for (const probe of probes) this.add(probe);
  }

  add(probe: Probe): void {
    this.#probes.push(probe);
    this.#bits.push(probe.statement.actions.bits);
    this.#heads.push(headOf(probe.pattern.last?.id.literal ?? ''));
  }

  some(question: Question, accept: (statement: CompiledStatement) => boolean): boolean {
    const { index } = question.action;
    const [word, mask] = [index >>> 5, 1 << (index & 31)];
    const asked = headOf(question.last.id);
    for (let at = 0; at < this.#probes.length; at++) {
      if (index >= 0 && (this.#bits[at]![word]! & mask) === 0) continue;
      const head = this.#heads[at]!;
      if (head !== 0 && head !== asked) continue;
      const { statement, pattern } = this.#probes[at]!;
      if (index < 0 && !includesAction(statement.actions, question.action)) continue;
      if (matchesQuestion(pattern, question) && accept(statement)) return true;
    }
    return false;
  }
}

/** The first two characters as a number; 0 for shorter texts. */
function headOf(text: string): number {
  return text.length < 2 ? 0 : text.charCodeAt(0) * 0x1_0000 + text.charCodeAt(1);
}

/** Compares the last level first, which excludes most patterns. */
function matchesQuestion({ levels, last }: SrnPattern, question: Question): boolean {
  if (!last) return true;
  if (!globMatches(last.id, question.last.id) || !globMatches(last.kind, question.last.kind)) return false;
  return levels.length === 1 || patternMatches({ levels }, question.levels);
}
