/** A value in the compact protocol of Thrift, in which Parquet writes its metadata. */
export interface ThriftValue {
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** A field of a structure has its boolean in its type. */
const [TRUE, FALSE] = [1, 2] as const;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;
/** The size of a list up to this one is in its first byte. */
const MAX_SHORT_LIST = 14;
const STOP = Buffer.of(0);

/** A field of a structure, not an item of a list. */
export function bool(value: boolean): ThriftValue {
  return { type: value ? TRUE : FALSE, bytes: Buffer.alloc(0) };
}

/** @param value signed, of 32 bits */
export function i32(value: number): ThriftValue {
  return { type: I32, bytes: varint(((value << 1) ^ (value >> 31)) >>> 0) };
}

/** @param value from 0 to 2^52 */
export function i64(value: number): ThriftValue {
  return { type: I64, bytes: varint(2 * value) };
}

export function text(value: string): ThriftValue {
  return binary(Buffer.from(value));
}

export function binary(value: Uint8Array): ThriftValue {
  return { type: BINARY, bytes: Buffer.concat([varint(value.length), value]) };
}

/** @param items at least one, all of the same type */
export function list(items: readonly ThriftValue[]): ThriftValue {
  return listOf(items[0]?.type ?? STRUCT, items);
}

/** A list that may be empty. */
export function structs(items: readonly ThriftValue[]): ThriftValue {
  return listOf(STRUCT, items);
}

/** @param fields with ids in ascending order, at most 15 apart; undefined for an optional one that is absent */
export function struct(...fields: readonly (readonly [id: number, value: ThriftValue | undefined])[]): ThriftValue {
  const parts: Uint8Array[] = [];
  let last = 0;
  for (const [id, value] of fields) {
    if (value === undefined) continue;
    parts.push(Buffer.of(((id - last) << 4) | value.type), value.bytes);
    last = id;
  }
  return { type: STRUCT, bytes: Buffer.concat([...parts, STOP]) };
}

function listOf(type: number, items: readonly ThriftValue[]): ThriftValue {
  const { length } = items;
  const head = length <= MAX_SHORT_LIST ? [Buffer.of((length << 4) | type)] : [Buffer.of(0xf0 | type), varint(length)];
  return { type: LIST, bytes: Buffer.concat([...head, ...items.map(({ bytes }) => bytes)]) };
}

/** Seven bits in each byte, the lowest ones first. @param value a whole number from 0 to 2^53 */
export function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
