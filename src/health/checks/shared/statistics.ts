/**
 * The two measures of the skew checks. Both take counts of one thing by server; a server without any takes part with 0.
 */

export interface Excess {
  readonly name: string;
  readonly count: number;
}

export interface ExcessReport {
  readonly mean: number;
  /** The largest count that does not exceed the average. */
  readonly limit: number;
  /** Largest count first. */
  readonly exceeding: readonly Excess[];
}

/** The limits of `exceedsAverage`. */
export interface ExcessLimits extends Readonly<Record<string, number>> {
  readonly maxExcessPercent: number;
  /** Counts up to this much above the mean never exceed it: 2 against a mean of 1.1 cannot be distributed better. */
  readonly minExcess: number;
}

/** The limits that the specification sets, and the floor below which a percentage is meaningless. */
export const DEFAULT_EXCESS: ExcessLimits = { maxExcessPercent: 50, minExcess: 1 };

/**
 * "Exceeds 50 % of the average": a count is above mean · (1 + percent/100), for 50 % above 1.5 × the mean, and above mean + minExcess.
 *
 * Nothing exceeds for fewer than two servers, or for equal counts. Of two servers, one exceeds 50 % when it has more than three times
 * as many as the other (a > 1.5·(a+b)/2 ⇔ a > 3b).
 */
export function exceedsAverage(
  counts: ReadonlyMap<string, number>,
  { maxExcessPercent: percent, minExcess }: ExcessLimits,
): ExcessReport {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  const mean = counts.size === 0 ? 0 : sum / counts.size;
  const limit = Math.max(mean * (1 + percent / 100), mean + minExcess);
  if (counts.size < 2) return { mean, limit, exceeding: [] };
  const exceeding: Excess[] = [];
  for (const [name, count] of counts) {
    // Compares integers: the rounding of a quotient could put a count that equals the limit above it.
    if (count * counts.size * 100 <= sum * (100 + percent)) continue;
    if ((count - minExcess) * counts.size > sum) exceeding.push({ name, count });
  }
  exceeding.sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
  return { mean, limit, exceeding };
}

/** Significant digits of a skewness. */
const SKEW_DIGITS = 12;

/**
 * Skewness as the adjusted Fisher–Pearson coefficient
 *
 *     G1 = n / ((n − 1)(n − 2)) · Σ ((x − mean) / s)³
 *
 * with the sample standard deviation s = √(Σ (x − mean)² / (n − 1)): what Apache Commons Math (`Skewness`), pandas (`skew`) and
 * spreadsheets (`SKEW`) compute. See D. N. Joanes and C. A. Gill, "Comparing measures of sample skewness and kurtosis", 1998.
 *
 * @returns undefined if it is not defined: for fewer than three values, or if all are equal (s = 0)
 */
export function skewness(values: readonly number[]): number | undefined {
  const n = values.length;
  if (n < 3) return undefined;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  let squares = 0;
  let cubes = 0;
  for (const value of values) {
    const difference = value - mean;
    squares += difference * difference;
    cubes += difference * difference * difference;
  }
  if (values.every((value) => value === values[0]) || squares === 0) return undefined;
  const deviation = Math.sqrt(squares / (n - 1));
  const skew = ((n / ((n - 1) * (n - 2))) * cubes) / (deviation * deviation * deviation);
  // The error of floating point must not put a value that equals a limit outside of it: one of four counts that differs has exactly 2 or -2.
  return Number(skew.toPrecision(SKEW_DIGITS));
}

export interface MedianReport {
  readonly median: number;
  /** The median absolute deviation from the median. */
  readonly deviation: number;
  /** Counts far from the median, the farthest first. */
  readonly far: readonly Excess[];
}

/** Makes the median absolute deviation of a normal distribution equal to its standard deviation. */
const MAD_SCALE = 1.4826;
const FAR_DEVIATIONS = 3;

/**
 * Which counts are far from the median: more than three scaled median absolute deviations (Hampel's rule). One extreme value moves neither
 * the median nor this deviation, unlike the mean and the skewness.
 */
export function farFromMedian(counts: ReadonlyMap<string, number>): MedianReport {
  const center = median([...counts.values()]);
  const deviation = median([...counts.values()].map((count) => Math.abs(count - center)));
  const distance = (count: number): number => Math.abs(count - center);
  const far = [...counts]
    .map(([name, count]) => ({ name, count }))
    .filter(({ count }) => distance(count) > FAR_DEVIATIONS * MAD_SCALE * deviation)
    .toSorted((a, b) => distance(b.count) - distance(a.count) || (a.name < b.name ? -1 : 1));
  return { median: center, deviation, far };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
