import { describe, expect, it } from 'vitest';
import { csvHeader, csvRows } from '../../../../src/results/export/csv.ts';

// The exact bytes of CSV, also where the buffer for them grows.

const csvOf = (json: string): string => Buffer.from(csvRows(Buffer.from(json)).bytes).toString();

describe('a field of CSV', () => {
  it.each([
    ['null', ''],
    ['true', 'true'],
    ['-0.50E+3', '-0.50E+3'],
    ['""', '""'],
    ['"a"', 'a'],
    ['"a b"', 'a b'],
    ['","', '","'],
    ['"a,"', '"a,"'],
    [String.raw`"\""`, '""""'],
    [String.raw`"\n"`, '"\n"'],
    [String.raw`"a\r"`, '"a\r"'],
    [String.raw`"a\\b"`, String.raw`a\b`],
    [String.raw`"\u00e9,"`, '"é,"'],
    ['[]', '[]'],
    ['[1]', '[1]'],
    ['[ 1 ]', '[ 1 ]'],
    ['[1,2]', '"[1,2]"'],
    ['["a"]', '"[""a""]"'],
    ['[\t1]', '"[\t1]"'],
    ['[\r\n1]', '"[  1]"'],
    ['[\n1\r]', '"[ 1 ]"'],
    ['{}', '{}'],
    ['{"a":[1,"]"]}', '"{""a"":[1,""]""]}"'],
  ])('for %s is %j', (json, field) => {
    expect(csvOf(`[${json}]`)).toBe(`${field}\r\n`);
    expect(csvOf(`[0,${json},${json} , 1]`)).toBe(`0,${field},${field},1\r\n`);
  });

  it.each([63, 64, 65, 66, 1000])('for a text of %i bytes is the text', (size) => {
    const text = Array.from({ length: size }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
    expect(csvOf(`[1,"${text}","${text}"]`)).toBe(`1,${text},${text}\r\n`);
    expect(csvOf(`[1,"${text},","",2]`)).toBe(`1,"${text},","",2\r\n`);
  });
});

it.each([
  ['', '', 0],
  ['[]', '\r\n', 1],
  ['[1],', '1\r\n', 1],
  [' [1] , [2] , ', '1\r\n2\r\n', 2],
  ['[ ],[ 1 ]', '\r\n1\r\n', 2],
  ['[null],[null,null]', '\r\n,\r\n', 2],
])('the rows %j are %j', (json, csv, rows) => {
  const found = csvRows(Buffer.from(json));
  expect(Buffer.from(found.bytes).toString()).toBe(csv);
  expect(found.rows).toBe(rows);
});

it.each([
  [[], '\r\n'],
  [['a'], 'a\r\n'],
  [['a', 'b c', ''], 'a,b c,column_1\r\n'],
  [[''], 'column_1\r\n'],
  [['m', 'm'], 'm,m_1\r\n'],
  [['a,b', 'c"d', 'e\nf'], '"a,b","c""d","e\nf"\r\n'],
])('the header of %j is %j', (names, header) => {
  expect(csvHeader(names).toString()).toBe(header);
});

describe('the buffer', () => {
  // An array that takes more bytes in CSV than in JSON: 9 and 5 with the comma.
  const list = '[""]';
  const listCsv = '"[""""]"';

  it.each([
    ['a text', '"abc"', 'abc'],
    ['a text with quotes', '"a,c"', '"a,c"'],
    ['an empty text', '""', '""'],
    ['a text with an escape', String.raw`"a\"b"`, '"a""b"'],
    ['texts with an escape', String.raw`"\n"`, '"\n"'],
    ['a text of several bytes for each character', String.raw`"\\€€€€€€€€"`, String.raw`\€€€€€€€€`],
    ['an array', '[1]', '[1]'],
    ['an array of texts', '["a","b"]', '"[""a"",""b""]"'],
    ['an array of an empty text', list, listCsv],
    ['an array of empty texts', '["","",""]', '"["""","""",""""]"'],
    ['null', 'null', ''],
    ['a long text', `"${'x'.repeat(100)}"`, 'x'.repeat(100)],
    ['a number', '-12.50', '-12.50'],
  ])('may be full before, in and after %s', (_what, value, field) => {
    const values = Array<string>(4).fill(value);
    const csv = [...Array<string>(4).fill(field), '0\r\n'].join();
    // The buffer for JSON of n bytes has 1.25 n + 1024 bytes: so many arrays fill it nearly, and each byte of `text` leaves a quarter more.
    const count = Math.ceil((1024 + 1.25 * Buffer.byteLength(values.join())) / (9 - 1.25 * 5));
    for (let more = 0; more < 200; more += 3) {
      const text = 'y'.repeat(more + 1);
      const row = `["${text}",${`${list},`.repeat(count)}${values.join()},0]`;
      expect(csvOf(row) === `${text},${`${listCsv},`.repeat(count)}${csv}`, `${more}`).toBe(true);
    }
  });

  it('may be smaller than one value', () => {
    const escapes = String.raw`\"`.repeat(5000);
    for (const before of ['', '1,', `"${'x'.repeat(900)}",`]) {
      const csv = before.replaceAll(/"/g, '');
      expect(csvOf(`[${before}"${escapes}"]`)).toBe(`${csv}"${'""'.repeat(5000)}"\r\n`);
      const lists = `[${'[""],'.repeat(5000)}1]`;
      expect(csvOf(`[${before}${lists}]`)).toBe(`${csv}"${lists.replaceAll('"', '""')}"\r\n`);
      const text = `${String.raw`\\`}${'€'.repeat(3000)}`;
      expect(csvOf(`[${before}"${text}"]`)).toBe(`${csv}${text.slice(1)}\r\n`);
    }
  });
});

it.each(['1', '[', '[1', '[1,', '["a', '["a",', '[1 2]', '[1][2]', '[1] 2', '[1]]', '["a""b"]', '[1;2'])(
  'bytes that are no rows are an error: %s',
  (json) => {
    // In memory of their own, as in the middle of other bytes.
    expect(() => csvRows(Buffer.from(json))).toThrow(TypeError);
    expect(() => csvRows(Buffer.from(`${json}]"]`).subarray(0, Buffer.byteLength(json)))).toThrow(TypeError);
  },
);
