import { type Column, Float32Column, Float64Column, Int32Column, Int64Column } from '../columns/column.ts';
import type { Statistics } from './metadata.ts';

type Numbers = Int32Column | Int64Column | Float32Column | Float64Column;

/**
 * The number of nulls of a column over several batches, and its least and greatest number, by which readers leave out row groups. Texts have no bounds: those
 * that are filtered are seldom in order, and to compare them all takes time.
 */
export class ColumnStatistics {
  #nulls = 0;
  #least: number | bigint | undefined;
  #greatest: number | bigint | undefined;
  /** NaN has no place in an order. */
  #hasNaN = false;

  add(column: Column): void {
    this.#nulls += column.nullCount;
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

  /** @param column of the added batches */
  of(column: Column): Statistics {
    const [least, greatest, nulls] = [this.#least, this.#greatest, this.#nulls];
    if (least === undefined || greatest === undefined || this.#hasNaN || !isNumbers(column))
      return { nulls, bounds: undefined };
    // Both zeros are equal, and a reader may look for either.
    return { nulls, bounds: { least: plain(column, least, -0), greatest: plain(column, greatest, 0) } };
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
