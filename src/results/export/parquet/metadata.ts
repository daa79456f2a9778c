import {
  BooleanColumn,
  type Column,
  Float32Column,
  Float64Column,
  Int32Column,
  Int64Column,
  ListColumn,
  TextColumn,
} from '../columns/column.ts';
import { DECIMAL_BYTES, DECIMAL_PRECISION, DecimalColumn } from '../columns/decimals.ts';
import { MapColumn } from '../columns/maps.ts';
import { TimestampColumn } from '../columns/timestamps.ts';
import { binary, bool, i32, i64, list, struct, structs, text, type ThriftValue } from './thrift.ts';

// Numbers of the enumerations and fields in parquet.thrift of the Parquet format.
const BOOLEAN = 0;
const INT32 = 1;
const INT64 = 2;
const FLOAT = 4;
const DOUBLE = 5;
const BYTE_ARRAY = 6;
const FIXED_BYTES = 7;
const REQUIRED = 0;
const OPTIONAL = 1;
const REPEATED = 2;
const UTF8 = 0;
const CONVERTED_MAP = 1;
const CONVERTED_LIST = 3;
const CONVERTED_DECIMAL = 5;
const LOGICAL_STRING = 1;
const LOGICAL_MAP = 2;
const LOGICAL_LIST = 3;
const LOGICAL_DECIMAL = 5;
const LOGICAL_TIMESTAMP = 8;
const MILLISECONDS = 1;
const PLAIN = 0;
const RLE = 3;
const ZSTD = 6;
const DATA_PAGE = 0;
const VERSION = 1;

const WRITER = 'olap-warden';

/** Values that follow each other in a file: a column, or the keys or values of a map. */
export interface Leaf {
  readonly path: readonly string[];
  readonly column: Column;
}

/** @param name of the column in the file */
export function leavesOf(name: string, column: Column): readonly Leaf[] {
  if (column instanceof ListColumn) return [{ path: [name, 'list', 'element'], column: column.items }];
  if (!(column instanceof MapColumn)) return [{ path: [name], column }];
  const path = [name, 'key_value'];
  return [
    { path: [...path, 'key'], column: column.keys },
    { path: [...path, 'value'], column: column.items },
  ];
}

/** Of a column in a row group. */
export interface Statistics {
  readonly nulls: number;
  /** In the encoding PLAIN; undefined where the values have no order, or there are none. */
  readonly bounds: { readonly least: Uint8Array; readonly greatest: Uint8Array } | undefined;
}

/** The pages of a leaf in a row group. */
export interface ColumnChunk {
  readonly leaf: Leaf;
  /** Offset in the file. */
  readonly offset: number;
  readonly numValues: number;
  /** Sizes with the headers of the pages. */
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  /** Undefined where they are not known. */
  readonly statistics: Statistics | undefined;
}

export interface PageSizes {
  readonly numValues: number;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  /** CRC-32 of the compressed bytes. */
  readonly crc: number;
}

export function pageHeader({ numValues, uncompressedBytes, compressedBytes, crc }: PageSizes): Uint8Array {
  const header = struct([1, i32(numValues)], [2, i32(PLAIN)], [3, i32(RLE)], [4, i32(RLE)]);
  return struct(
    [1, i32(DATA_PAGE)],
    [2, i32(uncompressedBytes)],
    [3, i32(compressedBytes)],
    [4, i32(crc | 0)],
    [5, header],
  ).bytes;
}

export function rowGroup(chunks: readonly ColumnChunk[], numRows: number): ThriftValue {
  const bytes = chunks.reduce((sum, { uncompressedBytes }) => sum + uncompressedBytes, 0);
  return struct([1, structs(chunks.map(columnChunk))], [2, i64(bytes)], [3, i64(numRows)]);
}

export interface FileSchema {
  /** The columns with their names, in order. */
  readonly columns: readonly (readonly [name: string, column: Column])[];
  readonly keyValues: readonly (readonly [key: string, value: string])[];
}

export function fileMetadata(
  { columns, keyValues }: FileSchema,
  numRows: number,
  rowGroups: readonly ThriftValue[],
): Uint8Array {
  const root = struct([4, text('schema')], [5, i32(columns.length)]);
  const schema = [root, ...columns.flatMap(([name, column]) => elements(name, column))];
  const pairs = keyValues.map(([key, value]) => struct([1, text(key)], [2, text(value)]));
  return struct(
    [1, i32(VERSION)],
    [2, list(schema)],
    [3, i64(numRows)],
    [4, structs(rowGroups)],
    [5, pairs.length > 0 ? list(pairs) : undefined],
    [6, text(WRITER)],
    // Readers use the bounds of values only where their order is said.
    [7, structs(columns.flatMap(([name, column]) => leavesOf(name, column).map(() => struct([1, struct()]))))],
  ).bytes;
}

function columnChunk(chunk: ColumnChunk): ThriftValue {
  const { leaf, offset, numValues, uncompressedBytes, compressedBytes, statistics } = chunk;
  const metadata = struct(
    [1, i32(physicalType(leaf.column))],
    [2, list([i32(PLAIN), i32(RLE)])],
    [3, list(leaf.path.map(text))],
    [4, i32(ZSTD)],
    [5, i64(numValues)],
    [6, i64(uncompressedBytes)],
    [7, i64(compressedBytes)],
    [9, i64(offset)],
    [12, statistics && statisticsOf(statistics)],
  );
  return struct([2, i64(offset)], [3, metadata]);
}

function statisticsOf({ nulls, bounds }: Statistics): ThriftValue {
  if (bounds === undefined) return struct([3, i64(nulls)]);
  const isExact = bool(true);
  return struct([3, i64(nulls)], [5, binary(bounds.greatest)], [6, binary(bounds.least)], [7, isExact], [8, isExact]);
}

/** A column of the schema; a list and a map have three levels. */
function elements(name: string, column: Column): ThriftValue[] {
  if (column instanceof ListColumn)
    return [
      group(name, CONVERTED_LIST, LOGICAL_LIST),
      struct([3, i32(REPEATED)], [4, text('list')], [5, i32(1)]),
      leaf('element', column.items),
    ];
  if (column instanceof MapColumn)
    return [
      group(name, CONVERTED_MAP, LOGICAL_MAP),
      struct([3, i32(REPEATED)], [4, text('key_value')], [5, i32(2)]),
      leaf('key', column.keys, REQUIRED),
      leaf('value', column.items),
    ];
  return [leaf(name, column)];
}

function group(name: string, converted: number, logical: number): ThriftValue {
  return struct(
    [3, i32(OPTIONAL)],
    [4, text(name)],
    [5, i32(1)],
    [6, i32(converted)],
    [10, struct([logical, struct()])],
  );
}

function leaf(name: string, column: Column, repetition = OPTIONAL): ThriftValue {
  const [scale, precision] = [column instanceof DecimalColumn ? column.scale : undefined, DECIMAL_PRECISION];
  const isDecimal = scale !== undefined;
  return struct(
    [1, i32(physicalType(column))],
    [2, isDecimal ? i32(DECIMAL_BYTES) : undefined],
    [3, i32(repetition)],
    [4, text(name)],
    [6, convertedType(column)],
    [7, isDecimal ? i32(scale) : undefined],
    [8, isDecimal ? i32(precision) : undefined],
    [10, logicalType(column)],
  );
}

function convertedType(column: Column): ThriftValue | undefined {
  if (column instanceof TextColumn) return i32(UTF8);
  return column instanceof DecimalColumn ? i32(CONVERTED_DECIMAL) : undefined;
}

function logicalType(column: Column): ThriftValue | undefined {
  if (column instanceof TextColumn) return struct([LOGICAL_STRING, struct()]);
  if (column instanceof DecimalColumn)
    return struct([LOGICAL_DECIMAL, struct([1, i32(column.scale)], [2, i32(DECIMAL_PRECISION)])]);
  if (!(column instanceof TimestampColumn)) return undefined;
  // Not adjusted to UTC: the zone is that of the broker, which it does not tell.
  return struct([LOGICAL_TIMESTAMP, struct([1, bool(false)], [2, struct([MILLISECONDS, struct()])])]);
}

function physicalType(column: Column): number {
  if (column instanceof Int32Column) return INT32;
  if (column instanceof Int64Column) return INT64;
  if (column instanceof DecimalColumn) return FIXED_BYTES;
  if (column instanceof Float32Column) return FLOAT;
  if (column instanceof Float64Column) return DOUBLE;
  return column instanceof BooleanColumn ? BOOLEAN : BYTE_ARRAY;
}
