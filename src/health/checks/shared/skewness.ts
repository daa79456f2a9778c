import type { CheckOutcome } from '../../check.ts';
import { entityFinding, rounded, type Findings } from './findings.ts';
import { skewness } from './statistics.ts';

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
}

/** The outcome of a check on the skewness of `counts`; its finding names the entity that is farthest from the mean. */
export function skewnessOutcome(
  counts: ReadonlyMap<string, number>,
  { minSkew, maxSkew }: SkewRange,
  findings: Findings,
  { what, noun, entityType }: SkewnessTexts,
): CheckOutcome {
  const skew = skewness([...counts.values()]);
  const range = `[${minSkew}, ${maxSkew}]`;
  const subject = `the skew of ${what} over ${counts.size} ${noun}s`;
  if (skew !== undefined) findings.examined();
  if (skew !== undefined && (skew < minSkew || skew > maxSkew)) {
    const { name, count, mean } = farthestFromMean(counts);
    const message = `${subject} is ${rounded(skew)}; this ${noun} has ${rounded(count)}, the average is ${rounded(mean)}`;
    findings.add(entityFinding(entityType, name, message, rounded(skew), range));
  }
  const shown = skew === undefined ? '' : `, ${rounded(skew)},`;
  return findings.outcome({
    pass: `${subject}${shown} is within ${range}`,
    fail: () => `${subject} is ${rounded(skew ?? 0)}, outside ${range}`,
    notApplicable:
      counts.size < 3
        ? `not applicable: skew needs at least 3 ${noun}s, the cluster has ${counts.size}`
        : `not applicable: ${what} is the same on all ${counts.size} ${noun}s`,
  });
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
