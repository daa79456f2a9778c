import { ACTION_COUNT, ACTION_WORDS, includesAction, type AskedAction } from './action-set.ts';
import type { CompiledStatement } from './compiled-policy.ts';
import { globMatches, type Glob } from './glob.ts';
import {
  completeSrn,
  MAX_SRN_ID_LENGTH,
  patternMatches,
  type Deployment,
  type Srn,
  type SrnLevel,
  type SrnPattern,
} from './srn.ts';

/**
 * A query to an index: an action on a resource. The object is reused because creating one costs about as much as a decision. Reuse is safe:
 * decisions are synchronous, so queries cannot overlap.
 */
export class Question {
  action: AskedAction = NO_ACTION;
  /** The level that the last level of a pattern must match. */
  last: SrnLevel = NO_LEVEL;
  /** First characters of its id, compared before the full text. */
  head = 0;
  /** Whether a name exceeds the maximum length: nothing is allowed then, and patterns are not compared. */
  tooLong = false;
  /** A statement that matched, of the index that was searched last with a match. */
  deciding: CompiledStatement | undefined;
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
    this.tooLong = isTooLong(this.last) || (levels.length > 1 && levels.some(isTooLong));
    this.#resource = resource;
    this.#levels = undefined;
    this.deciding = undefined;
    return this;
  }

  /** The completed resource. Computed lazily, because most patterns have a single level. */
  get levels(): readonly SrnLevel[] {
    return (this.#levels ??= completeSrn(this.#resource, this.#deployment));
  }
}

const NO_ACTION: AskedAction = { index: -1, lower: '' };
const NO_LEVEL: SrnLevel = { kind: '', id: '' };

/** The first two characters as a number; 0 for shorter texts. */
function headOf(text: string): number {
  return text.length < 2 ? 0 : (text.charCodeAt(0) << 16) | text.charCodeAt(1);
}

function isTooLong({ id }: SrnLevel): boolean {
  return id.length > MAX_SRN_ID_LENGTH;
}

/** Matching statements without duplicates, up to a limit. */
export class FoundStatements {
  readonly statements = new Set<CompiledStatement>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get full(): boolean {
    return this.statements.size >= this.#limit;
  }
}

/** Statements of one effect, indexed for queries. */
export interface StatementIndex {
  /**
   * Whether any statement matches. With `found`, matching statements are added to it until it is full.
   * Enforcement and explanation share this function, so they cannot differ.
   */
  matches(question: Question, found?: FoundStatements): boolean;
}

/** Whether a search may end at its first match. */
function isEnough(found: FoundStatements | undefined): boolean {
  return found === undefined || found.full;
}

/** Up to this many patterns a list is faster than a trie, because of memory locality. */
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
 * For few patterns: much smaller than a trie and as fast, because most patterns are excluded by comparing adjacent numbers:
 * first the action bits, then the first characters.
 */
class StatementList implements StatementIndex {
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

function matchesQuestion(pattern: SrnPattern, question: Question): boolean {
  const { last } = pattern;
  if (!last) return true;
  if (!globMatches(last.id, question.last.id) || !globMatches(last.kind, question.last.kind)) return false;
  return pattern.levels.length === 1 || patternMatches(pattern, question.levels);
}

/**
 * For many statements: per kind of resource, a hash table of exact names and a trie of the literal prefixes of globs, so that a query
 * only compares patterns with a matching prefix. Each bucket holds the union of its statements' actions as bits:
 * a thousand statements on one table need one test.
 */
class StatementTrie implements StatementIndex {
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
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** The statements at one position of the index. */
class Bucket {
  #certain: CompiledStatement[] | undefined;
  #uncertain: Probe[] | undefined;
  /** Union of the actions of the certain statements. */
  #bits: Int32Array | undefined;
  /** By action: the first certain statement with it, once that was asked for. */
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
