import type { CheckEntry, HealthTransition } from '../../lib/types.ts';

/** The worst state of the checks in a part of the time. */
export interface TimelinePart {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Maximum number of checks at once; undefined where the history does not reach. */
  readonly failing: number | undefined;
  readonly unread: number | undefined;
}

interface Counts {
  failing: number;
  unread: number;
}

const count = (counts: Counts, state: HealthTransition['to'], by: number): void => {
  if (state === 'FAIL') counts.failing += by;
  else if (state === 'NOT_EVALUATED') counts.unread += by;
};

/** Since when the state of every check is known: all changes, and the begin of each present state, are after that. */
function knownSince(
  checks: readonly CheckEntry[],
  transitions: readonly HealthTransition[],
  isComplete: boolean,
): number {
  const changes = transitions.map(({ time }) => Date.parse(time));
  if (!isComplete) return changes.at(-1) ?? Infinity;
  return Math.min(...changes, ...checks.flatMap(({ since }) => (since === undefined ? [] : [Date.parse(since)])));
}

/** The history keeps the last changes; earlier ones are not known. */
const MAX_TRANSITIONS = 100;

/**
 * The number of checks that fail, over time. It is computed backwards from the present states.
 * @param transitions newest first
 */
export function timelineOf(
  checks: readonly CheckEntry[],
  transitions: readonly HealthTransition[],
  range: { readonly from: number; readonly to: number; readonly parts: number },
): TimelinePart[] {
  const now: Counts = { failing: 0, unread: 0 };
  for (const { status, couldNotEvaluate } of checks)
    count(now, couldNotEvaluate === true ? 'NOT_EVALUATED' : status, 1);
  const known = knownSince(checks, transitions, transitions.length < MAX_TRANSITIONS);
  const length = (range.to - range.from) / range.parts;
  const parts: TimelinePart[] = [];
  let next = 0;
  for (let index = range.parts - 1; index >= 0; index--) {
    const from = range.from + index * length;
    const to = from + length;
    const worst = { ...now };
    for (; next < transitions.length; next++) {
      const change = transitions[next];
      if (change === undefined || Date.parse(change.time) < from) break;
      count(now, change.to, -1);
      count(now, change.from, 1);
      worst.failing = Math.max(worst.failing, now.failing);
      worst.unread = Math.max(worst.unread, now.unread);
    }
    const isKnown = to > known;
    parts.unshift({
      from,
      to,
      failing: isKnown ? worst.failing : undefined,
      unread: isKnown ? worst.unread : undefined,
    });
  }
  return parts;
}
