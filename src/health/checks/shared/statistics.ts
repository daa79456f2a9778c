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

/**
 * "Exceeds 50 % of the average": a count is above mean · (1 + percent/100), for 50 % above 1.5 × the mean.
 *
 * Nothing exceeds for fewer than two servers, or for equal counts. Of two servers, one exceeds 50 % when it has more than three times
 * as many as the other (a > 1.5·(a+b)/2 ⇔ a > 3b).
 */
export function exceedsAverage(counts: ReadonlyMap<string, number>, percent: number): ExcessReport {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  const mean = counts.size === 0 ? 0 : sum / counts.size;
  const limit = mean * (1 + percent / 100);
  if (counts.size < 2) return { mean, limit, exceeding: [] };
  const exceeding: Excess[] = [];
  for (const [name, count] of counts) {
    // Compares integers: the rounding of a quotient could put a count that equals the limit above it.
    if (count * counts.size * 100 > sum * (100 + percent)) exceeding.push({ name, count });
  }
  exceeding.sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
  return { mean, limit, exceeding };
}

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
  return ((n / ((n - 1) * (n - 2))) * cubes) / (deviation * deviation * deviation);
}
