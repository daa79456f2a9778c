import { type Glob } from '../../platform/glob.ts';
import { MAX_SRN_ID_LENGTH } from '../policy/srn.ts';
import type { Effort } from './effort.ts';

/**
 * Names that stand for all names: for each combination of the globs that some name matches (and matches none of the others), one name with exactly
 * this combination. So a decision that depends only on which globs a name matches is the same for a name as for its witness. Exact for all globs.
 * Globs without a star before their end form a tree, and their combinations are as many as they are. Others are followed letter by letter together.
 *
 * @param globs without duplicates
 * @throws {TooMuchToCompare}
 */
export function witnesses(globs: readonly Glob[], effort: Effort): string[] {
  const fresh = freshLetter(globs);
  const names = globs.some(({ form }) => form === 'general')
    ? followed(globs, fresh, effort)
    : globs.map(({ form, literal }) => (form === 'exact' ? literal : literal + fresh));
  // Two spellings of one glob have the same name.
  return [...new Set(names)].filter(({ length }) => length <= MAX_SRN_ID_LENGTH);
}

/** Private use, so that few names have it. */
const FIRST_FRESH = 0xe000;

/** A letter that no glob has. */
function freshLetter(globs: readonly Glob[]): string {
  const used = new Set(globs.flatMap(({ source }) => source.split('')));
  let code = FIRST_FRESH;
  while (used.has(String.fromCharCode(code))) code++;
  return String.fromCharCode(code);
}

/** A state of all globs after some letters. */
interface State {
  readonly text: string;
  /** Undefined after a letter that no exact glob and no prefix continues with. */
  readonly node: Node | undefined;
  /** The last node with a prefix on the way: it determines which prefixes match. */
  readonly prefix: Node | undefined;
  /** For each general glob, the positions in its source where the next letter may be. */
  readonly positions: readonly (readonly number[])[];
}

/** A node of the tree of the literals of exact and prefix globs. */
class Node {
  readonly id: number;
  readonly next = new Map<string, Node>();
  isExact = false;
  isPrefix = false;

  constructor(id: number) {
    this.id = id;
  }
}

function followed(globs: readonly Glob[], fresh: string, effort: Effort): string[] {
  const general = globs.filter(({ form }) => form === 'general').map(({ source }) => source);
  const letters = new Set([...general.join('').replaceAll('*', '').split(''), fresh]);
  const root = treeOf(globs);
  const first: State = {
    text: '',
    node: root,
    prefix: root.isPrefix ? root : undefined,
    positions: general.map((source) => closure(source, [0])),
  };
  const seen = new Set([keyOf(first)]);
  const found = new Map<string, string>();
  // The shortest texts come first.
  const queue = [first];
  for (const state of queue) {
    const combination = combinationOf(state, general);
    if (combination !== undefined && !found.has(combination)) found.set(combination, state.text);
    for (const letter of new Set([...letters, ...(state.node?.next.keys() ?? [])])) {
      effort.spend(general.length + 1);
      const next = after(state, letter, general);
      const key = keyOf(next);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push(next);
    }
  }
  return [...found.values()];
}

function treeOf(globs: readonly Glob[]): Node {
  const root = new Node(0);
  let count = 1;
  for (const { form, literal } of globs) {
    if (form === 'general') continue;
    let node = root;
    for (const letter of literal.split('')) {
      let next = node.next.get(letter);
      if (!next) node.next.set(letter, (next = new Node(count++)));
      node = next;
    }
    if (form === 'exact') node.isExact = true;
    else node.isPrefix = true;
  }
  return root;
}

function after({ text, node, prefix, positions }: State, letter: string, general: readonly string[]): State {
  const next = node?.next.get(letter);
  return {
    text: text + letter,
    node: next,
    prefix: next?.isPrefix === true ? next : prefix,
    positions: positions.map((at, index) => step(general[index]!, at, letter)),
  };
}

function keyOf({ node, prefix, positions }: State): string {
  return `${node?.id ?? ''} ${prefix?.id ?? ''} ${positions.map((at) => at.join()).join(' ')}`;
}

/** Identifies the globs that the text of a state matches; undefined if there are none. */
function combinationOf({ text, node, prefix, positions }: State, general: readonly string[]): string | undefined {
  if (text === '') return undefined;
  const exact = node?.isExact === true ? node.id : '';
  const matched = positions.flatMap((at, index) => (at.includes(general[index]!.length) ? [index] : []));
  if (exact === '' && prefix === undefined && matched.length === 0) return undefined;
  return `${exact} ${prefix?.id ?? ''} ${matched.join()}`;
}

function step(source: string, positions: readonly number[], letter: string): readonly number[] {
  const next = positions.flatMap((at) =>
    source[at] === '*' ? [at] : at < source.length && source[at] === letter ? [at + 1] : [],
  );
  return closure(source, next);
}

/** With the positions after stars. A star that is reached makes all positions before it needless. */
function closure(source: string, positions: readonly number[]): readonly number[] {
  const all = new Set(positions);
  for (const at of all) if (source[at] === '*') all.add(at + 1);
  const last = [...all].reduce((star, at) => (source[at] === '*' && at > star ? at : star), -1);
  return [...all].filter((at) => at >= last).sort((a, b) => a - b);
}
