import { isDeepStrictEqual } from 'node:util';
import { format } from './format.ts';

/** One line of `bench/results.json`: ours and a peer, measured in one run on one machine. */
export interface Row {
  readonly work: string;
  readonly unit: string;
  /** Null if it could not be measured. */
  readonly ours: number | null;
  /** The peer; empty for a figure without one. */
  readonly peer: string;
  /** Null without a peer, or if the peer could not be measured. */
  readonly theirs: number | null;
  /** Ratio to the peer: above 1 is better, for rates and for costs. */
  readonly ratio: number | null;
  readonly goal: string;
  readonly met: boolean;
  /** Why it could not be measured, or what explains a missed goal. */
  readonly reason?: string;
}

export interface Goal {
  /** Printed form, such as `≥ 10×`. */
  readonly text: string;
  readonly holds: (row: { ours: number; theirs: number | null; ratio: number | null }) => boolean;
}

export interface Comparison {
  readonly work: string;
  /** Such as `decisions/s` or `ms CPU`. */
  readonly unit: string;
  /** Whether more is better (a rate) or less (a cost). */
  readonly better: 'more' | 'less';
  readonly ours: number;
  readonly peer?: string;
  readonly theirs?: number;
  /** The answers of both sides. Different answers cannot be compared. */
  readonly answers?: readonly [ours: unknown, theirs: unknown];
  readonly goal: Goal;
  /** What explains a missed goal. */
  readonly ifMissed?: string;
}

/** A goal: ours at least `times` as good as the peer. */
export function atLeastTimes(times: number): Goal {
  return { text: `≥ ${times}×`, holds: ({ ratio }) => ratio !== null && ratio >= times };
}

/** A goal: a cost of at most `times` that of the peer. */
export function atMostTimes(times: number): Goal {
  return { text: `cost ≤ ${times}×`, holds: ({ ratio }) => ratio !== null && ratio >= 1 / times };
}

export function atLeast(value: number, unit: string): Goal {
  return { text: `≥ ${format(value)} ${unit}`, holds: ({ ours }) => ours >= value };
}

export function atMost(value: number, unit: string): Goal {
  return { text: `≤ ${format(value)} ${unit}`, holds: ({ ours }) => ours <= value };
}

/** For a figure without a goal. */
export const NO_GOAL: Goal = { text: '–', holds: () => true };

/** @throws {Error} if the answers of both sides differ, or if a figure is not a number */
export function rowOf(comparison: Comparison): Row {
  const { work, unit, better, ours, peer = '', theirs = null, answers, goal, ifMissed } = comparison;
  if (answers && !isDeepStrictEqual(answers[0], answers[1])) {
    throw new Error(`${work}: the answers of ours and ${peer} differ, so their times cannot be compared`);
  }
  if (!Number.isFinite(ours) || (theirs !== null && !Number.isFinite(theirs))) {
    throw new Error(`${work}: ours ${ours}, ${peer} ${theirs}: not a number, so nothing was measured`);
  }
  const ratio = theirs === null ? null : quotient(better === 'more' ? [ours, theirs] : [theirs, ours]);
  const met = goal.holds({ ours, theirs, ratio });
  const explained = !met && ifMissed !== undefined ? { reason: ifMissed } : {};
  return { work, unit, ours, peer, theirs, ratio, goal: goal.text, met, ...explained };
}

/** Null for a division by zero, because JSON has no infinity. */
function quotient([above, below]: readonly [number, number]): number | null {
  return below === 0 ? null : above / below;
}

/** A row whose peer, or whose work, could not be measured: its goal is missed. */
export interface Missing {
  readonly work: string;
  readonly unit?: string;
  readonly ours?: number;
  readonly peer?: string;
  readonly goal?: Goal;
  /** Why, with what would be needed. */
  readonly reason: string;
}

export function missingRow({ work, unit = '', ours, peer = '', goal = NO_GOAL, reason }: Missing): Row {
  return { work, unit, ours: ours ?? null, peer, theirs: null, ratio: null, goal: goal.text, met: false, reason };
}
