import type { Kind, Slot } from './slot.ts';

/** Values of one column in a batch of rows: views of the memory of a kernel. */
export abstract class Column {
  abstract readonly kind: Kind;
  length = 0;
  nullCount = 0;
  /** A bit for each value, the lowest one first: 0 for null. Unused bits are 1. */
  validity = new Uint8Array();

  isNull(i: number): boolean {
    return ((this.validity[i >> 3] as number) & (1 << (i & 7))) === 0;
  }

  /** Sets the views to the values of a slot of the same kind. */
  show(slot: Slot): void {
    this.length = slot.length;
    this.nullCount = slot.nullCount;
    this.validity = new Uint8Array(slot.memory.buffer, slot.validity, (slot.length + 7) >> 3);
  }
}

type Numbers = Int32Array | BigInt64Array | Float32Array | Float64Array;

abstract class NumberColumn<T extends Numbers> extends Column {
  values: T;
  readonly #array: new (buffer?: ArrayBuffer, offset?: number, length?: number) => T;

  constructor(array: new (buffer?: ArrayBuffer, offset?: number, length?: number) => T) {
    super();
    this.#array = array;
    this.values = new array();
  }

  override show(slot: Slot): void {
    super.show(slot);
    this.values = new this.#array(slot.memory.buffer, slot.values, slot.length);
  }
}

export class Int32Column extends NumberColumn<Int32Array> {
  readonly kind = 'int32';

  constructor() {
    super(Int32Array);
  }
}

export class Int64Column extends NumberColumn<BigInt64Array> {
  readonly kind = 'int64';

  constructor() {
    super(BigInt64Array);
  }
}

export class Float32Column extends NumberColumn<Float32Array> {
  readonly kind = 'float32';

  constructor() {
    super(Float32Array);
  }
}

export class Float64Column extends NumberColumn<Float64Array> {
  readonly kind = 'float64';

  constructor() {
    super(Float64Array);
  }
}

export class BooleanColumn extends Column {
  readonly kind = 'boolean';
  /** A bit for each value, the lowest one first. */
  bits = new Uint8Array();

  override show(slot: Slot): void {
    super.show(slot);
    this.bits = new Uint8Array(slot.memory.buffer, slot.values, (slot.length + 7) >> 3);
  }
}

/** Values of different lengths, one after the other in one buffer. */
abstract class BufferColumn extends Column {
  /** Where each value begins in `data`, and where the last one ends. */
  offsets = new Int32Array(1);
  data = Buffer.alloc(0);

  override show(slot: Slot): void {
    super.show(slot);
    this.offsets = new Int32Array(slot.memory.buffer, slot.values, slot.length + 1);
    this.data = Buffer.from(slot.memory.buffer, slot.data, slot.used);
  }
}

/** Texts; values of other types as they are written in JSON. */
export class TextColumn extends BufferColumn {
  readonly kind = 'text';
}

/** Bytes, which the engine writes in hexadecimal digits. */
export class BytesColumn extends BufferColumn {
  readonly kind = 'bytes';
}

/** Values of a multi-value column. */
export class ListColumn extends Column {
  readonly kind = 'list';
  readonly items: AnyColumn;
  /** The first item of each list, and the end of the last one. */
  offsets = new Int32Array(1);

  constructor(items: AnyColumn) {
    super();
    this.items = items;
  }

  override show(slot: Slot): void {
    super.show(slot);
    this.offsets = new Int32Array(slot.memory.buffer, slot.values, slot.length + 1);
    if (slot.items !== undefined) this.items.show(slot.items);
  }
}

/** A column of any type. */
export type AnyColumn =
  | Int32Column
  | Int64Column
  | Float32Column
  | Float64Column
  | BooleanColumn
  | BytesColumn
  | TextColumn
  | ListColumn;

const ARRAY = '_ARRAY';

/** A column for values of a type of the engine. A type without an exact equivalent is text, as the engine writes it. */
export function createColumn(type: string): AnyColumn {
  return type.endsWith(ARRAY) ? new ListColumn(createItems(type.slice(0, -ARRAY.length))) : createItems(type);
}

/** A column for single values. The engine has no lists of lists: those would be texts. */
function createItems(type: string): AnyColumn {
  switch (type) {
    case 'INT':
      return new Int32Column();
    case 'LONG':
      return new Int64Column();
    case 'FLOAT':
      return new Float32Column();
    case 'DOUBLE':
      return new Float64Column();
    case 'BOOLEAN':
      return new BooleanColumn();
    case 'BYTES':
      return new BytesColumn();
    default:
      return new TextColumn();
  }
}
