import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvHeader, csvRows } from '../../../../src/results/export/csv.ts';

/** The fields of CSV (RFC 4180): undefined for one without quotes that is empty. */
function parsed(csv: string): (string | undefined)[][] {
  const rows: (string | undefined)[][] = [];
  let row: (string | undefined)[] = [];
  let at = 0;
  while (at < csv.length) {
    let field: string | undefined;
    if (csv[at] === '"') {
      const end = /"(?!")/.exec(csv.slice(at + 1).replaceAll('""', '\u0000\u0000'))!.index + at + 1;
      field = csv.slice(at + 1, end).replaceAll('""', '"');
      at = end + 1;
    } else {
      const [text] = /^[^,\r\n"]*/.exec(csv.slice(at))!;
      field = text === '' ? undefined : text;
      at += text.length;
    }
    row.push(field);
    if (csv[at] === ',') {
      at++;
      if (csv.startsWith('\r\n', at)) row.push(undefined);
      else continue;
    }
    expect(csv.slice(at, at + 2)).toBe('\r\n');
    at += 2;
    rows.push(row);
    row = [];
  }
  return rows;
}

const fieldOf = (value: unknown): string | undefined => {
  if (value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
};

describe('rows in CSV', () => {
  const value = fc.oneof(
    fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\u0000')),
    fc.string({ unit: fc.constantFrom('"', '\\', ',', '\n', '\r', ' ', 'a', '😀', '[', ']') }),
    fc.integer(),
    fc.constantFrom(null, true, false, '', 'null'),
    fc.array(fc.oneof(fc.integer(), fc.string({ unit: fc.constantFrom('"', '\\', ']', ',', 'ü') }))),
    fc.dictionary(fc.constantFrom('a', '}"'), fc.integer()),
  );

  it('may take far more bytes than the JSON', () => {
    const rows = Array.from({ length: 120 }, (_, at) => [at, Array.from({ length: at }, () => '')]);
    const json = rows.map((row) => JSON.stringify(row)).join(',');
    const { bytes } = csvRows(Buffer.from(json));
    expect(bytes.length).toBeGreaterThan(1.5 * json.length);
    expect(parsed(Buffer.from(bytes).toString())).toEqual(rows.map((row) => row.map(fieldOf)));
  });

  it('are complete wherever the first buffer is full', () => {
    const list = '"["""",""b""]"';
    for (let shift = 1; shift <= 24; shift++) {
      const text = 'x'.repeat(shift);
      const json = [JSON.stringify([text]), ...Array.from({ length: 1_000 }, (_, at) => `[["","b"],${at % 7}]`)];
      const csv = [text, ...Array.from({ length: 1_000 }, (_, at) => `${list},${at % 7}`)];
      const { bytes } = csvRows(Buffer.from(json.join(',')));
      expect(Buffer.from(bytes).toString() === csv.map((row) => `${row}\r\n`).join(''), text).toBe(true);
    }
  });

  it('have the values of the rows', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(value, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (rows, spaced) => {
          const texts = rows.map((row) => {
            const values = row.map((one) => JSON.stringify(one));
            return spaced ? ` [ ${values.join(' , ')}\t] ` : `[${values.join(',')}]`;
          });
          const { bytes, rows: count } = csvRows(Buffer.from(texts.join(',')));
          expect(count).toBe(rows.length);
          expect(parsed(Buffer.from(bytes).toString())).toEqual(rows.map((row) => row.map(fieldOf)));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('keep the spelling of numbers and the bytes of texts', () => {
    const { bytes } = csvRows(Buffer.from('[9007199254740993,-0.10,1E+40,"a,b","",null,"\\u00e9\\"",[1,"x"]],[]'));
    expect(Buffer.from(bytes).toString()).toBe('9007199254740993,-0.10,1E+40,"a,b","",,"é""","[1,""x""]"\r\n\r\n');
    expect(csvHeader(['a', 'b,"c"']).toString()).toBe('a,"b,""c"""\r\n');
  });

  it('are longer than their JSON where many quotes are doubled', () => {
    const text = '\\"'.repeat(100_000);
    const { bytes } = csvRows(Buffer.from(`["${text}",["${text}"]]`));
    const quotes = '""'.repeat(100_000);
    const array = '\\""'.repeat(100_000);
    expect(Buffer.from(bytes).toString()).toBe(`"${quotes}","[""${array}""]"\r\n`);
  });

  it.each(['1', '{}', '[1', '["a', '[1 2]', '[1] 2', '["a" "b"]'])('are an error for %s', (text) => {
    expect(() => csvRows(Buffer.from(text))).toThrow(TypeError);
  });
});
