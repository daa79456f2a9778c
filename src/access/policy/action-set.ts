import { ANY_ACTION } from '../../pinot/action-names.ts';
import { ACTIONS, actionsMatching, isDelegationRight } from './actions.ts';
import { compileGlob, globMatches, type Glob } from '../../platform/glob.ts';

/** Known actions by number: 0 is `*`, matched only by patterns of stars; then ACTIONS in order. */
const NUMBER_BY_NAME: ReadonlyMap<string, number> = new Map(
  [ANY_ACTION, ...ACTIONS].flatMap((action, index) => [
    [action, index] as const,
    [action.toLowerCase(), index] as const,
  ]),
);
export const ACTION_COUNT = ACTIONS.length + 1;
export const ACTION_WORDS = Math.ceil(ACTION_COUNT / 32);

/** Actions as bits by number, 32 per word: one load and one mask test an action. */
export type ActionBits = Int32Array;

/** A requested action. `index` is -1 for an unknown name. */
export interface AskedAction {
  readonly index: number;
  readonly lower: string;
}

const ASKED: ReadonlyMap<string, AskedAction> = new Map(
  [...NUMBER_BY_NAME].map(([name, index]) => [name, { index, lower: name.toLowerCase() }]),
);

/** Case-insensitive. The canonical and the lower-case spelling need only one lookup. */
export function askAction(action: string): AskedAction {
  const known = ASKED.get(action);
  if (known) return known;
  const lower = action.toLowerCase();
  return ASKED.get(lower) ?? { index: -1, lower };
}

/** The actions of a statement: bits for known actions, globs for others. */
export interface ActionSet {
  readonly bits: ActionBits;
  readonly globs: readonly Glob[];
  /** Whether the set contains every action, known or not. */
  readonly all: boolean;
}

const cache = new Map<string, ActionSet>();
/** Most policies use the same few lists of actions; sharing them saves memory with 100,000 statements. */
const MAX_CACHED = 4096;
/** Longer lists are rarely shared and would make the cache large. */
const MAX_KEY_LENGTH = 1024;

/**
 * @param patterns from a policy; undefined means all
 * @param globsGiveRights whether globs match the delegation rights, which otherwise need their full names
 */
export function compileActions(patterns: readonly string[] = [ANY_ACTION], globsGiveRights = true): ActionSet {
  const key = `${globsGiveRights ? '' : '-'}${patterns.join(' ').toLowerCase()}`;
  const known = cache.get(key);
  if (known) return known;
  const globs = patterns.map((pattern) => compileGlob(pattern.toLowerCase()));
  const bits = new Int32Array(ACTION_WORDS);
  const all = globs.some((glob) => glob.form === 'any');
  const include = (index: number): void => {
    bits[index >>> 5] = bits[index >>> 5]! | (1 << (index & 31));
  };
  if (all) include(0);
  for (const [at, pattern] of patterns.entries()) {
    const exact = globs[at]?.form === 'exact';
    for (const index of actionsMatching(pattern)) {
      if (exact || globsGiveRights || !isDelegationRight(ACTIONS[index]!)) include(index + 1);
    }
  }
  const set = { bits, globs, all };
  if (cache.size < MAX_CACHED && key.length <= MAX_KEY_LENGTH) cache.set(key, set);
  return set;
}

export function includesAction(set: ActionSet, action: AskedAction): boolean {
  const { index, lower } = action;
  if (index >= 0) return (set.bits[index >>> 5]! & (1 << (index & 31))) !== 0;
  return set.globs.some((glob) => globMatches(glob, lower));
}

/** Number of a known action, as in ActionBits. */
export function actionNumber(action: string): number {
  return NUMBER_BY_NAME.get(action) ?? -1;
}

/** The inverse of `actionNumber`. */
export function actionName(index: number): string {
  return index === 0 ? ANY_ACTION : (ACTIONS[index - 1] ?? '');
}
