import { type Column, Float32Column, Float64Column, Int32Column, Int64Column } from '../columns/column.ts';
import type { Bounds } from './metadata.ts';

type Numbers = Int32Column | Int64Column | Float32Column | Float64Column;

/**
 * The least and greatest number of a column over several batches, by which readers leave out row groups. Texts have none: those that are filtered are
 * seldom in order, and to compare them all takes time.
 */
export class NumberBounds {
  #least: number | bigint | undefined;
  #greatest: number | bigint | undefined;
  /** NaN has no place in an order. */
  #hasNaN = false;

  add(column: Column): void {
    if (!isNumbers(column)) return;
    const { values, length, nullCount } = column;
    for (let i = 0; i < length; i++) {
      if (nullCount > 0 && column.isNull(i)) continue;
      const value = values[i] as number | bigint;
      if (Number.isNaN(value)) this.#hasNaN = true;
      if (this.#least === undefined || value < this.#least) this.#least = value;
      if (this.#greatest === undefined || value > this.#greatest) this.#greatest = value;
    }
  }

  /** Undefined where the column has no numbers, or no order. @param column of the added batches */
  of(column: Column): Bounds | undefined {
    if (this.#least === undefined || this.#greatest === undefined || this.#hasNaN || !isNumbers(column))
      return undefined;
    // Both zeros are equal, and a reader may look for either.
    return { least: plain(column, this.#least, -0), greatest: plain(column, this.#greatest, 0) };
  }
}

function isNumbers(column: Column): column is Numbers {
  return (
    column instanceof Int32Column ||
    column instanceof Int64Column ||
    column instanceof Float32Column ||
    column instanceof Float64Column
  );
}

/** @param zero in place of any zero */
function plain(column: Numbers, value: number | bigint, zero: number): Uint8Array {
  const out = Buffer.alloc(column.values.BYTES_PER_ELEMENT);
  if (column instanceof Int64Column) out.writeBigInt64LE(value as bigint);
  else if (column instanceof Int32Column) out.writeInt32LE(value as number);
  else if (column instanceof Float32Column) out.writeFloatLE(value === 0 ? zero : (value as number));
  else out.writeDoubleLE(value === 0 ? zero : (value as number));
  return out;
}
