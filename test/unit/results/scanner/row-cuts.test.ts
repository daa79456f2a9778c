import { describe, expect, it } from 'vitest';
import { walk } from './walks.ts';

// Long and short rows, in chunks that end anywhere.

const repeat = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(',');
const ROWS = repeat(20, (i) => `[${i},"x${i}"]`);
const VALUES = repeat(60, (i) => String(i));
const TEXTS = repeat(40, (i) => `"x${i}"`);
const LONG_NUMBER = '7'.repeat(150);

describe('the scanner of rows', () => {
  it.each([
    ['plain rows', `[1],["a"],[],${ROWS}]`],
    ['numbers only', `[${VALUES}],[${VALUES}]]`],
    ['a number longer than a block', `[${LONG_NUMBER},${LONG_NUMBER}],[1, ${LONG_NUMBER}],[ ${LONG_NUMBER} ]]`],
    ['a text longer than a block', `["${'x'.repeat(150)}",1],["${'[,]'.repeat(50)}",2],${ROWS}]`],
    [
      'escapes around the end of a block',
      `["${'\\n'.repeat(40)}","${'\\"'.repeat(40)}x","\\u0041${'\\\\'.repeat(40)}"]]`,
    ],
    ['an escaped quote in front of a text', `["\\"[${'x'.repeat(40)}],[${'x'.repeat(80)}","[],"],${ROWS}]`],
    ['arrays in arrays', `[[1,[2,"]"]],[[${VALUES}],[]],[]],[[[${TEXTS}]]]]`],
    ['objects between arrays', `[{"a":1,"b":[{}]},${VALUES}],[{"a":[${VALUES}]},${TEXTS}],${ROWS}]`],
    ['literals', `[${repeat(40, (i) => ['true', 'false', 'null', '-0.5e+3'][i % 4] as string)}],${ROWS}]`],
    ['white space in front of rows', ` [ 1 , "a" ] , ${ROWS}]`],
  ])('finds the same rows wherever a chunk ends: %s', (_name, text) => {
    const whole = walk(text);
    expect(whole).toMatchObject({ ended: true, used: text.length, rows: JSON.parse(`[${text}`).length as number });
    for (let cut = 0; cut <= text.length; cut++) expect(walk(text, [cut]), `cut ${cut}`).toEqual(whole);
    for (const stride of [2, 3, 8]) {
      const starts = whole.starts.filter((_, row) => row % stride === 0);
      for (let cut = 0; cut <= text.length; cut += 7) {
        expect(walk(text, [cut], stride), `cut ${cut}`).toEqual({ ...whole, starts });
      }
    }
  });

  it('ends after the limit of rows wherever a chunk ends', () => {
    const text = `${repeat(40, (i) => (i % 5 === 2 ? '[[],[1]]' : `[${i},"]"]`))}]`;
    const { starts } = walk(text);
    for (let limit = 1; limit < 40; limit++) {
      const expected = {
        starts: starts.slice(0, limit),
        rows: limit,
        ended: true,
        used: (starts[limit] as number) - 1,
      };
      for (const cuts of [[], [limit], [100, 200], [150, 151]]) {
        const ends = cuts.filter((cut) => cut < expected.used);
        expect(walk(text, ends, 1, limit), `limit ${limit}`).toEqual(expected);
      }
    }
  });

  it('finds rows in chunks of more than 64 KiB', () => {
    const text = `${repeat(30_000, (i) => `[${i}]`)}]`;
    const whole = walk(text, [], 1000);
    expect(whole.starts).toHaveLength(30);
    expect(walk(text, [], 1000)).toEqual(whole);
    expect(walk(text, [1, 65_537, 140_000], 1000)).toEqual(whole);
  });

  it.each([
    ['a comma in front of the rows', `,${ROWS}]`, 'a comma where a row should begin near row 0'],
    ['two commas between rows', `[1],,${ROWS}]`, 'a comma where a row should begin near row 1'],
    ['no comma between rows', `[1]${ROWS}]`, 'no comma between two rows near row 1'],
    ['values between rows', `[1],${VALUES}]`, 'a value other than an array where a row should begin near row 1'],
    ['a comma in front of values', `[,${VALUES}]]`, 'a comma where a value should be near row 1'],
    ['two commas between values', `[1,,${VALUES}]]`, 'a comma where a value should be near row 1'],
    ['no value in front of a bracket', `["a",],${ROWS}]`, 'a closing bracket where a value should be near row 1'],
    ['no comma behind a text', `["a"${VALUES}]]`, 'no comma between two values near row 1'],
    ['no comma between texts', `["a"${TEXTS}]]`, 'no comma between two values near row 1'],
    ['no comma behind an array', `[[1]${VALUES}]]`, 'no comma between two values near row 1'],
    ['an array behind a text', `["a"[${VALUES}]]]`, 'no comma between two values near row 1'],
    ['a number behind white space', `[1 ${VALUES}]]`, 'no comma between two values near row 1'],
    ['an incomplete number', `[1.,${VALUES}]]`, 'an invalid number near row 1'],
    ['an exponent without digits', `[1e,${VALUES}]]`, 'an invalid number near row 1'],
    ['a sign without digits', `[-,${VALUES}]]`, 'an invalid number near row 1'],
    ['a zero in front of a number', `[0${VALUES}]]`, 'an invalid number near row 1'],
    ['an incomplete literal', `[tru,${VALUES}]]`, 'an invalid value near row 1'],
    ['an escape that does not exist', `["\\,${VALUES}",1]]`, 'an invalid escape inside a string near row 1'],
    ['an escape without digits', `["\\u,${VALUES}",1]]`, 'an invalid escape inside a string near row 1'],
    ['values in an object', `[{"a":1,${VALUES}}],${ROWS}]`, 'a name that is not a string near row 1'],
    ['a text in an object', `[{"a":"b",${TEXTS}}],${ROWS}]`, 'an object with a name without a value near row 1'],
    ['an object that ends as an array', `[{"a":1],${ROWS}]`, 'does not match the opening one near row 1'],
    ['an array that ends as an object', `[[1},${ROWS}]`, 'does not match the opening one near row 1'],
    ['a name without a value', `[{"a",${VALUES}}],${ROWS}]`, 'an object with a name without a value near row 1'],
  ])('says the same wherever a chunk ends: %s', (_name, text, message) => {
    for (let cut = 0; cut <= 90; cut++) {
      // The second one begins with what is wrong, or is behind it.
      expect(() => walk(text, [cut]), `cut ${cut}`).toThrow(message);
      expect(() => walk(text, [cut >> 1, cut]), `cut ${cut}`).toThrow(message);
    }
  });
});
