import type * as ArrowModule from 'apache-arrow';
import type { Data, DataType, Field, Schema, Utf8 } from 'apache-arrow';
import { QueryError } from '../errors.ts';
import { rawValues, textOf } from './raw-values.ts';

type Arrow = typeof ArrowModule;

/** The columns of a result as the engine names them. */
export interface Columns {
  readonly columnNames: readonly string[];
  readonly columnDataTypes: readonly string[];
}

/** Characters of row texts in one record batch. */
const BATCH_LENGTH = 1024 * 1024;
/** A message of an Arrow stream begins with this marker and the length of its metadata. */
const MESSAGE_HEAD_BYTES = 8;
/** The marker and a length of 0 end the stream. */
const END_BYTES = 8;
const ARRAY = '_ARRAY';

interface ColumnType {
  readonly type: DataType;
  /** @param raw JSON of a value other than null. @throws {Error} if the type cannot represent it exactly */
  readonly valueOf: (raw: string) => unknown;
}

/**
 * Rows as a stream of Arrow record batches. A type without an exact equivalent in Arrow is text, as the engine writes it. The end marker of the
 * stream shows that it is complete.
 * @throws {QueryError} bad-answer for a value that is not of the type of its column
 */
export async function* arrowStream(
  { columnNames, columnDataTypes }: Columns,
  rows: AsyncIterable<readonly string[]>,
): AsyncIterable<Uint8Array> {
  // Imported when first used, because it is large.
  const arrow = await import('apache-arrow');
  const types = columnDataTypes.map((name) => columnType(arrow, name));
  const fields = types.map(({ type }, i) => new arrow.Field(columnNames[i] ?? '', type, true));
  const schema = new arrow.Schema(fields);
  const encoder = new BatchEncoder(arrow, schema, types);
  yield encoder.schema();
  for await (const batch of rows) {
    for (const row of batch) encoder.add(row);
    if (encoder.length >= BATCH_LENGTH) yield encoder.flush();
  }
  if (encoder.rows > 0) yield encoder.flush();
  yield encoder.end();
}

/** Collects the values of a column for one record batch. */
interface ColumnBuilder {
  append(value: unknown): unknown;
  flush(): Data;
}

/** UTF-8 uses at most this many bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

/** A column of texts, encoded into one buffer: the builder of apache-arrow allocates one for each text, which takes most of the time of a download. */
class TextBuilder implements ColumnBuilder {
  readonly #arrow: Arrow;
  readonly #type: Utf8;
  #texts: (string | null)[] = [];

  constructor(arrow: Arrow, type: Utf8) {
    this.#arrow = arrow;
    this.#type = type;
  }

  append(value: string | null): void {
    this.#texts.push(value);
  }

  flush(): Data {
    const texts = this.#texts;
    this.#texts = [];
    const length = texts.length;
    const limit = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0) * MAX_UTF8_BYTES;
    const bytes = Buffer.allocUnsafeSlow(limit);
    const valueOffsets = new Int32Array(length + 1);
    const nullBitmap = new Uint8Array((length + 7) >> 3);
    let nullCount = 0;
    let end = 0;
    for (const [i, text] of texts.entries()) {
      if (text === null) nullCount++;
      else {
        end += bytes.write(text, end);
        nullBitmap[i >> 3] = (nullBitmap[i >> 3] ?? 0) | (1 << (i & 7));
      }
      valueOffsets[i + 1] = end;
    }
    const data = bytes.subarray(0, end);
    return this.#arrow.makeData({ type: this.#type, length, nullCount, nullBitmap, valueOffsets, data });
  }
}

/** Encodes rows as messages of an Arrow stream. */
class BatchEncoder {
  /** Characters and rows since the last flush. */
  length = 0;
  rows = 0;
  readonly #arrow: Arrow;
  readonly #schema: Schema;
  readonly #types: readonly ColumnType[];
  readonly #builders: readonly ColumnBuilder[];
  #rowNumber = 0;

  constructor(arrow: Arrow, schema: Schema, types: readonly ColumnType[]) {
    this.#arrow = arrow;
    this.#schema = schema;
    this.#types = types;
    this.#builders = schema.fields.map(({ type }: Field) =>
      arrow.DataType.isUtf8(type) ? new TextBuilder(arrow, type) : arrow.makeBuilder({ type, nullValues: [null] }),
    );
  }

  add(row: string): void {
    const values = rawValues(row);
    if (values.length !== this.#types.length) throw this.#wrong(`has ${values.length} values`);
    for (const [i, raw] of values.entries()) {
      const { valueOf } = this.#types[i] as ColumnType;
      try {
        this.#builders[i]?.append(raw === 'null' ? null : valueOf(raw));
      } catch (error) {
        throw this.#wrong(`has a value in column ${i} that is not of its type`, error);
      }
    }
    this.length += row.length;
    this.rows++;
    this.#rowNumber++;
  }

  flush(): Uint8Array {
    const { Struct, makeData, RecordBatch } = this.#arrow;
    const type = new Struct(this.#schema.fields);
    const children = this.#builders.map((builder) => builder.flush());
    const batch = new RecordBatch(this.#schema, makeData({ type, length: this.rows, nullCount: 0, children }));
    this.rows = 0;
    this.length = 0;
    const stream = this.#stream([batch]);
    return stream.subarray(schemaBytes(stream), stream.length - END_BYTES);
  }

  schema(): Uint8Array {
    const stream = this.#empty();
    return stream.subarray(0, schemaBytes(stream));
  }

  end(): Uint8Array {
    const stream = this.#empty();
    return stream.subarray(stream.length - END_BYTES);
  }

  #empty(): Uint8Array {
    const { Struct, makeData, RecordBatch } = this.#arrow;
    const type = new Struct(this.#schema.fields);
    const children = this.#schema.fields.map((field: Field) => this.#arrow.makeBuilder({ type: field.type }).flush());
    return this.#stream([new RecordBatch(this.#schema, makeData({ type, length: 0, nullCount: 0, children }))]);
  }

  /** A complete stream: the schema, the batches, the end marker. */
  #stream(batches: InstanceType<Arrow['RecordBatch']>[]): Uint8Array {
    const writer = new this.#arrow.RecordBatchStreamWriter();
    for (const batch of batches) writer.write(batch);
    writer.finish();
    return writer.toUint8Array(true);
  }

  #wrong(what: string, cause?: unknown): QueryError {
    return new QueryError('bad-answer', `row ${this.#rowNumber} of the result ${what}`, { cause });
  }
}

/** Size of the first message of a stream, which has no body. */
function schemaBytes(stream: Uint8Array): number {
  return MESSAGE_HEAD_BYTES + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
}

function columnType(arrow: Arrow, name: string): ColumnType {
  if (!name.endsWith(ARRAY)) return scalarType(arrow, name);
  const { type, valueOf } = scalarType(arrow, name.slice(0, -ARRAY.length));
  return {
    type: new arrow.List(new arrow.Field('item', type, true)),
    valueOf: (raw) => rawValues(raw).map((value) => (value === 'null' ? null : valueOf(value))),
  };
}

function scalarType(arrow: Arrow, name: string): ColumnType {
  switch (name) {
    case 'INT':
      return { type: new arrow.Int32(), valueOf: (raw) => exact(Number(numeral(raw)), (n) => (n | 0) === n) };
    case 'LONG':
      return {
        type: new arrow.Int64(),
        valueOf: (raw) => exact(BigInt(numeral(raw)), (n) => BigInt.asIntN(64, n) === n),
      };
    case 'FLOAT':
      return { type: new arrow.Float32(), valueOf: floatOf };
    case 'DOUBLE':
      return { type: new arrow.Float64(), valueOf: floatOf };
    case 'BOOLEAN':
      return {
        type: new arrow.Bool(),
        valueOf: (raw) => exact(textOf(raw), (text) => text === 'true' || text === 'false') === 'true',
      };
    case 'BYTES':
      return {
        type: new arrow.Binary(),
        valueOf: (raw) =>
          Buffer.from(
            exact(textOf(raw), (text) => /^(?:[\da-f]{2})*$/i.test(text)),
            'hex',
          ),
      };
    default:
      return { type: new arrow.Utf8(), valueOf: textOf };
  }
}

/** `NaN` and infinities are strings in the engine's JSON. */
function floatOf(raw: string): number {
  const text = textOf(raw);
  return NO_NUMBERS.has(text) ? Number(text) : exact(Number(numeral(raw)), (n) => !Number.isNaN(n));
}

const NO_NUMBERS: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);
const NUMERAL = /^-?\d[\d.eE+-]*$/;

/** The text of a number in JSON or in a string of JSON. `Number` and `BigInt` read others, too, such as an empty text as 0. */
function numeral(raw: string): string {
  return exact(textOf(raw), (text) => NUMERAL.test(text));
}

function exact<T>(value: T, holds: (value: T) => boolean): T {
  if (!holds(value)) throw new TypeError('the value is not of the type');
  return value;
}
