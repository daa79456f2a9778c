import { ACTIONS, ANY_ACTION } from './actions.ts';
import { compileGlob, globMatches, type Glob } from './glob.ts';

/** The known actions by number: 0 is `*`, which only a pattern of nothing but stars matches. */
const NUMBERED: readonly string[] = [ANY_ACTION, ...ACTIONS].map((action) => action.toLowerCase());
const NUMBER_BY_NAME: ReadonlyMap<string, number> = new Map(
  [ANY_ACTION, ...ACTIONS].flatMap((action, index) => [
    [action, index] as const,
    [action.toLowerCase(), index] as const,
  ]),
);
export const ACTION_COUNT = NUMBERED.length;
export const ACTION_WORDS = Math.ceil(ACTION_COUNT / 32);

/** Actions as bits by number, 32 a word: whether a statement speaks of an action is one load and one mask. */
export type ActionBits = Int32Array;

/** An action that is asked about. `index` is -1 for a name that is not known. */
export interface AskedAction {
  readonly index: number;
  readonly lower: string;
}

const ASKED: ReadonlyMap<string, AskedAction> = new Map(
  [...NUMBER_BY_NAME].map(([name, index]) => [name, { index, lower: name.toLowerCase() }]),
);

/** Compared without case. The usual spelling and the lower-case one cost one look-up. */
export function askAction(action: string): AskedAction {
  const known = ASKED.get(action);
  if (known) return known;
  const lower = action.toLowerCase();
  return ASKED.get(lower) ?? { index: -1, lower };
}

/** The actions of a statement: bits for those that are known, globs for whatever else is asked. */
export interface ActionSet {
  readonly bits: ActionBits;
  readonly globs: readonly Glob[];
  /** True where every action there is, known or not, is meant. */
  readonly all: boolean;
}

const cache = new Map<string, ActionSet>();
/** Most policies name the same few lists of actions; sharing them keeps 100,000 statements small. */
const MAX_CACHED = 4096;

/** @param patterns as in a policy; undefined means all */
export function compileActions(patterns: readonly string[] = [ANY_ACTION]): ActionSet {
  const key = patterns.join(' ').toLowerCase();
  const known = cache.get(key);
  if (known) return known;
  const globs = patterns.map((pattern) => compileGlob(pattern.toLowerCase()));
  const bits = new Int32Array(ACTION_WORDS);
  for (const [index, name] of NUMBERED.entries()) {
    if (globs.some((glob) => globMatches(glob, name))) bits[index >>> 5] = bits[index >>> 5]! | (1 << (index & 31));
  }
  const set = { bits, globs, all: globs.some((glob) => glob.form === 'any') };
  if (cache.size < MAX_CACHED) cache.set(key, set);
  return set;
}

export function speaksOf(set: ActionSet, action: AskedAction): boolean {
  const { index, lower } = action;
  if (index >= 0) return (set.bits[index >>> 5]! & (1 << (index & 31))) !== 0;
  return set.globs.some((glob) => globMatches(glob, lower));
}

/** Whether every known action is meant, one by one or by stars. */
export function coversEveryAction(set: ActionSet): boolean {
  if (set.all) return true;
  for (let index = 1; index < ACTION_COUNT; index++) {
    if ((set.bits[index >>> 5]! & (1 << (index & 31))) === 0) return false;
  }
  return true;
}
