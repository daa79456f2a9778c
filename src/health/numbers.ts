const NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2, signDisplay: 'negative' });

/** A number for texts, with separators and at most two decimals, without trailing zeros: `1,234.5`. */
export function rounded(value: number): string {
  return NUMBERS.format(value);
}

const BYTES = [
  ['GB', 1024 ** 3],
  ['MB', 1024 ** 2],
  ['KB', 1024],
] as const;

/** A number of bytes in its largest unit, a power of 1,024: `40.4 MB`. */
export function bytesText(bytes: number): string {
  const [unit, size] = BYTES.find(([, least]) => bytes >= least) ?? ['bytes', 1];
  return `${rounded(bytes / size)} ${unit}`;
}
