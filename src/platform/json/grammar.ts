// The grammar of JSON (RFC 8259) as a table: the only place that decides which bytes strings, numbers, literals and structures consist of. UTF-8 is
// checked elsewhere.

/** States of the automaton. Up to `firstKey`, a key or value may begin. */
export const AT = {
  value: 0,
  /** A value or the end of the array. */
  first: 1,
  key: 2,
  /** A key or the end of the object. */
  firstKey: 3,
  /** After the outermost value. */
  done: 4,
  /** After a value in an object or array. */
  after: 5,
  colon: 6,
  // Inside a string.
  string: 7,
  escape: 8,
  hex4: 9,
  hex1: 12,
  // The same inside a key.
  keyString: 13,
  keyEscape: 14,
  keyHex1: 18,
  // Inside a number.
  minus: 19,
  zero: 20,
  integer: 21,
  point: 22,
  fraction: 23,
  exponent: 24,
  exponentSign: 25,
  exponentDigits: 26,
  // Inside a literal: the remaining letters of `true`, `false` and `null`.
  literals: 27,
} as const;

/** States in which a number may end. */
export const COMPLETE_NUMBERS: ReadonlySet<number> = new Set([AT.zero, AT.integer, AT.fraction, AT.exponentDigits]);

/** A table entry below this is the next state. */
export const FIRST_EFFECT = 64;
/** Effects of bytes that change more than the state. */
export const EFFECT = {
  openArray: 64,
  closeArray: 65,
  openObject: 66,
  closeObject: 67,
  comma: 68,
  endKey: 69,
  endString: 70,
  /** The byte is behind the number. */
  endNumber: 71,
  endLiteral: 72,
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
  const on = (states: readonly number[], bytes: readonly number[] | string, next: number): void => {
    for (const state of states)
      for (const byte of typeof bytes === 'string' ? bytesOf(bytes) : bytes) table[state * 256 + byte] = next;
  };
  const space = ' \n\r\t';
  const digits = '0123456789';

  for (const state of [AT.value, AT.first, AT.done, AT.after, AT.firstKey, AT.key, AT.colon]) on([state], space, state);
  const values = [AT.value, AT.first];
  on(values, '"', AT.string);
  on(values, '[', EFFECT.openArray);
  on(values, '{', EFFECT.openObject);
  on(values, digits, AT.integer);
  on(values, '0', AT.zero);
  on(values, '-', AT.minus);
  on([AT.first, AT.after], ']', EFFECT.closeArray);
  on([AT.firstKey, AT.key], '"', AT.keyString);
  on([AT.firstKey, AT.after], '}', EFFECT.closeObject);
  on([AT.after], ',', EFFECT.comma);
  on([AT.colon], ':', AT.value);

  for (const [string, end] of [
    [AT.string, EFFECT.endString],
    [AT.keyString, EFFECT.endKey],
  ] as const) {
    const [escape, hex4, hex1] = [string + 1, string + 2, string + 5];
    on([string], range(0x20, 0xff), string);
    on([string], '"', end);
    on([string], '\\', escape);
    on([escape], '"\\/bfnrt', string);
    on([escape], 'u', hex4);
    for (const state of range(hex4, hex1)) on([state], `${digits}abcdefABCDEF`, state === hex1 ? string : state + 1);
  }

  on([AT.minus], digits, AT.integer);
  on([AT.minus], '0', AT.zero);
  on([AT.integer], digits, AT.integer);
  on([AT.point, AT.fraction], digits, AT.fraction);
  on([AT.exponent, AT.exponentSign, AT.exponentDigits], digits, AT.exponentDigits);
  on([AT.exponent], '+-', AT.exponentSign);
  on([AT.zero, AT.integer], '.', AT.point);
  on([AT.zero, AT.integer, AT.fraction], 'eE', AT.exponent);
  on([...COMPLETE_NUMBERS], `${space},]}`, EFFECT.endNumber);

  let state: number = AT.literals;
  for (const literal of LITERALS) {
    on(values, literal.slice(0, 1), state);
    for (let i = 1; i < literal.length; i++, state++)
      on([state], literal.slice(i, i + 1), i === literal.length - 1 ? EFFECT.endLiteral : state + 1);
  }
  return table;
}
