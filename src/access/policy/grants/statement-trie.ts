import { ACTION_WORDS, includesAction, type AskedAction } from '../action-set.ts';
import type { CompiledStatement } from '../compiled-policy.ts';
import type { Glob } from '../../../platform/glob.ts';
import {
  isEnough,
  matchesQuestion,
  type FoundStatements,
  type Probe,
  type Question,
  type StatementIndex,
} from '../question.ts';
import type { SrnPattern } from '../srn.ts';

/**
 * For many statements: per kind of resource, a hash table of exact names and a trie of the literal prefixes of globs, so that a query
 * only compares patterns with a matching prefix. Each bucket holds the union of its statements' actions as bits:
 * a thousand statements on one table need one test.
 */
export class StatementTrie implements StatementIndex {
  readonly #everywhere = new Bucket();
  readonly #byKind = new Map<string, IdIndex>();
  readonly #anyKind = new IdIndex();
  /** Patterns with a glob in the kind that is neither exact nor `*`: rare, so they are compared one by one. */
  readonly #otherKinds = new Bucket();

  constructor(probes: readonly Probe[]) {
    for (const { statement, pattern } of probes) this.#add(statement, pattern);
  }

  #add(statement: CompiledStatement, pattern: SrnPattern): void {
    const { last } = pattern;
    if (!last) {
      this.#everywhere.addCertain(statement);
      return;
    }
    const index = this.#idIndexFor(last.kind);
    // In this case the position in the index alone proves that the pattern matches.
    const certain = index !== undefined && pattern.levels.length === 1 && last.id.form !== 'general';
    const bucket = index ? index.bucketFor(last.id) : this.#otherKinds;
    if (certain) bucket.addCertain(statement);
    else bucket.addUncertain(statement, pattern);
  }

  #idIndexFor(kind: Glob): IdIndex | undefined {
    if (kind.form === 'any') return this.#anyKind;
    if (kind.form !== 'exact') return undefined;
    let index = this.#byKind.get(kind.literal);
    if (!index) this.#byKind.set(kind.literal, (index = new IdIndex()));
    return index;
  }

  matches(question: Question, found?: FoundStatements): boolean {
    let any = this.#everywhere.matches(question, found);
    if (any && isEnough(found)) return true;
    const ofKind = this.#byKind.get(question.last.kind);
    if (ofKind?.matches(question, found)) any = true;
    if (any && isEnough(found)) return true;
    if (this.#anyKind.matches(question, found)) any = true;
    if (any && isEnough(found)) return true;
    return this.#otherKinds.matches(question, found) || any;
  }
}

/** Patterns of one kind, indexed by the exact id or by the literal prefix of the id. */
class IdIndex {
  readonly #exact = new Map<string, Bucket>();
  readonly #root = new TrieNode('');

  bucketFor(id: Glob): Bucket {
    if (id.form !== 'exact') return this.#root.insert(id.literal).bucket;
    let bucket = this.#exact.get(id.literal);
    if (!bucket) this.#exact.set(id.literal, (bucket = new Bucket()));
    return bucket;
  }

  matches(question: Question, found?: FoundStatements): boolean {
    const { id } = question.last;
    let any = this.#exact.get(id)?.matches(question, found) ?? false;
    let node: TrieNode | undefined = this.#root;
    let at = 0;
    while (node) {
      if (any && isEnough(found)) return true;
      if (node.bucket.matches(question, found)) any = true;
      node = node.childFor(id, at);
      at += node?.label.length ?? 0;
    }
    return any;
  }
}

/** A node of a compressed trie; `label` is appended to its parent's text. */
class TrieNode {
  label: string;
  bucket = new Bucket();
  #children: Map<number, TrieNode> | undefined;

  constructor(label: string) {
    this.label = label;
  }

  /** The child whose label occurs in `text` at `at`. */
  childFor(text: string, at: number): TrieNode | undefined {
    const child = this.#children?.get(text.charCodeAt(at));
    return child && text.startsWith(child.label, at) ? child : undefined;
  }

  /** The node for `text` below this one; created if missing. */
  insert(text: string): TrieNode {
    if (text === '') return this;
    this.#children ??= new Map();
    const first = text.charCodeAt(0);
    const child = this.#children.get(first);
    if (!child) {
      const leaf = new TrieNode(text);
      this.#children.set(first, leaf);
      return leaf;
    }
    const shared = sharedLength(child.label, text);
    if (shared < child.label.length) child.#split(shared);
    return child.insert(text.slice(shared));
  }

  /** Splits the label after `length` characters; the content of this node moves to a new child. */
  #split(length: number): void {
    const below = new TrieNode(this.label.slice(length));
    below.bucket = this.bucket;
    below.#children = this.#children;
    this.bucket = new Bucket();
    this.#children = new Map([[below.label.charCodeAt(0), below]]);
    this.label = this.label.slice(0, length);
  }
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  // Behind the end of a text it is NaN, which equals nothing.
  while (a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** The statements at one position of the index. */
class Bucket {
  #certain: CompiledStatement[] | undefined;
  #uncertain: Probe[] | undefined;
  /** Union of the actions of the certain statements. */
  #bits: Int32Array | undefined;
  /** By action: the first certain statement with it, cached by the first query. */
  #firstByAction: CompiledStatement[] | undefined;

  addCertain(statement: CompiledStatement): void {
    (this.#certain ??= []).push(statement);
    this.#bits ??= new Int32Array(ACTION_WORDS);
    for (let word = 0; word < ACTION_WORDS; word++) {
      this.#bits[word] = this.#bits[word]! | statement.actions.bits[word]!;
    }
  }

  addUncertain(statement: CompiledStatement, pattern: SrnPattern): void {
    (this.#uncertain ??= []).push({ statement, pattern });
  }

  matches(question: Question, found?: FoundStatements): boolean {
    const any = this.#certain !== undefined && this.#certainMatches(question, found);
    if (any && isEnough(found)) return true;
    return this.#uncertain === undefined ? any : this.#uncertainMatches(question, found) || any;
  }

  #certainMatches(question: Question, found?: FoundStatements): boolean {
    const { index } = question.action;
    if (index >= 0) {
      const included = (this.#bits![index >>> 5]! & (1 << (index & 31))) !== 0;
      if (included) question.deciding = this.#firstWith(question.action);
      if (!included || !found) return included;
    }
    let any = false;
    for (const statement of this.#certain!) {
      if (!includesAction(statement.actions, question.action)) continue;
      any = true;
      question.deciding = statement;
      found?.statements.add(statement);
      if (isEnough(found)) break;
    }
    return any;
  }

  #firstWith(action: AskedAction): CompiledStatement | undefined {
    this.#firstByAction ??= [];
    const known = this.#firstByAction[action.index];
    if (known) return known;
    const first = this.#certain!.find(({ actions }) => includesAction(actions, action));
    if (first) this.#firstByAction[action.index] = first;
    return first;
  }

  #uncertainMatches(question: Question, found?: FoundStatements): boolean {
    let any = false;
    for (const { statement, pattern } of this.#uncertain!) {
      if (!includesAction(statement.actions, question.action) || !matchesQuestion(pattern, question)) continue;
      any = true;
      question.deciding = statement;
      found?.statements.add(statement);
      if (isEnough(found)) break;
    }
    return any;
  }
}
