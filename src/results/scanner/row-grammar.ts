/** States of the JSON automaton, and the effects of bytes that change more than the state. */
export const AT = {
  // Between two rows.
  rowOrEnd: 0,
  commaOrEnd: 1,
  row: 2,
  // Inside a row, outside of a value.
  first: 3,
  value: 4,
  after: 5,
  firstKey: 6,
  key: 7,
  colon: 8,
  // Inside a string.
  string: 9,
  escape: 10,
  hex4: 11,
  hex1: 14,
  // Inside a number.
  minus: 15,
  zero: 16,
  integer: 17,
  point: 18,
  fraction: 19,
  exponent: 20,
  exponentSign: 21,
  exponentDigits: 22,
  // Inside a literal: the remaining letters of `true`, `false` and `null`.
  literals: 23,
} as const;

/** A table entry below this is the next state. */
export const FIRST_EFFECT = 64;
export const EFFECT = {
  openRow: 64,
  endRows: 65,
  openArray: 66,
  closeArray: 67,
  openObject: 68,
  closeObject: 69,
  comma: 70,
  openKey: 71,
  closeString: 72,
  invalid: 255,
} as const;

const LITERALS = ['true', 'false', 'null'];
const STATES = AT.literals + LITERALS.reduce((sum, text) => sum + text.length - 1, 0);

/** The next state or an effect, by `state * 256 + byte`. */
export const TRANSITIONS: Uint8Array = transitions();

function transitions(): Uint8Array {
  const table = new Uint8Array(STATES * 256).fill(EFFECT.invalid);
  const bytesOf = (text: string): number[] => Array.from(text, (char) => char.charCodeAt(0));
  const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const on = (state: number, bytes: readonly number[], next: number): void => {
    for (const byte of bytes) table[state * 256 + byte] = next;
  };
  const space = bytesOf(' \n\r\t');
  const digits = bytesOf('0123456789');
  const quote = bytesOf('"');
  const comma = bytesOf(',');
  const openArray = bytesOf('[');
  const closeArray = bytesOf(']');
  const openObject = bytesOf('{');
  const closeObject = bytesOf('}');

  for (const state of [AT.rowOrEnd, AT.commaOrEnd, AT.row, AT.first, AT.value, AT.after, AT.firstKey, AT.key, AT.colon])
    on(state, space, state);
  on(AT.rowOrEnd, openArray, EFFECT.openRow);
  on(AT.row, openArray, EFFECT.openRow);
  on(AT.rowOrEnd, closeArray, EFFECT.endRows);
  on(AT.commaOrEnd, closeArray, EFFECT.endRows);
  on(AT.commaOrEnd, comma, AT.row);

  for (const state of [AT.first, AT.value]) {
    on(state, quote, AT.string);
    on(state, openArray, EFFECT.openArray);
    on(state, openObject, EFFECT.openObject);
    on(state, digits, AT.integer);
    on(state, bytesOf('0'), AT.zero);
    on(state, bytesOf('-'), AT.minus);
  }
  on(AT.first, closeArray, EFFECT.closeArray);
  on(AT.firstKey, quote, EFFECT.openKey);
  on(AT.firstKey, closeObject, EFFECT.closeObject);
  on(AT.key, quote, EFFECT.openKey);
  on(AT.colon, bytesOf(':'), AT.value);

  // UTF-8 is checked elsewhere.
  on(AT.string, range(0x20, 0xff), AT.string);
  on(AT.string, quote, EFFECT.closeString);
  on(AT.string, bytesOf('\\'), AT.escape);
  on(AT.escape, bytesOf('"\\/bfnrt'), AT.string);
  on(AT.escape, bytesOf('u'), AT.hex4);
  for (let state = AT.hex4 as number; state <= AT.hex1; state++)
    on(state, bytesOf('0123456789abcdefABCDEF'), state === AT.hex1 ? AT.string : state + 1);
  on(AT.minus, digits, AT.integer);
  on(AT.minus, bytesOf('0'), AT.zero);
  on(AT.integer, digits, AT.integer);
  on(AT.point, digits, AT.fraction);
  on(AT.fraction, digits, AT.fraction);
  on(AT.exponent, digits, AT.exponentDigits);
  on(AT.exponent, bytesOf('+-'), AT.exponentSign);
  on(AT.exponentSign, digits, AT.exponentDigits);
  on(AT.exponentDigits, digits, AT.exponentDigits);
  for (const state of [AT.zero, AT.integer]) on(state, bytesOf('.'), AT.point);
  for (const state of [AT.zero, AT.integer, AT.fraction]) on(state, bytesOf('eE'), AT.exponent);

  for (const state of [AT.after, AT.zero, AT.integer, AT.fraction, AT.exponentDigits]) {
    on(state, space, AT.after);
    on(state, comma, EFFECT.comma);
    on(state, closeArray, EFFECT.closeArray);
    on(state, closeObject, EFFECT.closeObject);
  }

  let state: number = AT.literals;
  for (const literal of LITERALS) {
    const letters = bytesOf(literal);
    for (const start of [AT.first, AT.value]) on(start, letters.slice(0, 1), state);
    for (let i = 1; i < letters.length; i++, state++)
      on(state, letters.slice(i, i + 1), i === letters.length - 1 ? AT.after : state + 1);
  }
  return table;
}

const COMMA = 0x2c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

export const MISMATCH = 'a closing bracket that does not match the opening one';

/** What is wrong with a byte that the automaton rejects. */
export function rejection(state: number, byte: number): string {
  if (state <= AT.row) return betweenRows(state, byte);
  if (state <= AT.colon) return outsideValue(state, byte);
  if (state < AT.minus)
    return byte < SPACE ? 'a control character inside a string' : 'an invalid escape inside a string';
  return state < AT.literals ? 'an invalid number' : 'an invalid value';
}

function betweenRows(state: number, byte: number): string {
  if (byte === CLOSE_OBJECT) return MISMATCH;
  if (byte === COMMA) return 'a comma where a row should begin';
  if (byte === CLOSE_ARRAY) return 'a comma after the last row';
  if (state === AT.commaOrEnd) return 'no comma between two rows';
  return byte === OPEN_OBJECT
    ? 'an object where a row (an array) should begin'
    : 'a value other than an array where a row should begin';
}

function outsideValue(state: number, byte: number): string {
  if (state === AT.colon) return 'an object with a name without a value';
  if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
    return state === AT.first || state === AT.firstKey ? MISMATCH : 'a closing bracket where a value should be';
  }
  if (byte === COMMA) return 'a comma where a value should be';
  if (state === AT.after) return 'no comma between two values';
  return state === AT.firstKey || state === AT.key ? 'an object with a name that is not a string' : 'an invalid value';
}
