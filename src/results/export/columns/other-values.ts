import { afterSpace, afterValue, CLOSE_ARRAY, COMMA, OPEN_ARRAY, textAt, textOf } from '../json-bytes.ts';
import type { Slot } from './slot.ts';

const NO_NUMBERS: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);
const NUMERAL = /^-?\d[\d.eE+-]*$/;
const HEX = /^(?:[\da-f]{2})*$/i;
/** UTF-8 uses at most this many bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

/**
 * Appends a value that the kernel does not read: a number as text or with many digits, a text with `\u`, an array or object as text.
 * @param at the first byte of a value of JSON
 * @returns the offset after the value
 * @throws {Error} if the type of the column cannot represent the value exactly
 */
export function appendOther(slot: Slot, bytes: Uint8Array, at: number): number {
  const { items } = slot;
  if (items !== undefined) return appendList(slot, items, bytes, at);
  const end = afterValue(bytes, at);
  if (end > bytes.length) throw notOfType();
  appendScalar(slot, textAt(bytes, at, end));
  return end;
}

// oxlint-disable-next-line max-params -- as many as `appendOther` has, and what it knows
function appendList(slot: Slot, items: Slot, bytes: Uint8Array, from: number): number {
  if (bytes[from] !== OPEN_ARRAY) throw notOfType();
  let at = afterSpace(bytes, from + 1);
  while (bytes[at] !== CLOSE_ARRAY) {
    at = afterSpace(bytes, appendOther(items, bytes, at));
    if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1);
    else if (bytes[at] !== CLOSE_ARRAY) throw notOfType();
  }
  slot.setOffset(slot.next() + 1, items.length);
  return at + 1;
}

/** @param raw JSON of a value */
function appendScalar(slot: Slot, raw: string): void {
  const i = slot.next();
  if (raw === 'null') {
    slot.setNull(i);
    return;
  }
  const text = textOf(raw);
  const { view } = slot.memory;
  switch (slot.kind) {
    case 'int32':
      view.setInt32(slot.values + 4 * i, intOf(text), true);
      return;
    case 'int64':
      view.setBigInt64(slot.values + 8 * i, longOf(text), true);
      return;
    case 'float32':
      view.setFloat32(slot.values + 4 * i, floatOf(text), true);
      return;
    case 'float64':
      view.setFloat64(slot.values + 8 * i, floatOf(text), true);
      return;
    case 'boolean':
      if (booleanOf(text))
        view.setUint8(slot.values + (i >> 3), view.getUint8(slot.values + (i >> 3)) | (1 << (i & 7)));
      return;
    case 'bytes':
      if (!HEX.test(text)) throw notOfType();
      appendText(slot, i, text, 'hex');
      return;
    default:
      appendText(slot, i, text, 'utf8');
  }
}

function appendText(slot: Slot, i: number, text: string, encoding: 'hex' | 'utf8'): void {
  const at = slot.reserveBytes(text.length * MAX_UTF8_BYTES);
  slot.setText(i, slot.memory.bytes.write(text, at, encoding));
}

function intOf(text: string): number {
  const value = Number(numeral(text));
  if ((value | 0) !== value) throw notOfType();
  return value;
}

function longOf(text: string): bigint {
  const value = BigInt(numeral(text));
  if (BigInt.asIntN(64, value) !== value) throw notOfType();
  return value;
}

/** `NaN` and infinities are strings in the engine's JSON. */
function floatOf(text: string): number {
  if (NO_NUMBERS.has(text)) return Number(text);
  const value = Number(numeral(text));
  if (Number.isNaN(value)) throw notOfType();
  return value;
}

function booleanOf(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw notOfType();
  return text === 'true';
}

/** A number in JSON or in a string of JSON. `Number` and `BigInt` read others, too, such as an empty text as 0. */
function numeral(text: string): string {
  if (!NUMERAL.test(text)) throw notOfType();
  return text;
}

function notOfType(): TypeError {
  return new TypeError('the value is not of the type');
}
