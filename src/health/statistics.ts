/**
 * The two measures that the skew checks share.
 *
 * Both are about counts of one thing on each of the servers that could hold it; a server that holds none of it takes part with 0.
 */

export interface Excess {
  readonly name: string;
  readonly count: number;
}

export interface ExcessReport {
  readonly mean: number;
  /** The largest count that is no excess. */
  readonly limit: number;
  readonly exceeding: readonly Excess[];
}

/**
 * "Exceeds 50 % of the average": a count is above mean · (1 + percent/100), for 50 % above 1.5 × the mean.
 *
 * A sole server, or none, has nobody to differ from: nothing exceeds. All equal, or all zero: nothing exceeds. Of two servers
 * one exceeds 50 % when it has more than three times as many as the other (a > 1.5·(a+b)/2 ⇔ a > 3b).
 */
export function exceedsAverage(counts: ReadonlyMap<string, number>, percent: number): ExcessReport {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  const mean = counts.size === 0 ? 0 : sum / counts.size;
  const limit = mean * (1 + percent / 100);
  if (counts.size < 2) return { mean, limit, exceeding: [] };
  const exceeding: Excess[] = [];
  for (const [name, count] of counts) {
    // Compared as sums of counts, so that a count of exactly the limit is not lifted over it by the rounding of a quotient.
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
 * Not defined for fewer than three values, nor where all are equal (s = 0).
 *
 * @returns undefined where it is not defined
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
