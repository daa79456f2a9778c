// Reads rows of JSON into columns, in AssemblyScript; compiled ahead of time by tools/generate/kernels.ts.
//
// It reads the values that engines usually write. A value that it does not read, and room that is missing, are left to
// src/results/export/columns: a value is appended as a whole or not at all, so that the caller appends it, or makes room, and calls again.
// The rows are valid JSON, checked before. Each loop ends at the two bytes after the input, a bracket and a quote, also for other bytes.

// What `run` returns, agreed with src/results/export/columns/kernel.ts. A negative value comes from the value at `valueAt`.
const ALL_READ: i32 = 0;
const BATCH_READ: i32 = 1;
const NO_ROW: i32 = 2;
const WRONG_COUNT: i32 = 3;
/** A value that this kernel does not read, of the column `column`. */
const OTHER_VALUE: i32 = -1;
/** The slot `needy` has no room for one more value. */
const NO_PLACE: i32 = -2;
/** The slot `needy` has no room for more bytes of texts. */
const NO_ROOM: i32 = -3;

// Fields of a slot, the description of a column, agreed with src/results/export/columns/slot.ts.
const KIND: usize = 0;
const LENGTH: usize = 4;
const CAPACITY: usize = 8;
const NULLS: usize = 12;
const VALIDITY: usize = 16;
/** Values; the bits of booleans; where each text or list begins, and where the last one ends. */
const VALUES: usize = 20;
const DATA: usize = 24;
const USED: usize = 28;
const ROOM: usize = 32;
const ITEMS: usize = 36;
const SLOT_BYTES: usize = 40;

const INT32: i32 = 0;
const INT64: i32 = 1;
const FLOAT32: i32 = 2;
const FLOAT64: i32 = 3;
const BOOLEAN: i32 = 4;
const BYTES: i32 = 5;
const TEXT: i32 = 6;

const SPACE: u8 = 0x20;
const QUOTE: u8 = 0x22;
const PLUS: u8 = 0x2b;
const COMMA: u8 = 0x2c;
const MINUS: u8 = 0x2d;
const POINT: u8 = 0x2e;
const LOWER_E: u8 = 0x65;
const OPEN_ARRAY: u8 = 0x5b;
const CLOSE_ARRAY: u8 = 0x5d;
const OPEN_OBJECT: u8 = 0x7b;
const LETTER_N: u8 = 0x6e;
const LETTER_F: u8 = 0x66;
/** Their letters as a word, the first one lowest. */
const NULL: u32 = 0x6c6c756e;
const TRUE: u32 = 0x65757274;
const ALSE: u32 = 0x65736c61;

const EACH_BYTE: u64 = 0x0101010101010101;
const HIGH_BITS: u64 = 0x8080808080808080;
const QUOTES: u64 = 0x2222222222222222;
const BACKSLASHES: u64 = 0x5c5c5c5c5c5c5c5c;
const ZEROS: u64 = 0x3030303030303030;
/** Added to a byte above 9, it sets the highest bit. */
const ABOVE_9: u64 = 0x7676767676767676;

/** Numbers with more digits do not fit into 64 bits. */
const MAX_DIGITS: i32 = 19;
/** Integers up to this one, and these powers of ten, are exact as doubles: so is one rounding of their product or quotient (Clinger, 1990). */
const MAX_EXACT: u64 = 1 << 53;
const MAX_POWER: i32 = 22;
const POWERS: usize = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
]);
/** Of no exponent that a product or quotient of exact doubles has. */
const MAX_EXPONENT_DIGITS: i32 = 3;

/** Where reading continues: before a row, or after the value before the one of `column`. */
export let position: usize = 0;
/** -1 before a row. */
export let column: i32 = -1;
/** Rows that are complete. */
export let rows: i32 = 0;
export let rowAt: usize = 0;
export let valueAt: usize = 0;
export let needy: usize = 0;
/** Slots of the columns, one after the other. */
export let slots: usize = 0;
export let count: i32 = 0;

/** Offset of the digits of the number that was read last, and of the byte after them. */
let digitsEnd: usize = 0;
let digits: u64 = 0;

/** The first byte that may be used for slots, values and input. */
export function heapBase(): usize { return __heap_base; }

// @ts-ignore: decorator
@inline
function skipSpace(at: usize): usize {
  while (load<u8>(at) <= SPACE) at++;
  return at;
}

// @ts-ignore: decorator
@inline
function endsValue(at: usize): bool {
  const byte = load<u8>(at);
  return byte == COMMA || byte == CLOSE_ARRAY || byte <= SPACE;
}

/** The bit of value `i` in its byte. */
// @ts-ignore: decorator
@inline
function bitOf(i: i32): u8 {
  const bit = <u32>1 << (<u32>i & 7);
  return <u8>bit;
}

/** Marks the highest bit of bytes that equal those of `wanted`. Bits above the lowest mark may be wrong. */
// @ts-ignore: decorator
@inline
function marksOf(word: u64, wanted: u64): u64 {
  const difference = word ^ wanted;
  return (difference - EACH_BYTE) & ~difference & HIGH_BITS;
}

/** The number of eight digits, of which each byte is one, the first one lowest. */
// @ts-ignore: decorator
@inline
function eightDigits(word: u64): u64 {
  const pairs = word * 10 + (word >> 8);
  return (((pairs & 0x000000ff000000ff) * 0x000f424000000064) + (((pairs >> 16) & 0x000000ff000000ff) * 0x0000271000000001)) >> 32;
}

/** Marks the highest bit of the first byte that is no digit; bits above it may be wrong. @param word bytes less those of `0` */
// @ts-ignore: decorator
@inline
function noDigits(word: u64): u64 {
  return ((word + ABOVE_9) | word) & HIGH_BITS;
}

/** Reads digits after those in `digits`, and sets `digitsEnd`. More than 19 digits are wrong: the caller counts them. */
// @ts-ignore: decorator
@inline
function readDigits(from: usize): void {
  let at = from;
  let value = digits;
  let word = load<u64>(at) ^ ZEROS;
  let others = noDigits(word);
  while (others == 0) {
    value = value * 100000000 + eightDigits(word);
    at += 8;
    word = load<u64>(at) ^ ZEROS;
    others = noDigits(word);
  }
  const length = <usize>(ctz(others) >> 3);
  if (length > 0) {
    value = value * <u64>load<f64>(POWERS + (length << 3)) + eightDigits(word << (64 - (<u64>length << 3)));
    at += length;
  }
  digits = value;
  digitsEnd = at;
}

function appendInteger(slot: usize, i: i32, at: usize, isLong: bool): i32 {
  const isNegative = load<u8>(at) == MINUS;
  const start = at + <usize>isNegative;
  digits = 0;
  readDigits(start);
  const end = digitsEnd;
  const length = <i32>(end - start);
  if (length == 0 || length > MAX_DIGITS || !endsValue(end)) return OTHER_VALUE;
  const max = isLong ? <u64>i64.MAX_VALUE : <u64>i32.MAX_VALUE;
  if (digits > max) return OTHER_VALUE;
  const value = isNegative ? -(<i64>digits) : <i64>digits;
  if (isLong) store<i64>(load<usize>(slot, VALUES) + (<usize>i << 3), value);
  else store<i32>(load<usize>(slot, VALUES) + (<usize>i << 2), <i32>value);
  store<i32>(slot, i + 1, LENGTH);
  return <i32>end;
}

function appendFloat(slot: usize, i: i32, at: usize, isDouble: bool): i32 {
  const isNegative = load<u8>(at) == MINUS;
  const start = at + <usize>isNegative;
  digits = 0;
  readDigits(start);
  let end = digitsEnd;
  let length = <i32>(end - start);
  if (length == 0) return OTHER_VALUE;
  let power: i32 = 0;
  if (load<u8>(end) == POINT) {
    const from = end + 1;
    readDigits(from);
    end = digitsEnd;
    power = -<i32>(end - from);
    if (power == 0) return OTHER_VALUE;
    length -= power;
  }
  if (length > MAX_DIGITS || digits > MAX_EXACT) return OTHER_VALUE;
  const mantissa = <f64>digits;
  if ((load<u8>(end) | 0x20) == LOWER_E) {
    const sign = load<u8>(end + 1);
    const from = end + 1 + <usize>(sign == MINUS || sign == PLUS);
    digits = 0;
    readDigits(from);
    end = digitsEnd;
    const exponentDigits = <i32>(end - from);
    if (exponentDigits == 0 || exponentDigits > MAX_EXPONENT_DIGITS) return OTHER_VALUE;
    power += sign == MINUS ? -<i32>digits : <i32>digits;
  }
  if (power < -MAX_POWER || power > MAX_POWER || !endsValue(end)) return OTHER_VALUE;
  let value = power < 0
    ? mantissa / load<f64>(POWERS + (<usize>(-power) << 3))
    : mantissa * load<f64>(POWERS + (<usize>power << 3));
  if (isNegative) value = -value;
  if (isDouble) store<f64>(load<usize>(slot, VALUES) + (<usize>i << 3), value);
  else store<f32>(load<usize>(slot, VALUES) + (<usize>i << 2), <f32>value);
  store<i32>(slot, i + 1, LENGTH);
  return <i32>end;
}

/** The bits of a column are 0 before. */
function appendBoolean(slot: usize, i: i32, at: usize): i32 {
  let end = at + 4;
  if (load<u32>(at) == TRUE) {
    const place = load<usize>(slot, VALUES) + <usize>(i >> 3);
    store<u8>(place, load<u8>(place) | bitOf(i));
  } else {
    if (load<u8>(at) != LETTER_F || load<u32>(at + 1) != ALSE) return OTHER_VALUE;
    end++;
  }
  store<i32>(slot, i + 1, LENGTH);
  return <i32>end;
}

// @ts-ignore: decorator
@inline
function endText(slot: usize, i: i32, to: usize): void {
  const used = <i32>(to - load<usize>(slot, DATA));
  store<i32>(slot, used, USED);
  store<i32>(load<usize>(slot, VALUES) + (<usize>(i + 1) << 2), used);
  store<i32>(slot, i + 1, LENGTH);
}

/** The character of an escape sequence of two characters, by its second one. */
// @ts-ignore: decorator
@inline
function escaped(byte: u8): u8 {
  switch (byte) {
    case 0x22: return 0x22;
    case 0x5c: return 0x5c;
    case 0x2f: return 0x2f;
    case 0x62: return 0x08;
    case 0x66: return 0x0c;
    case 0x6e: return 0x0a;
    case 0x72: return 0x0d;
    case 0x74: return 0x09;
    default: return 0;
  }
}

/** Copies a text while its end is searched. */
function appendText(slot: usize, i: i32, at: usize): i32 {
  if (load<u8>(at) != QUOTE) return appendLiteral(slot, i, at);
  let to = load<usize>(slot, DATA) + load<usize>(slot, USED);
  const limit = load<usize>(slot, DATA) + load<usize>(slot, ROOM) - 8;
  let from = at + 1;
  for (;;) {
    if (to > limit) return needs(slot);
    const word = load<u64>(from);
    store<u64>(to, word);
    const marks = marksOf(word, QUOTES) | marksOf(word, BACKSLASHES);
    if (marks == 0) {
      from += 8;
      to += 8;
      continue;
    }
    const length = <usize>(ctz(marks) >> 3);
    from += length;
    to += length;
    if (load<u8>(from) == QUOTE) break;
    const byte = escaped(load<u8>(from + 1));
    if (byte == 0) return OTHER_VALUE;
    store<u8>(to, byte);
    from += 2;
    to++;
  }
  endText(slot, i, to);
  return <i32>(from + 1);
}

/** A number, `true` or `false` in a column of texts: its bytes. */
function appendLiteral(slot: usize, i: i32, at: usize): i32 {
  const first = load<u8>(at);
  if (first == OPEN_ARRAY || first == OPEN_OBJECT) return OTHER_VALUE;
  let to = load<usize>(slot, DATA) + load<usize>(slot, USED);
  const limit = load<usize>(slot, DATA) + load<usize>(slot, ROOM);
  let from = at;
  while (!endsValue(from)) {
    if (to >= limit) return needs(slot);
    store<u8>(to++, load<u8>(from++));
  }
  endText(slot, i, to);
  return <i32>from;
}

// @ts-ignore: decorator
@inline
function needs(slot: usize): i32 {
  needy = slot;
  return NO_ROOM;
}

/** The value of a hexadecimal digit; 255 for another byte. */
// @ts-ignore: decorator
@inline
function hexDigit(byte: u8): u32 {
  const number = <u32>byte - 0x30;
  if (number <= 9) return number;
  const letter = (<u32>byte | 0x20) - 0x61;
  return letter <= 5 ? letter + 10 : 255;
}

function appendBytes(slot: usize, i: i32, at: usize): i32 {
  if (load<u8>(at) != QUOTE) return OTHER_VALUE;
  let to = load<usize>(slot, DATA) + load<usize>(slot, USED);
  const limit = load<usize>(slot, DATA) + load<usize>(slot, ROOM);
  let from = at + 1;
  while (load<u8>(from) != QUOTE) {
    const high = hexDigit(load<u8>(from));
    const low = hexDigit(load<u8>(from + 1));
    if ((high | low) > 15) return OTHER_VALUE;
    if (to >= limit) return needs(slot);
    store<u8>(to++, <u8>(high << 4 | low));
    from += 2;
  }
  endText(slot, i, to);
  return <i32>(from + 1);
}

/** A null has the value 0, because the memory has values of other downloads; a text or list that is null has no length. */
function appendNull(slot: usize, i: i32, at: usize): i32 {
  if (load<u32>(at) != NULL) return OTHER_VALUE;
  const place = load<usize>(slot, VALIDITY) + <usize>(i >> 3);
  store<u8>(place, load<u8>(place) & ~bitOf(i));
  store<i32>(slot, load<i32>(slot, NULLS) + 1, NULLS);
  const values = load<usize>(slot, VALUES);
  const kind = load<i32>(slot, KIND);
  if (kind == INT64 || kind == FLOAT64) store<i64>(values + (<usize>i << 3), 0);
  else if (kind == INT32 || kind == FLOAT32) store<i32>(values + (<usize>i << 2), 0);
  else if (kind != BOOLEAN) {
    const offset = values + (<usize>i << 2);
    store<i32>(offset + 4, load<i32>(offset));
  }
  store<i32>(slot, i + 1, LENGTH);
  return <i32>(at + 4);
}

/** Removes the items from `length`, which were appended for a list that is not complete. */
function removeItems(items: usize, length: i32, used: i32): void {
  const validity = load<usize>(items, VALIDITY);
  let nulls = load<i32>(items, NULLS);
  for (let i = length, end = load<i32>(items, LENGTH); i < end; i++) {
    const place = validity + <usize>(i >> 3);
    const bit = bitOf(i);
    const byte = load<u8>(place);
    if ((byte & bit) == 0) nulls--;
    store<u8>(place, byte | bit);
    if (load<i32>(items, KIND) == BOOLEAN) {
      const value = load<usize>(items, VALUES) + <usize>(i >> 3);
      store<u8>(value, load<u8>(value) & ~bit);
    }
  }
  store<i32>(items, nulls, NULLS);
  store<i32>(items, length, LENGTH);
  store<i32>(items, used, USED);
}

function appendList(slot: usize, i: i32, from: usize): i32 {
  if (load<u8>(from) != OPEN_ARRAY) return OTHER_VALUE;
  const items = load<usize>(slot, ITEMS);
  const length = load<i32>(items, LENGTH);
  const used = load<i32>(items, USED);
  let at = skipSpace(from + 1);
  while (load<u8>(at) != CLOSE_ARRAY) {
    const after = append(items, at);
    let result = after;
    if (after >= 0) {
      at = skipSpace(<usize>after);
      const byte = load<u8>(at);
      if (byte == COMMA) at = skipSpace(at + 1);
      else if (byte != CLOSE_ARRAY) result = OTHER_VALUE;
    }
    if (result < 0) {
      removeItems(items, length, used);
      return result;
    }
  }
  store<i32>(load<usize>(slot, VALUES) + (<usize>(i + 1) << 2), load<i32>(items, LENGTH));
  store<i32>(slot, i + 1, LENGTH);
  return <i32>(at + 1);
}

/** Appends the value at `at`. @returns the offset after it, or a negative number: nothing is appended */
function append(slot: usize, at: usize): i32 {
  const i = load<i32>(slot, LENGTH);
  if (i == load<i32>(slot, CAPACITY)) {
    needy = slot;
    return NO_PLACE;
  }
  if (load<u8>(at) == LETTER_N) return appendNull(slot, i, at);
  switch (load<i32>(slot, KIND)) {
    case INT32: return appendInteger(slot, i, at, false);
    case INT64: return appendInteger(slot, i, at, true);
    case FLOAT32: return appendFloat(slot, i, at, false);
    case FLOAT64: return appendFloat(slot, i, at, true);
    case BOOLEAN: return appendBoolean(slot, i, at);
    case BYTES: return appendBytes(slot, i, at);
    case TEXT: return appendText(slot, i, at);
    default: return appendList(slot, i, at);
  }
}

/**
 * Reads rows, each followed by a comma except the last one.
 * @param end offset after the rows
 * @param stop returns BATCH_READ after the row that ends at this offset or behind it
 */
export function run(end: usize, stop: usize): i32 {
  let at = position;
  let i = column;
  for (;;) {
    if (i < 0) {
      at = skipSpace(at);
      if (at >= end) {
        position = end;
        column = -1;
        return ALL_READ;
      }
      rowAt = at;
      if (load<u8>(at) != OPEN_ARRAY) return NO_ROW;
      at++;
      i = 0;
    }
    for (; i < count; i++) {
      let from = skipSpace(at);
      if (i > 0) {
        if (load<u8>(from) != COMMA) return WRONG_COUNT;
        from = skipSpace(from + 1);
      }
      if (load<u8>(from) == CLOSE_ARRAY) return WRONG_COUNT;
      const after = append(slots + <usize>i * SLOT_BYTES, from);
      if (after < 0 || <usize>after > end) {
        position = at;
        column = i;
        valueAt = from;
        return after < 0 ? after : OTHER_VALUE;
      }
      at = <usize>after;
    }
    at = skipSpace(at);
    if (load<u8>(at) != CLOSE_ARRAY || at >= end) return WRONG_COUNT;
    at = skipSpace(at + 1);
    i = -1;
    rows++;
    if (at < end) {
      if (load<u8>(at) != COMMA) {
        rowAt = at;
        return NO_ROW;
      }
      at++;
    }
    if (at >= stop) {
      position = at;
      column = -1;
      return BATCH_READ;
    }
  }
  return ALL_READ;
}
