import { ACTION_COUNT, includesAction, type AskedAction } from '../action-set.ts';
import type { CompiledStatement } from '../compiled-policy.ts';
import {
  headOf,
  isEnough,
  matchesQuestion,
  type FoundStatements,
  type Probe,
  type Question,
  type StatementIndex,
} from '../question.ts';
import type { SrnPattern } from '../srn.ts';

/**
 * For few patterns: much smaller than a trie and as fast, because most patterns are excluded by comparing adjacent numbers:
 * first the action bits, then the first characters.
 *
 * The table is small, so that those of many callers fit into the processor caches: actions that the same statements have are one class. It has, one
 * after the other, the class of each action (a byte each), for each class the bits of the patterns with its actions, and for each pattern its head.
 */
export class StatementList implements StatementIndex {
  readonly #patterns: readonly SrnPattern[];
  readonly #statements: readonly CompiledStatement[];
  /** Number of 32-bit words. */
  readonly #words: number;
  /** Computed at the first query. */
  #table: Int32Array | undefined;
  /** Where the heads begin in the table. */
  #heads = 0;

  constructor(probes: readonly Probe[]) {
    this.#patterns = probes.map(({ pattern }) => pattern);
    this.#statements = probes.map(({ statement }) => statement);
    this.#words = Math.ceil(probes.length / 32);
  }

  matches(question: Question, found?: FoundStatements): boolean {
    const words = this.#words;
    if (words === 0) return false;
    const table = this.#table ?? this.#makeTable();
    const { index } = question.action;
    const first = index < 0 ? 0 : CLASS_WORDS + classAt(table, index) * words;
    let any = false;
    for (let word = 0; word < words; word++) {
      const candidates = index < 0 ? this.#withAction(question.action, word) : table[first + word]!;
      if (candidates === 0 || !this.#someMatches(candidates, word * 32, question, found)) continue;
      if (isEnough(found)) return true;
      any = true;
    }
    return any;
  }

  #someMatches(candidates: number, from: number, question: Question, found?: FoundStatements): boolean {
    const heads = this.#heads + from;
    let left = candidates;
    let any = false;
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      left &= ~(1 << bit);
      const head = this.#table![heads + bit]!;
      if (head !== 0 && head !== question.head) continue;
      if (!matchesQuestion(this.#patterns[from + bit]!, question)) continue;
      const statement = this.#statements[from + bit]!;
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
    for (const [bit, { actions }] of this.#statements.slice(word * 32, word * 32 + 32).entries()) {
      if (includesAction(actions, action)) bits |= 1 << bit;
    }
    return bits;
  }

  #makeTable(): Int32Array {
    const words = this.#words;
    const bits = this.#bitsByAction();
    const classes = new Map<number | string, { readonly number: number; readonly action: number }>();
    const numbers = Array.from({ length: ACTION_COUNT }, (_, action) => {
      const key = words === 1 ? bits[action]! : bits.subarray(action * words, (action + 1) * words).join();
      const found = classes.get(key) ?? { number: classes.size, action };
      classes.set(key, found);
      return found.number;
    });
    this.#heads = CLASS_WORDS + classes.size * words;
    const table = new Int32Array(this.#heads + this.#patterns.length);
    for (const [action, number] of numbers.entries()) table[action >>> 2]! |= number << ((action & 3) * 8);
    for (const { number, action } of classes.values()) {
      table.set(bits.subarray(action * words, (action + 1) * words), CLASS_WORDS + number * words);
    }
    for (const [at, { last }] of this.#patterns.entries()) table[this.#heads + at] = headOf(last?.id.literal ?? '');
    this.#table = table;
    return table;
  }

  /** By action: a bit for each pattern with the action, 32 per word. */
  #bitsByAction(): Int32Array {
    const words = this.#words;
    const bits = new Int32Array(ACTION_COUNT * words);
    for (const [at, { actions }] of this.#statements.entries()) {
      for (let action = 0; action < ACTION_COUNT; action++) {
        if ((actions.bits[action >>> 5]! & (1 << (action & 31))) !== 0)
          bits[action * words + (at >>> 5)]! |= 1 << (at & 31);
      }
    }
    return bits;
  }
}

/** Words with the classes of the actions, four per word: there are at most 255 classes, because there are fewer actions. */
const CLASS_WORDS = Math.ceil(ACTION_COUNT / 4);

function classAt(table: Int32Array, index: number): number {
  return (table[index >>> 2]! >>> ((index & 3) * 8)) & 0xff;
}
