import type { Glob } from '../../../platform/glob.ts';
import type { CompiledStatement } from '../compiled-policy.ts';
import type { Question } from '../question.ts';
import { StatementList, type Probe, type StatementIndex } from './statement-list.ts';

type Accept = (statement: CompiledStatement) => boolean;

/**
 * For many statements: per kind of resource, a hash table of exact names and a trie of the literal prefixes of globs, so that a question is
 * compared only with patterns that have a matching prefix.
 */
export class StatementTrie implements StatementIndex {
  readonly #everywhere = new StatementList();
  readonly #byKind = new Map<string, IdIndex>();
  readonly #anyKind = new IdIndex();
  /** Patterns with a glob in the kind that is neither exact nor `*`: rare, so they are compared one by one. */
  readonly #otherKinds = new StatementList();

  constructor(probes: readonly Probe[]) {
    for (const probe of probes) this.#listFor(probe).add(probe);
  }

  #listFor({ pattern: { last } }: Probe): StatementList {
    if (!last) return this.#everywhere;
    const { form, literal } = last.kind;
    if (form === 'any') return this.#anyKind.listFor(last.id);
    if (form !== 'exact') return this.#otherKinds;
    let index = this.#byKind.get(literal);
    if (!index) this.#byKind.set(literal, (index = new IdIndex()));
    return index.listFor(last.id);
  }

  some(question: Question, accept: Accept): boolean {
    return (
      this.#everywhere.some(question, accept) ||
      this.#byKind.get(question.last.kind)?.some(question, accept) === true ||
      this.#anyKind.some(question, accept) ||
      this.#otherKinds.some(question, accept)
    );
  }
}

/** Patterns of one kind, indexed by the exact id or by the literal prefix of the id. */
class IdIndex implements StatementIndex {
  readonly #exact = new Map<string, StatementList>();
  readonly #root = new TrieNode('');

  listFor(id: Glob): StatementList {
    if (id.form !== 'exact') return (this.#root.insert(id.literal).list ??= new StatementList());
    let list = this.#exact.get(id.literal);
    if (!list) this.#exact.set(id.literal, (list = new StatementList()));
    return list;
  }

  some(question: Question, accept: Accept): boolean {
    const { id } = question.last;
    if (this.#exact.get(id)?.some(question, accept) === true) return true;
    let node: TrieNode | undefined = this.#root;
    for (let at = 0; node; at += node?.label.length ?? 0) {
      if (node.list?.some(question, accept) === true) return true;
      node = node.childFor(id, at);
    }
    return false;
  }
}

/** A node of a compressed trie; `label` is appended to its parent's text. */
class TrieNode {
  label: string;
  list: StatementList | undefined;
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
    below.list = this.list;
    below.#children = this.#children;
    this.list = undefined;
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
