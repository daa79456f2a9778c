import type { CheckOutcome } from '../../check.ts';
import { rounded } from '../../numbers.ts';
import { counted, entityFinding, type Findings } from './findings.ts';
import { farFromMedian, skewness } from './statistics.ts';

/** The range of skewness that the specification allows. */
export const SKEW_RANGE = { minSkew: -2, maxSkew: 2 };

export interface SkewRange {
  readonly minSkew: number;
  readonly maxSkew: number;
}

export interface SkewnessTexts {
  /** What is distributed, such as `data size`. */
  readonly what: string;
  /** Singular noun of what it is distributed over. */
  readonly noun: string;
  readonly entityType: string;
  /** An amount with its unit, such as `4 tables`. */
  readonly amount: (value: number) => string;
}

/** Counts by entity. */
type Counts = ReadonlyMap<string, number>;

/** The outcome of a check on the skewness of `counts`; its finding names the entity that is farthest from the mean. */
export function skewnessOutcome(
  counts: Counts,
  range: SkewRange,
  findings: Findings,
  texts: SkewnessTexts,
): CheckOutcome {
  return groupedSkewnessOutcome(new Map([['', counts]]), range, findings, texts);
}

/**
 * The outcome of a check on the skewness of each group.
 * @param groups counts by entity, by the part of a sentence that names the group; empty for a single group
 */
export function groupedSkewnessOutcome(
  groups: ReadonlyMap<string, Counts>,
  { minSkew, maxSkew }: SkewRange,
  findings: Findings,
  { what, noun, entityType, amount }: SkewnessTexts,
): CheckOutcome {
  const range = `[${minSkew}, ${maxSkew}]`;
  const within: string[] = [];
  const outside: string[] = [];
  for (const [group, counts] of groups) {
    const subject = `the skew of ${what} over ${counted(counts.size, noun)}${group}`;
    const skew = skewness([...counts.values()]);
    if (skew === undefined) continue;
    findings.examined();
    if (skew >= minSkew && skew <= maxSkew) {
      within.push(`${subject}, ${rounded(skew)},`);
      continue;
    }
    outside.push(`${subject} is ${rounded(skew)}, outside ${range}`);
    const { name, count, mean } = farthestFromMean(counts);
    const message = `${subject} is ${rounded(skew)}; this ${noun} has ${amount(count)}, the average is ${amount(mean)}; ${describeMedian(counts, amount)}`;
    findings.add(entityFinding(entityType, name, message, rounded(skew), range));
  }
  return findings.outcome({
    pass: `${within.join(' and ')} is within ${range}`,
    fail: () => outside.join('; '),
    notApplicable: `not applicable: ${whyUndefined(groups, { what, noun })}`,
  });
}

/** Why the skewness of none of the groups is defined. */
function whyUndefined(
  groups: ReadonlyMap<string, Counts>,
  { what, noun }: Pick<SkewnessTexts, 'what' | 'noun'>,
): string {
  const [counts = new Map<string, number>()] = groups.values();
  if (groups.size > 1) return `skew needs at least 3 ${noun}s of a group with different ${what}`;
  if (counts.size < 3) return `skew needs at least 3 ${noun}s, the cluster has ${rounded(counts.size)}`;
  return `${what} is the same on all ${rounded(counts.size)} ${noun}s`;
}

/** Entities far from the median that a message names. */
const MAX_NAMED = 3;

/** The robust measure beside the skewness, which one extreme value determines. */
export function describeMedian(counts: ReadonlyMap<string, number>, amount: SkewnessTexts['amount']): string {
  const { median, deviation, far } = farFromMedian(counts);
  const named = far.slice(0, MAX_NAMED).map(({ name, count }) => `\`${name}\` (${amount(count)})`);
  const more = far.length > MAX_NAMED ? ` and ${rounded(far.length - MAX_NAMED)} more` : '';
  const names = far.length === 0 ? 'none' : `${named.join(', ')}${more}`;
  return `the median is ${amount(median)}, the median absolute deviation ${amount(deviation)}; far from the median: ${names}`;
}

function farthestFromMean(counts: ReadonlyMap<string, number>): { name: string; count: number; mean: number } {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  const mean = sum / counts.size;
  let farthest = { name: '', count: mean, mean };
  for (const [name, count] of counts) {
    if (Math.abs(count - mean) > Math.abs(farthest.count - mean)) farthest = { name, count, mean };
  }
  return farthest;
}
