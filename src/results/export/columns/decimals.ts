import { afterValue, textAt, textOf } from '../../../platform/json/valid-json.ts';
import { Column } from './column.ts';
import { notOfType } from './numbers.ts';

/** Decimal digits of 128 bits, the largest decimals that most readers know. */
export const DECIMAL_PRECISION = 38;
export const DECIMAL_BYTES = 16;

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
const HALF_BITS = 64n;

/** A decimal number: `digits` divided by ten to the power of `scale`. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly scale: number;
}

/** @returns undefined for a text that is not a decimal number */
function decimalOf(text: string): Decimal | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  const scale = digits === '' ? fraction.length : fraction.length - Number(exponent);
  return { isNegative: sign === '-', digits, scale };
}

/** Finds what a column of decimals needs to have every value with every digit. Its values are only looked at. */
export class DecimalProbe extends Column {
  #wholeDigits = 0;
  #scale = 0;
  #isDecimal = true;

  /** The scale of a column that has all values; undefined where none has: of more than DECIMAL_PRECISION digits, or not numbers. */
  get scale(): number | undefined {
    return this.#isDecimal && this.#wholeDigits + this.#scale <= DECIMAL_PRECISION ? this.#scale : undefined;
  }

  protected override appendValue(bytes: Uint8Array, from: number): number {
    const end = afterValue(bytes, from);
    const found = decimalOf(textOf(textAt(bytes, from, end)));
    if (found === undefined) this.#isDecimal = false;
    else {
      this.#scale = Math.max(this.#scale, found.scale);
      this.#wholeDigits = Math.max(this.#wholeDigits, found.digits === '' ? 0 : found.digits.length - found.scale);
    }
    return end;
  }

  protected override appendNull(): void {}

  protected override resize(): void {}
}

/** Values that are not looked at, beside those of a probe. */
export class SkippedColumn extends Column {
  protected override appendValue(bytes: Uint8Array, from: number): number {
    return afterValue(bytes, from);
  }

  protected override appendNull(): void {}

  protected override resize(): void {}
}

/** Decimals of 128 bits with one scale. */
export class DecimalColumn extends Column {
  readonly scale: number;
  /** Two halves of 64 bits for each value, the lower one first. */
  values = new BigInt64Array(2 * this.capacity);

  /** @param scale from a `DecimalProbe` of all values */
  constructor(scale: number) {
    super();
    this.scale = scale;
  }

  protected override appendValue(bytes: Uint8Array, from: number, i: number): number {
    const end = afterValue(bytes, from);
    const found = decimalOf(textOf(textAt(bytes, from, end)));
    const zeros = this.scale - (found?.scale ?? Infinity);
    if (found === undefined || zeros < 0 || found.digits.length + zeros > DECIMAL_PRECISION) throw notOfType();
    const magnitude = BigInt(found.digits === '' ? 0 : found.digits + '0'.repeat(zeros));
    this.#set(i, found.isNegative ? -magnitude : magnitude);
    return end;
  }

  protected override appendNull(i: number): void {
    this.#set(i, 0n);
  }

  protected override resize(capacity: number): void {
    const values = new BigInt64Array(2 * capacity);
    values.set(this.values.subarray(0, values.length));
    this.values = values;
  }

  #set(i: number, value: bigint): void {
    this.values[2 * i] = BigInt.asIntN(64, value);
    this.values[2 * i + 1] = value >> HALF_BITS;
  }
}
