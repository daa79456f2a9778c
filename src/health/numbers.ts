const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, signDisplay: 'negative' });

/** A number for texts, with separators and at most two decimals, without trailing zeros: `1,234.5`. */
export function rounded(value: number): string {
  return NUMBERS.format(value);
}
