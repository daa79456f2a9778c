import type { Cell } from '../../lib/exact-json.ts';

const FRACTIONAL = /^(?:FLOAT|DOUBLE|BIG_DECIMAL)$/;
const WHOLE = /^(?:INT|LONG)$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Numbers with more digits before or after the point stay in scientific notation. */
const MAX_EXPONENT = 15;
const MIN_EXPONENT = -7;

/** Whether the numbers of a column are read as amounts: fractions, and what a function has counted. Others may be ids, years or times. */
export const isAmount = (name: string, type: string): boolean =>
  FRACTIONAL.test(type) || (WHOLE.test(type) && /^\w+\(.*\)$/.test(name));

/** A number with separators and without an exponent, such as `12,710,084.51` for `1.271008451E7`. It has the same digits. */
export function readable({ text, kind }: Cell): string {
  const parts = kind === 'number' ? NUMBER.exec(text) : null;
  if (!parts) return text;
  const [, sign = '', before = '', after = '', power = '0'] = parts;
  const exponent = Number(power);
  if (exponent > MAX_EXPONENT || exponent < MIN_EXPONENT) return text;
  const [integer, fraction] = shifted(before, after, exponent);
  return `${sign}${integer.replace(/\B(?=(?:\d{3})+$)/g, ',')}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Moves the point. */
function shifted(before: string, after: string, exponent: number): readonly [integer: string, fraction: string] {
  const digits = before + after;
  const point = before.length + exponent;
  const integer =
    point <= 0
      ? '0'
      : digits
          .slice(0, point)
          .padEnd(point, '0')
          .replace(/^0+(?=\d)/, '');
  const fraction = point <= 0 ? '0'.repeat(-point) + digits : digits.slice(point);
  // A fraction of zeros is how the engine writes a whole number.
  return [integer, fraction.replace(/^0+$/, '')];
}

const SECONDS = /^\d{9,10}$/;
const MILLISECONDS = /^\d{12,13}$/;

/** The time that a whole number may be, since the epoch, in milliseconds; undefined for numbers that are none of the last decades. */
export function timeOf({ text, kind }: Cell): number | undefined {
  if (kind !== 'number') return undefined;
  if (MILLISECONDS.test(text)) return Number(text);
  return SECONDS.test(text) ? Number(text) * 1000 : undefined;
}
