import { describe, expect, it } from 'vitest';
import { walk } from './walks.ts';

// Which bytes may follow each other in rows, and what is said about the others.

const SPACE = ' \n\r\t';
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdefABCDEF`;
const VALUE = `"[{-tfn${DIGITS}${SPACE}`;
/** What ends a number in an array. */
const END = `,]${SPACE}`;
const bytes = (from: number, to: number): string =>
  String.fromCharCode(...Array.from({ length: to - from + 1 }, (_, i) => from + i));
/** UTF-8 is checked elsewhere. */
const NOT_ASCII = '\u0080\u00c0\u00fe\u00ff';
const ALL = bytes(0, 0x7f) + NOT_ASCII;
const STRING = bytes(0x20, 0x7f) + NOT_ASCII;

/** The bytes that may follow a beginning of rows, as characters. */
const NEXT: readonly (readonly [rows: string, next: string])[] = [
  ['', `[]${SPACE}`],
  ['[]', END],
  ['[],', `[${SPACE}`],
  ['[', `]${VALUE}`],
  ['[ ', `]${VALUE}`],
  ['[1,', VALUE],
  ['[1 ', END],
  ['[""', END],
  ['[{}', END],
  ['[[]', END],
  ['[{', `"}${SPACE}`],
  ['[{ ', `"}${SPACE}`],
  ['[{"a"', `:${SPACE}`],
  ['[{"a":', VALUE],
  ['[{"a":1', `.eE,}${DIGITS}${SPACE}`],
  ['[{"a":""', `,}${SPACE}`],
  ['[{"a":[]', `,}${SPACE}`],
  ['[{"a":1,', `"${SPACE}`],
  ['[{"a":[1,', VALUE],
  ['["', STRING],
  ['["a', STRING],
  ['[{"', STRING],
  ['["\\', '"\\/bfnrtu'],
  ['["\\n', STRING],
  ['["\\u', HEX],
  ['["\\u0', HEX],
  ['["\\u0a', HEX],
  ['["\\u0aF', HEX],
  ['["\\u0aF9', STRING],
  ['[-', DIGITS],
  ['[0', `.eE${END}`],
  ['[-0', `.eE${END}`],
  ['[9', `.eE${DIGITS}${END}`],
  ['[-19', `.eE${DIGITS}${END}`],
  ['[1.', DIGITS],
  ['[1.9', `eE${DIGITS}${END}`],
  ['[1.95', `eE${DIGITS}${END}`],
  ['[1e', `+-${DIGITS}`],
  ['[1E+', DIGITS],
  ['[1e-', DIGITS],
  ['[1e9', `${DIGITS}${END}`],
  ['[1e+99', `${DIGITS}${END}`],
  ...['true', 'false', 'null'].flatMap((word) =>
    Array.from(word, (_letter, i) => [`[${word.slice(0, i + 1)}`, word[i + 1] ?? END] as const),
  ),
];

const order = (text: string): string[] => [...new Set(text)].toSorted();

describe('the scanner of rows', () => {
  it.each(NEXT)('behind %j accepts exactly %j', (rows, next) => {
    const before = Buffer.from(rows, 'latin1');
    const accepts = (byte: string): boolean => {
      try {
        walk(Buffer.concat([before, Buffer.from(byte, 'latin1')]));
        return true;
      } catch {
        return false;
      }
    };
    const accepted = Array.from(ALL).filter(accepts);
    expect(accepted).toEqual(order(next));
  });

  const MISMATCH = 'a closing bracket that does not match the opening one';
  it.each([
    ['[}', MISMATCH, 1],
    ['[{]', MISMATCH, 1],
    ['[1}', MISMATCH, 1],
    ['[{"a":1]', MISMATCH, 1],
    ['}', MISMATCH, 0],
    ['[1,]', 'a closing bracket where a value should be', 1],
    ['[1,}', 'a closing bracket where a value should be', 1],
    ['[{"a":1,}', 'a closing bracket where a value should be', 1],
    ['[,', 'a comma where a value should be', 1],
    ['[{,', 'a comma where a value should be', 1],
    ['[1 2', 'no comma between two values', 1],
    ['[{1', 'an object with a name that is not a string', 1],
    ['[{"a":1,2', 'an object with a name that is not a string', 1],
    ['[{"a",', 'an object with a name without a value', 1],
    ['[{"a"}', 'an object with a name without a value', 1],
    ['[x', 'an invalid value', 1],
    ['[1,x', 'an invalid value', 1],
    ['[t,', 'an invalid value', 1],
    ['[nul]', 'an invalid value', 1],
    ['[-,', 'an invalid number', 1],
    ['[01', 'an invalid number', 1],
    ['[1e5.', 'an invalid number', 1],
    ['["\u001f', 'a control character inside a string', 1],
    ['["\\\u001f', 'a control character inside a string', 1],
    ['["\\ ', 'an invalid escape inside a string', 1],
    ['["\\u 12', 'an invalid escape inside a string', 1],
    ['["\\u123"', 'an invalid escape inside a string', 1],
    [',', 'a comma where a row should begin', 0],
    ['[],,', 'a comma where a row should begin', 1],
    ['[],[],]', 'a comma after the last row', 2],
    ['[][', 'no comma between two rows', 1],
    ['{', 'an object where a row (an array) should begin', 0],
    ['[],{', 'an object where a row (an array) should begin', 1],
    ['1', 'a value other than an array where a row should begin', 0],
    // The usual forms of values are skipped, and these are none of them.
    ['["a\n]', 'a control character inside a string', 1],
    ['["a\\,1]', 'an invalid escape inside a string', 1],
    ['[1.]', 'an invalid number', 1],
    ['[1x2]', 'an invalid number', 1],
  ])('says about %j that it has %s', (text, what, row) => {
    const message = `the engine's response is not valid JSON: \`resultTable.rows\` has ${what} near row ${row}`;
    const bytes = Buffer.from(text);
    expect(() => walk(bytes)).toThrow(message);
    expect(() => walk(bytes, Array.from(bytes.keys()))).toThrow(message);
  });

  it('accepts objects as deep as arrays, and not deeper', () => {
    for (const depth of [1, 998, 999]) {
      const text = `${'['.repeat(depth)}{"a":1,"b":2}${']'.repeat(depth)},[]]`;
      expect(walk(text)).toMatchObject({ ended: true, rows: 2 });
    }
    expect(() => walk(`${'['.repeat(1000)}{}`)).toThrow('values nested deeper than 1000 levels near row 1');
    expect(() => walk('['.repeat(1001))).toThrow('values nested deeper than 1000 levels near row 1');
  });
});
