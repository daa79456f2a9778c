import {
  BooleanColumn,
  BytesColumn,
  type Column,
  type Float32Column,
  type Float64Column,
  type Int32Column,
  type Int64Column,
  ListColumn,
  TextColumn,
} from '../columns/column.ts';
import { DECIMAL_BYTES, DecimalColumn } from '../columns/decimals.ts';
import { MapColumn } from '../columns/maps.ts';
import { varint } from './thrift.ts';

/** The content of a data page before its compression. */
export interface PageBody {
  /** Values including nulls, and one for each empty list. */
  readonly numValues: number;
  readonly bytes: Uint8Array;
}

const LENGTH_BYTES = 4;
/** Definition levels of a list or map: it is null, is empty, has a null, has a value. Keys of a map are never null, and have the third one. */
const [NULL_LIST, EMPTY_LIST, NULL_ITEM, ITEM] = [0, 1, 2, 3] as const;

/**
 * The levels and values of a column, in bytes of their own: keys and values of a map are two. Values are in the encoding PLAIN, and nulls are only in the
 * levels.
 */
export function pageBodies(column: Column): PageBody[] {
  if (column instanceof ListColumn) return [nestedBody(column, column.items, ITEM)];
  if (column instanceof MapColumn)
    return [nestedBody(column, column.keys, NULL_ITEM), nestedBody(column, column.items, ITEM)];
  return [flatBody(column)];
}

function flatBody(column: Column): PageBody {
  const { length, nullCount } = column;
  const levels = nullCount === 0 ? repeated(length, 1) : packed(length, column.validity.subarray(0, (length + 7) >> 3));
  return { numValues: length, bytes: Buffer.concat([...levels, plainValues(column)]) };
}

/** @param present the definition level of an item that is not null */
function nestedBody(column: ListColumn | MapColumn, items: Column, present: number): PageBody {
  const numValues = countOfLevels(column);
  const definitions = new Uint8Array(numValues);
  const repetitions = new Uint8Array(numValues);
  let at = 0;
  for (let i = 0; i < column.length; i++) {
    const from = column.offsets[i] as number;
    const end = column.offsets[i + 1] as number;
    if (from === end) definitions[at++] = column.isNull(i) ? NULL_LIST : EMPTY_LIST;
    for (let item = from; item < end; item++) {
      repetitions[at] = item === from ? 0 : 1;
      definitions[at++] = items.isNull(item) ? NULL_ITEM : present;
    }
  }
  const levels = [...packed(numValues, bitsOf(repetitions, 1)), ...packed(numValues, bitsOf(definitions, 2))];
  return { numValues, bytes: Buffer.concat([...levels, plainValues(items)]) };
}

function countOfLevels({ length, offsets }: ListColumn | MapColumn): number {
  let count = 0;
  for (let i = 0; i < length; i++) count += Math.max(1, (offsets[i + 1] as number) - (offsets[i] as number));
  return count;
}

/** Levels that are all the same, as one run. */
function repeated(count: number, level: number): Uint8Array[] {
  return withLength([varint(2 * count), Buffer.of(level)]);
}

/** Levels as one run of packed bits. @param bits in groups of eight levels */
function packed(count: number, bits: Uint8Array): Uint8Array[] {
  return withLength([varint(2 * Math.ceil(count / 8) + 1), bits]);
}

function withLength(parts: readonly Uint8Array[]): Uint8Array[] {
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32LE(parts.reduce((sum, { length }) => sum + length, 0));
  return [head, ...parts];
}

/** The lowest bits of each level, the first level in the lowest bits, in complete groups of eight levels. @param width 1 or 2 */
function bitsOf(levels: Uint8Array, width: 1 | 2): Uint8Array {
  const bits = new Uint8Array(Math.ceil(levels.length / 8) * width);
  for (let i = 0; i < levels.length; i++) {
    const at = (i * width) >> 3;
    bits[at] = (bits[at] as number) | ((levels[i] as number) << ((i * width) & 7));
  }
  return bits;
}

function plainValues(column: Column): Uint8Array {
  if (column instanceof TextColumn || column instanceof BytesColumn) return plainBytes(column);
  if (column instanceof BooleanColumn) return plainBits(column);
  if (column instanceof DecimalColumn) return plainDecimals(column);
  const { values } = column as Int32Column | Int64Column | Float32Column | Float64Column;
  const { length, nullCount } = column;
  const width = values.BYTES_PER_ELEMENT / Uint32Array.BYTES_PER_ELEMENT;
  const words = new Uint32Array(values.buffer, values.byteOffset, length * width);
  return bytesOf(nullCount === 0 ? words : wordsWithoutNulls(column, words, width));
}

/** @param width words of each value */
function wordsWithoutNulls(column: Column, words: Uint32Array, width: number): Uint32Array {
  const present = new Uint32Array((column.length - column.nullCount) * width);
  let to = 0;
  for (let i = 0; i < column.length; i++) {
    if (column.isNull(i)) continue;
    for (let word = 0; word < width; word++) present[to++] = words[i * width + word] as number;
  }
  return present;
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** The length of each value before its bytes. */
function plainBytes(column: TextColumn | BytesColumn): Uint8Array {
  const { data, offsets, length } = column;
  const out = Buffer.allocUnsafeSlow((offsets[length] as number) + LENGTH_BYTES * (length - column.nullCount));
  let to = 0;
  for (let i = 0; i < length; i++) {
    if (column.isNull(i)) continue;
    const from = offsets[i] as number;
    const end = offsets[i + 1] as number;
    to = out.writeUInt32LE(end - from, to);
    to += data.copy(out, to, from, end);
  }
  return out;
}

/** Decimals have the highest byte first. */
function plainDecimals(column: DecimalColumn): Uint8Array {
  const { values, length, nullCount } = column;
  const out = Buffer.allocUnsafeSlow(DECIMAL_BYTES * (length - nullCount));
  let to = 0;
  for (let i = 0; i < length; i++) {
    if (column.isNull(i)) continue;
    to = out.writeBigInt64BE(values[2 * i + 1] as bigint, to);
    to = out.writeBigUInt64BE(BigInt.asUintN(64, values[2 * i] as bigint), to);
  }
  return out;
}

function plainBits(column: BooleanColumn): Uint8Array {
  const { bits, length, nullCount } = column;
  if (nullCount === 0) return bits.slice(0, (length + 7) >> 3);
  const present = new Uint8Array((length - nullCount + 7) >> 3);
  let to = 0;
  for (let i = 0; i < length; i++) {
    if (column.isNull(i)) continue;
    const bit = ((bits[i >> 3] as number) >> (i & 7)) & 1;
    present[to >> 3] = (present[to >> 3] as number) | (bit << (to & 7));
    to++;
  }
  return present;
}
