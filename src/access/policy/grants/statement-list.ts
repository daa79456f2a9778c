import { ACTION_COUNT, includesAction, type AskedAction } from '../action-set.ts';
import {
  headOf,
  isEnough,
  matchesQuestion,
  type FoundStatements,
  type Probe,
  type Question,
  type StatementIndex,
} from '../question.ts';

/**
 * For few patterns: much smaller than a trie and as fast, because most patterns are excluded by comparing adjacent numbers:
 * first the action bits, then the first characters.
 */
export class StatementList implements StatementIndex {
  readonly #probes: readonly Probe[];
  /** Number of 32-bit words. */
  readonly #words: number;
  /** By action: a bit for each probe with that action; after these, by probe: the head of the pattern. Computed at the first query. */
  #table: Int32Array | undefined;

  constructor(probes: readonly Probe[]) {
    this.#probes = probes;
    this.#words = Math.ceil(probes.length / 32);
  }

  matches(question: Question, found?: FoundStatements): boolean {
    const words = this.#words;
    if (words === 0) return false;
    const table = (this.#table ??= tableOf(this.#probes, words));
    const { index } = question.action;
    let any = false;
    for (let word = 0; word < words; word++) {
      const candidates = index >= 0 ? table[index * words + word]! : this.#withAction(question.action, word);
      if (candidates === 0 || !this.#someMatches(candidates, word * 32, question, found)) continue;
      if (isEnough(found)) return true;
      any = true;
    }
    return any;
  }

  #someMatches(candidates: number, from: number, question: Question, found?: FoundStatements): boolean {
    const heads = ACTION_COUNT * this.#words + from;
    let left = candidates;
    let any = false;
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      left &= ~(1 << bit);
      const head = this.#table![heads + bit]!;
      if (head !== 0 && head !== question.head) continue;
      const { statement, pattern } = this.#probes[from + bit]!;
      if (!matchesQuestion(pattern, question)) continue;
      question.deciding = statement;
      found?.statements.add(statement);
      if (isEnough(found)) return true;
      any = true;
    }
    return any;
  }

  /** For an unknown action, which has no bits. */
  #withAction(action: AskedAction, word: number): number {
    let bits = 0;
    for (const [bit, { statement }] of this.#probes.slice(word * 32, word * 32 + 32).entries()) {
      if (includesAction(statement.actions, action)) bits |= 1 << bit;
    }
    return bits;
  }
}

function tableOf(probes: readonly Probe[], words: number): Int32Array {
  const table = new Int32Array(ACTION_COUNT * words + probes.length);
  for (const [at, { statement, pattern }] of probes.entries()) {
    const { bits } = statement.actions;
    for (let index = 0; index < ACTION_COUNT; index++) {
      if ((bits[index >>> 5]! & (1 << (index & 31))) === 0) continue;
      const place = index * words + (at >>> 5);
      table[place] = table[place]! | (1 << (at & 31));
    }
    table[ACTION_COUNT * words + at] = headOf(pattern.last?.id.literal ?? '');
  }
  return table;
}
