import { describe, expect, it } from 'vitest';
import { cellOf, parseExact, toCsv, toTsv } from '../../../web/src/lib/exact-json.ts';

const cells = (json: string): string[] => (parseExact(json) as unknown[]).map((value) => cellOf(value).text);

describe('rows with exact values', () => {
  it('keep every digit of a number', () => {
    expect(cells('[9007199254740993, -9223372036854775808, 1.10, 1e400, 12345678901234567.25, 7]')).toEqual([
      '9007199254740993',
      '-9223372036854775808',
      '1.10',
      '1e400',
      '12345678901234567.25',
      '7',
    ]);
    expect(cellOf((parseExact('[9007199254740993]') as unknown[])[0]).kind).toBe('number');
  });

  it('show lists, absent values and objects', () => {
    expect(cells('[[9007199254740993, 2], null, true, {"a":1}, "text"]')).toEqual([
      '9007199254740993, 2',
      'null',
      'true',
      '{"a":1}',
      'text',
    ]);
  });

  it('show a string that looks like an internal number object as text', () => {
    expect(cells('["9007199254740993"]')).toEqual(['9007199254740993']);
    expect(cellOf('9007199254740993').kind).toBe('text');
  });
});

describe('CSV', () => {
  it('quotes texts where necessary, leaves absent values empty and numbers unchanged', () => {
    const rows = parseExact('[[9007199254740993, "a \\"b\\", c", null], [-5, "line\\nbreak", [1, 2]]]') as unknown[][];
    expect(toCsv(['id', 'no,te', 'x'], rows)).toBe(
      'id,"no,te",x\r\n9007199254740993,"a ""b"", c",\r\n-5,"line\nbreak","1, 2"\r\n',
    );
  });

  it('contains no formula for a spreadsheet', () => {
    expect(toCsv(['a'], [['=HYPERLINK("x")'], ['+1'], ['@x'], ['-y'], [-1]])).toBe(
      'a\r\n"\'=HYPERLINK(""x"")"\r\n\'+1\r\n\'@x\r\n\'-y\r\n-1\r\n',
    );
  });

  it('escapes a list that begins like a formula, but not a list of numbers', () => {
    expect(toCsv(['a'], [[['=1+1', 'x']], [['-cmd']], [[-1, 2]]])).toBe('a\r\n"\'=1+1, x"\r\n\'-cmd\r\n"-1, 2"\r\n');
  });

  it('is copied as cells of a spreadsheet', () => {
    expect(
      toTsv(
        ['a', 'b'],
        [
          ['tab\there', null],
          ['two\nlines', 1.5],
          ['=1+1', 'plain, text'],
        ],
      ),
    ).toBe('a\tb\n"tab\there"\t\n"two\nlines"\t1.5\n\'=1+1\tplain, text\n');
  });
});
