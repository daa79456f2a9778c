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
import { i32, i64, list, struct, structs, text, type ThriftValue } from './thrift.ts';

// Numbers of the enumerations and fields in parquet.thrift of the Parquet format.
const BOOLEAN = 0;
const INT32 = 1;
const INT64 = 2;
const FLOAT = 4;
const DOUBLE = 5;
const BYTE_ARRAY = 6;
const OPTIONAL = 1;
const REPEATED = 2;
const UTF8 = 0;
const CONVERTED_LIST = 3;
const LOGICAL_STRING = 1;
const LOGICAL_LIST = 3;
const PLAIN = 0;
const RLE = 3;
const ZSTD = 6;
const DATA_PAGE = 0;
const VERSION = 1;

const WRITER = 'olap-warden';

/** The pages of a column in a row group. */
export interface ColumnChunk {
  readonly column: Column;
  readonly name: string;
  /** Offset in the file. */
  readonly offset: number;
  readonly numValues: number;
  /** Sizes with the headers of the pages. */
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
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
  ).bytes;
}

function columnChunk(chunk: ColumnChunk): ThriftValue {
  const { column, name, offset, numValues, uncompressedBytes, compressedBytes } = chunk;
  const isList = column instanceof ListColumn;
  const metadata = struct(
    [1, i32(physicalType(isList ? column.items : column))],
    [2, list([i32(PLAIN), i32(RLE)])],
    [3, list((isList ? [name, 'list', 'element'] : [name]).map(text))],
    [4, i32(ZSTD)],
    [5, i64(numValues)],
    [6, i64(uncompressedBytes)],
    [7, i64(compressedBytes)],
    [9, i64(offset)],
  );
  return struct([2, i64(offset)], [3, metadata]);
}

/** A column of the schema; a list has three levels. */
function elements(name: string, column: Column): ThriftValue[] {
  if (!(column instanceof ListColumn)) return [leaf(name, column)];
  const outer = struct(
    [3, i32(OPTIONAL)],
    [4, text(name)],
    [5, i32(1)],
    [6, i32(CONVERTED_LIST)],
    [10, struct([LOGICAL_LIST, struct()])],
  );
  return [outer, struct([3, i32(REPEATED)], [4, text('list')], [5, i32(1)]), leaf('element', column.items)];
}

function leaf(name: string, column: Column): ThriftValue {
  const isText = column instanceof TextColumn;
  return struct(
    [1, i32(physicalType(column))],
    [3, i32(OPTIONAL)],
    [4, text(name)],
    [6, isText ? i32(UTF8) : undefined],
    [10, isText ? struct([LOGICAL_STRING, struct()]) : undefined],
  );
}

function physicalType(column: Column): number {
  if (column instanceof Int32Column) return INT32;
  if (column instanceof Int64Column) return INT64;
  if (column instanceof Float32Column) return FLOAT;
  if (column instanceof Float64Column) return DOUBLE;
  return column instanceof BooleanColumn ? BOOLEAN : BYTE_ARRAY;
}
