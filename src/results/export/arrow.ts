import type * as ArrowModule from 'apache-arrow';
import type { Data, DataType, Field, RecordBatch, Schema } from 'apache-arrow';
import { type ColumnBatch, columnBatches } from './columns/batches.ts';
import {
  BooleanColumn,
  BytesColumn,
  type Column,
  Float32Column,
  Float64Column,
  Int32Column,
  Int64Column,
  ListColumn,
  TextColumn,
} from './columns/column.ts';
import type { DownloadColumns } from './columns/create-columns.ts';
import { DECIMAL_PRECISION, DecimalColumn } from './columns/decimals.ts';
import { MapColumn } from './columns/maps.ts';
import { TimestampColumn } from './columns/timestamps.ts';

type Arrow = typeof ArrowModule;

/** A message of an Arrow stream begins with this marker and the length of its metadata. */
const MESSAGE_HEAD_BYTES = 8;
/** The marker and a length of 0 end the stream. */
const END_BYTES = 8;

/**
 * Rows as a stream of Arrow record batches. The end marker of the stream shows that it is complete.
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-response for a value that is not of the type of its column
 */
export async function* arrowStream(
  download: DownloadColumns,
  rows: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const { columns } = download;
  // Imported when first used, because it is large.
  const arrow = await import('apache-arrow');
  const types = columns.map((column) => typeOf(arrow, column));
  const schema = schemaStream(arrow, download, types);
  const encoder = new BatchEncoder(arrow, types);
  yield schema.subarray(0, -END_BYTES);
  for await (const batch of columnBatches(columns, rows)) yield encoder.message(batch);
  yield schema.subarray(-END_BYTES);
}

/** A complete stream in bytes of its own: the schema, the end marker. */
function schemaStream(arrow: Arrow, { names, metadata }: DownloadColumns, types: readonly DataType[]): Uint8Array {
  const fields = names.map((name, i) => new arrow.Field(name, types[i] as DataType, true));
  const schema = new arrow.Schema(fields, new Map(metadata));
  return new arrow.RecordBatchStreamWriter().reset(undefined, schema).finish().toUint8Array(true);
}

class BatchEncoder {
  readonly #arrow: Arrow;
  /** The names are the positions of the columns, because `RecordBatch` of apache-arrow takes fields by their names. The message of a batch has no names. */
  readonly #schema: Schema;

  constructor(arrow: Arrow, types: readonly DataType[]) {
    this.#arrow = arrow;
    this.#schema = new arrow.Schema(types.map((type, i) => new arrow.Field(String(i), type, true)));
  }

  /** The message of a record batch, in bytes of its own. */
  message(batch: ColumnBatch): Uint8Array {
    const writer = new this.#arrow.RecordBatchStreamWriter();
    writer.write(this.#recordBatch(batch));
    writer.finish();
    const stream = writer.toUint8Array(true);
    return stream.subarray(schemaBytes(stream), -END_BYTES);
  }

  #recordBatch({ numRows, columns }: ColumnBatch): RecordBatch {
    const { Struct, makeData, RecordBatch } = this.#arrow;
    const { fields } = this.#schema;
    const children = fields.map(({ type }: Field, i) => dataOf(this.#arrow, type, columns[i] as Column));
    return new RecordBatch(
      this.#schema,
      makeData({ type: new Struct(fields), length: numRows, nullCount: 0, children }),
    );
  }
}

/** Size of the first message of a stream, which has no body. */
function schemaBytes(stream: Uint8Array): number {
  return MESSAGE_HEAD_BYTES + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
}

function typeOf(arrow: Arrow, column: Column): DataType {
  if (column instanceof ListColumn) return new arrow.List(new arrow.Field('item', typeOf(arrow, column.items), true));
  if (column instanceof MapColumn) {
    const entry = [new arrow.Field('key', new arrow.Utf8(), false), new arrow.Field('value', new arrow.Utf8(), true)];
    return new arrow.Map_(new arrow.Field('entries', new arrow.Struct(entry), false) as never);
  }
  if (column instanceof DecimalColumn) return new arrow.Decimal(column.scale, DECIMAL_PRECISION);
  // Without a zone: it is that of the broker, which it does not tell.
  if (column instanceof TimestampColumn) return new arrow.TimestampMillisecond(null);
  if (column instanceof Int32Column) return new arrow.Int32();
  if (column instanceof Int64Column) return new arrow.Int64();
  if (column instanceof Float32Column) return new arrow.Float32();
  if (column instanceof Float64Column) return new arrow.Float64();
  if (column instanceof BooleanColumn) return new arrow.Bool();
  return column instanceof BytesColumn ? new arrow.Binary() : new arrow.Utf8();
}

/** Views of the values of a column. @param type from `typeOf` */
function dataOf(arrow: Arrow, type: DataType, column: Column): Data {
  const { length, nullCount } = column;
  const nullBitmap = nullCount === 0 ? null : column.validity.subarray(0, bitmapBytes(length));
  // The types of `makeData` require the type as a constant.
  const make = (parts: object): Data => arrow.makeData({ type, length, nullCount, nullBitmap, ...parts } as never);
  if (column instanceof ListColumn) {
    const child = dataOf(arrow, (type.children[0] as Field).type, column.items);
    return make({ valueOffsets: column.offsets.subarray(0, length + 1), child });
  }
  if (column instanceof MapColumn) {
    const { type: entries } = type.children[0] as Field;
    const [key, value] = entries.children as [Field, Field];
    const children = [dataOf(arrow, key.type, column.keys), dataOf(arrow, value.type, column.items)];
    const child = arrow.makeData({ type: entries, length: column.keys.length, nullCount: 0, children } as never);
    return make({ valueOffsets: column.offsets.subarray(0, length + 1), child });
  }
  if (column instanceof DecimalColumn) {
    const { buffer } = column.values;
    return make({ data: new Uint32Array(buffer, 0, 4 * length) });
  }
  if (column instanceof TextColumn || column instanceof BytesColumn) {
    const valueOffsets = column.offsets.subarray(0, length + 1);
    return make({ valueOffsets, data: column.data.subarray(0, valueOffsets[length]) });
  }
  if (column instanceof BooleanColumn) return make({ data: column.bits.subarray(0, bitmapBytes(length)) });
  const { values } = column as Int32Column | Int64Column | Float32Column | Float64Column;
  return make({ data: values.subarray(0, length) });
}

function bitmapBytes(length: number): number {
  return (length + 7) >> 3;
}
