import { ACTION_COUNT, ACTION_WORDS, speaksOf, type AskedAction } from './action-set.ts';
import type { CompiledStatement } from './compiled-policy.ts';
import { globMatches, type Glob } from './glob.ts';
import { completeSrn, patternMatches, type Deployment, type Srn, type SrnLevel, type SrnPattern } from './srn.ts';

/**
 * What is asked of an index: an action on a resource. One object is asked again and again, since a decision costs little more than making one;
 * deciding never waits, so that no other question can come between.
 */
export class Question {
  action: AskedAction = NO_ACTION;
  /** The level that a pattern's last level must meet. */
  last: SrnLevel = NO_LEVEL;
  /** The first characters of its id, to be compared before any text is. */
  head = 0;
  readonly #deployment: Deployment;
  #resource: Srn = { levels: [] };
  #levels: readonly SrnLevel[] | undefined;

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
  }

  ask(action: AskedAction, resource: Srn): this {
    const { levels } = resource;
    this.action = action;
    this.last = levels[levels.length - 1] ?? { kind: 'cluster', id: this.#deployment.cluster };
    this.head = headOf(this.last.id);
    this.#resource = resource;
    this.#levels = undefined;
    return this;
  }

  /** The completed resource. Made only when a pattern of several levels asks for it: most have one. */
  get levels(): readonly SrnLevel[] {
    return (this.#levels ??= completeSrn(this.#resource, this.#deployment));
  }
}

const NO_ACTION: AskedAction = { index: -1, lower: '' };
const NO_LEVEL: SrnLevel = { kind: '', id: '' };

/** The first two characters as a number; 0 for a text that has no two. */
function headOf(text: string): number {
  return text.length < 2 ? 0 : (text.charCodeAt(0) << 16) | text.charCodeAt(1);
}

/** Statements of one effect, arranged for being asked. */
export interface StatementIndex {
  /**
   * Whether any statement matches. With `found` given, all that match are added to it, each once.
   * Enforcement and explanation are this one function: they cannot differ.
   */
  matches(question: Question, found?: Set<CompiledStatement>): boolean;
}

/** Up to this many patterns a list is faster than a trie, whose nodes lie all over the memory. */
const MAX_LIST = 128;

export function indexStatements(statements: readonly CompiledStatement[]): StatementIndex {
  const probes = statements.flatMap((statement) => statement.resources.map((pattern) => ({ statement, pattern })));
  return probes.length <= MAX_LIST ? new StatementList(probes) : new StatementTrie(probes);
}

/** One pattern of a statement. */
interface Probe {
  readonly statement: CompiledStatement;
  readonly pattern: SrnPattern;
}

/**
 * For few patterns: far smaller than a trie, and as fast, since nearly everything is ruled out by numbers that lie side by side: what does not
 * speak of the action, then what begins otherwise.
 */
class StatementList implements StatementIndex {
  readonly #probes: readonly Probe[];
  /** 32 probes are one word. */
  readonly #words: number;
  /** By action: the probes that speak of it, as bits by position; then by position: the head of the pattern. Made when first asked. */
  #table: Int32Array | undefined;

  constructor(probes: readonly Probe[]) {
    this.#probes = probes;
    this.#words = Math.ceil(probes.length / 32);
  }

  matches(question: Question, found?: Set<CompiledStatement>): boolean {
    const words = this.#words;
    if (words === 0) return false;
    const table = (this.#table ??= tableOf(this.#probes, words));
    const { index } = question.action;
    let any = false;
    for (let word = 0; word < words; word++) {
      const speaking = index >= 0 ? table[index * words + word]! : this.#speakingOf(question.action, word);
      if (speaking === 0 || !this.#someMeets(speaking, word * 32, question, found)) continue;
      if (!found) return true;
      any = true;
    }
    return any;
  }

  #someMeets(speaking: number, from: number, question: Question, found?: Set<CompiledStatement>): boolean {
    const heads = ACTION_COUNT * this.#words + from;
    let left = speaking;
    let any = false;
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      left &= ~(1 << bit);
      const head = this.#table![heads + bit]!;
      if (head !== 0 && head !== question.head) continue;
      const { statement, pattern } = this.#probes[from + bit]!;
      if (!patternMeets(pattern, question)) continue;
      if (!found) return true;
      found.add(statement);
      any = true;
    }
    return any;
  }

  /** For an action that no table knows. */
  #speakingOf(action: AskedAction, word: number): number {
    let bits = 0;
    for (const [bit, { statement }] of this.#probes.slice(word * 32, word * 32 + 32).entries()) {
      if (speaksOf(statement.actions, action)) bits |= 1 << bit;
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

function patternMeets(pattern: SrnPattern, question: Question): boolean {
  const { last } = pattern;
  if (!last) return true;
  if (!globMatches(last.id, question.last.id) || !globMatches(last.kind, question.last.kind)) return false;
  return pattern.levels.length === 1 || patternMatches(pattern, question.levels);
}

/**
 * For many statements: a hash table of the exact names and a trie of the globs' literal beginnings, per kind of resource, so that a question
 * touches only patterns that begin like its resource. Each place holds the union of its statements' actions as bits:
 * a thousand statements on one table are one test.
 */
class StatementTrie implements StatementIndex {
  readonly #everywhere = new Bucket();
  readonly #byKind = new Map<string, IdIndex>();
  readonly #anyKind = new IdIndex();
  /** Globs in the kind that are neither exact nor everything: rare, and asked one by one. */
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
    // Where the place alone says that the pattern matches, the statement need not be looked at again.
    const certain = index !== undefined && pattern.levels.length === 1 && last.id.form !== 'general';
    const bucket = index ? index.bucketFor(last.id) : this.#otherKinds;
    if (certain) bucket.addCertain(statement);
    else bucket.addDoubtful(statement, pattern);
  }

  #idIndexFor(kind: Glob): IdIndex | undefined {
    if (kind.form === 'any') return this.#anyKind;
    if (kind.form !== 'exact') return undefined;
    let index = this.#byKind.get(kind.literal);
    if (!index) this.#byKind.set(kind.literal, (index = new IdIndex()));
    return index;
  }

  matches(question: Question, found?: Set<CompiledStatement>): boolean {
    let any = this.#everywhere.matches(question, found);
    if (any && !found) return true;
    const ofKind = this.#byKind.get(question.last.kind);
    if (ofKind?.matches(question, found)) any = true;
    if (any && !found) return true;
    if (this.#anyKind.matches(question, found)) any = true;
    if (any && !found) return true;
    return this.#otherKinds.matches(question, found) || any;
  }
}

/** Patterns of one kind, by what their id must be or begin with. */
class IdIndex {
  readonly #exact = new Map<string, Bucket>();
  readonly #root = new TrieNode('');

  bucketFor(id: Glob): Bucket {
    if (id.form !== 'exact') return this.#root.insert(id.literal).bucket;
    let bucket = this.#exact.get(id.literal);
    if (!bucket) this.#exact.set(id.literal, (bucket = new Bucket()));
    return bucket;
  }

  matches(question: Question, found?: Set<CompiledStatement>): boolean {
    const { id } = question.last;
    let any = this.#exact.get(id)?.matches(question, found) ?? false;
    let node: TrieNode | undefined = this.#root;
    let at = 0;
    while (node) {
      if (any && !found) return true;
      if (node.bucket.matches(question, found)) any = true;
      node = node.childFor(id, at);
      at += node?.label.length ?? 0;
    }
    return any;
  }
}

/** A node of a compressed trie: `label` is what it adds to its parent's text. */
class TrieNode {
  label: string;
  bucket = new Bucket();
  #children: Map<number, TrieNode> | undefined;

  constructor(label: string) {
    this.label = label;
  }

  /** The child whose label stands in `text` at `at`. */
  childFor(text: string, at: number): TrieNode | undefined {
    const child = this.#children?.get(text.charCodeAt(at));
    return child && text.startsWith(child.label, at) ? child : undefined;
  }

  /** The node for `text` below this one, made where it is missing. */
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

  /** Cuts the label after `length` characters; what this node held moves to a new child below. */
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
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** The statements of one place in the index. */
class Bucket {
  #certain: CompiledStatement[] | undefined;
  #doubtful: Probe[] | undefined;
  /** Union of the actions of the certain statements. */
  #bits: Int32Array | undefined;

  addCertain(statement: CompiledStatement): void {
    (this.#certain ??= []).push(statement);
    this.#bits ??= new Int32Array(ACTION_WORDS);
    for (let word = 0; word < ACTION_WORDS; word++) {
      this.#bits[word] = this.#bits[word]! | statement.actions.bits[word]!;
    }
  }

  addDoubtful(statement: CompiledStatement, pattern: SrnPattern): void {
    (this.#doubtful ??= []).push({ statement, pattern });
  }

  matches(question: Question, found?: Set<CompiledStatement>): boolean {
    const any = this.#certain !== undefined && this.#certainMatches(question, found);
    if (any && !found) return true;
    return this.#doubtful === undefined ? any : this.#doubtfulMatches(question, found) || any;
  }

  #certainMatches(question: Question, found?: Set<CompiledStatement>): boolean {
    const { index } = question.action;
    if (index >= 0) {
      const spoken = (this.#bits![index >>> 5]! & (1 << (index & 31))) !== 0;
      if (!spoken || !found) return spoken;
    }
    let any = false;
    for (const statement of this.#certain!) {
      if (!speaksOf(statement.actions, question.action)) continue;
      any = true;
      if (!found) break;
      found.add(statement);
    }
    return any;
  }

  #doubtfulMatches(question: Question, found?: Set<CompiledStatement>): boolean {
    let any = false;
    for (const { statement, pattern } of this.#doubtful!) {
      if (!speaksOf(statement.actions, question.action) || !patternMeets(pattern, question)) continue;
      any = true;
      if (!found) break;
      found.add(statement);
    }
    return any;
  }
}
