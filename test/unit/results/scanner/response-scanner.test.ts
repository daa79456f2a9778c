import { describe, expect, it } from 'vitest';
import { ResponseScanner, type ScannedResponse } from '../../../../src/results/scanner/response-scanner.ts';
import { splitFields } from '../../../../src/results/scanner/fields.ts';
import { answerText, DATA_SCHEMA, rowTexts } from '../answers.ts';

interface Scanned extends ScannedResponse {
  readonly rows: string;
}

function scan(text: string, cuts: readonly number[] = []): Scanned {
  const bytes = Buffer.from(text);
  const scanner = new ResponseScanner();
  const rows: Uint8Array[] = [];
  let from = 0;
  for (const end of [...cuts, bytes.length]) {
    rows.push(scanner.push(bytes.subarray(from, end)));
    from = end;
  }
  return { ...scanner.end(), rows: Buffer.concat(rows).toString() };
}

const comparable = ({ head, tail, ...rest }: Scanned): object => ({
  ...rest,
  head: Buffer.from(head).toString(),
  tail: Buffer.from(tail).toString(),
});

const WITH_ROWS: Readonly<Record<string, string>> = {
  'the usual order': answerText(rowTexts(4)),
  'exceptions first': `{"exceptions":[],"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[[1,"a"],[2,"b"]]}}`,
  'rows before the schema': `{"resultTable":{"rows":[[1],[2]],"dataSchema":${DATA_SCHEMA}},"exceptions":[]}`,
  whitespace: ` {\n "resultTable" : {\t"dataSchema" : ${DATA_SCHEMA} ,\r\n "rows" : [ [1] , [2] ] } , "exceptions" : [ ] } `,
  'no rows': `{"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[]},"exceptions":[]}`,
  'names that only look like it': `{"traceInfo":{"resultTable":{"rows":[1,2]},"rows":[3]},"rows":[[9]],"a":"\\"resultTable\\":{\\"rows\\":[","resultTable":{"x":{"rows":[4]},"dataSchema":${DATA_SCHEMA},"rows":[[1]],"y":[{"rows":[5]}]}}`,
  'an escaped name': `{"result\\u0054able":{"dataSchema":${DATA_SCHEMA},"r\\u006fws":[[1],["]}"]]}}`,
};

describe('the response scanner', () => {
  it.each(Object.entries(WITH_ROWS))('returns what JSON.parse returns: %s', (_name, text) => {
    const scanned = scan(text);
    const parsed = JSON.parse(text) as { resultTable: { rows: unknown[]; dataSchema: unknown } };
    expect(JSON.parse(`[${scanned.rows}]`)).toEqual(parsed.resultTable.rows);
    expect(scanned).toMatchObject({ hasRows: true, rowCount: parsed.resultTable.rows.length, hasExceptions: false });
    expect(JSON.parse(scanned.dataSchema ?? '')).toEqual(parsed.resultTable.dataSchema);
    const { resultTable: _, ...others } = parsed;
    expect(Object.fromEntries(scanned.fields.map(({ name, value }) => [name, JSON.parse(value)]))).toEqual(others);
    const together = Buffer.concat([scanned.head, Buffer.from(scanned.rows), scanned.tail]).toString();
    expect(together).toBe(text);
  });

  it('returns the same for any split of the bytes', () => {
    for (const text of Object.values(WITH_ROWS)) {
      const whole = comparable(scan(text));
      const length = Buffer.byteLength(text);
      for (let at = 1; at < length; at++) expect(comparable(scan(text, [at]))).toEqual(whole);
      expect(
        comparable(
          scan(
            text,
            Array.from({ length: length - 1 }, (_, i) => i + 1),
          ),
        ),
      ).toEqual(whole);
    }
  });

  it.each([
    ['missing', '{"exceptions":[{"errorCode":1}]}', false, true],
    ['null', '{"resultTable":null,"exceptions":[]}', false, false],
    ['without rows', '{"resultTable":{"dataSchema":{}}}', true, false],
    ['with rows of null', '{"resultTable":{"rows":null},"exceptions":null}', true, false],
    ['not an object', '{"resultTable":[{"rows":[[1]]}]}', true, false],
  ])('takes an answer whose resultTable is %s', (_name, text, hasTable, hasExceptions) => {
    expect(scan(text)).toMatchObject({ hasTable, hasRows: false, rowCount: 0, rowBytes: 0, hasExceptions });
    expect(Buffer.from(scan(text).head).toString()).toBe(text);
  });

  it.each([['{}'], ['"timeout"'], ['true'], ['1']])(
    'rejects `exceptions` of %s, which may be those of a failed query',
    (exceptions) => {
      expect(() => scan(`{"resultTable":null,"exceptions":${exceptions}}`)).toThrow(
        "`exceptions` in the engine's response is not a list",
      );
    },
  );

  it.each([['null'], ['[]'], ['"id LONG"']])('takes a dataSchema of %s for none', (dataSchema) => {
    expect(scan(`{"resultTable":{"dataSchema":${dataSchema},"rows":[[1]]}}`)).toMatchObject({
      hasRows: true,
      rowCount: 1,
      dataSchema: undefined,
    });
  });

  it.each([
    ['', /empty/],
    ['  ', /empty/],
    ['null', /not a JSON object/],
    ['[]', /not a JSON object/],
    ['<html>', /not a JSON object/],
    ['"a"', /not a JSON object/],
    ['"a', /incomplete/],
    ['{"a":1', /incomplete/],
    ['{"a":1}}', /not a JSON object/],
    ['{"a":1} x', /not a JSON object/],
    ['{"resultTable":{"rows":[[1],[2]', /after 2 rows/],
    ['{"resultTable":{"rows":[[1]]', /incomplete/],
    ['{"resultTable":{"rows":[[1]],"rows":[[2]]}}', /twice/],
    ['{"resultTable":{"rows":[[1]]},"resultTable":{"rows":[[2]]}}', /twice/],
    ['{"resultTable":{"rows":[[1]]},"resultTable":null}', /twice/],
    ['{"resultTable":{"dataSchema":{},"rows":[[1]],"dataSchema":{}}}', /`dataSchema` twice/],
    ['{"exceptions":[{"message":"x"}],"resultTable":{"rows":[[1]]},"exceptions":[]}', /`exceptions` twice/],
    ['{"a":'.repeat(2000), /nested deeper/],
  ])('rejects %j', (text, message) => {
    expect(() => scan(text)).toThrow(message);
  });

  it('limits the bytes in addition to the rows', () => {
    const scanner = new ResponseScanner({ maxEnvelopeBytes: 1000 });
    expect(() => scanner.push(Buffer.from(`{"a":"${'x'.repeat(2000)}`))).toThrow(/more than 1000 bytes/);
    const most = new ResponseScanner({ maxEnvelopeBytes: 1000 });
    const text = `{"a":"${'x'.repeat(992)}"}`;
    for (const part of [text.slice(0, 900), text.slice(900)]) most.push(Buffer.from(part));
    expect(most.end().head).toHaveLength(1000);
    expect(() => most.push(Buffer.from(' '))).toThrow(/more than 1000 bytes/);
  });

  it('keeps long fields that arrive in many pieces', () => {
    const text = `{"a":"${'x'.repeat(20_000)}","b":1,"resultTable":{"rows":[[1]],"c":"${'y'.repeat(20_000)}"}}`;
    const size = 777;
    const cuts = Array.from({ length: Math.floor(text.length / size) }, (_, i) => (i + 1) * size);
    const { head, rows, tail } = scan(text, cuts);
    expect(`${Buffer.from(head).toString()}${rows}${Buffer.from(tail).toString()}` === text).toBe(true);
  });

  it('has the other fields of the table', () => {
    const text = `{"resultTable":{"a":1.0,"dataSchema":${DATA_SCHEMA},"rows":[[1]],"b":{"rows":[2]}},"c":null}`;
    const { tableFields, fields, dataSchema } = scan(text);
    expect(tableFields).toEqual([
      { name: 'a', value: '1.0' },
      { name: 'b', value: '{"rows":[2]}' },
    ]);
    expect(fields).toEqual([{ name: 'c', value: 'null' }]);
    expect(dataSchema).toBe(DATA_SCHEMA);
  });

  it('counts the rows while they arrive', () => {
    const scanner = new ResponseScanner();
    const counts = ['{"resultTable":', '{"rows":[', '[1],[2', '],[3', ']]}', '}'].map((text) => {
      scanner.push(Buffer.from(text));
      return scanner.rows;
    });
    expect(counts).toEqual([0, 0, 2, 3, 3, 3]);
  });

  it('keeps all digits of fields', () => {
    const fields = splitFields(
      Buffer.from('{ "a" : 9007199254740993 , "b":1E+40,"c":[1, {"d":"}"}],"e":"x\\"y", "f":null }'),
    );
    expect(fields).toEqual([
      { name: 'a', value: '9007199254740993' },
      { name: 'b', value: '1E+40' },
      { name: 'c', value: '[1, {"d":"}"}]' },
      { name: 'e', value: '"x\\"y"' },
      { name: 'f', value: 'null' },
    ]);
    expect(splitFields(Buffer.from('{}'))).toEqual([]);
  });
});
