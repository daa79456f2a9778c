import { describe, expect, it } from 'vitest';
import { columnsIn } from '../../../../src/results/submit/empty-responses.ts';
import { ResponseScanner } from '../../../../src/results/scanner/response-scanner.ts';
import { DATA_SCHEMA, NO_SERVER_QUERIED } from '../answers.ts';

function columnsOf(text: string): ReturnType<typeof columnsIn> {
  const scanner = new ResponseScanner();
  scanner.push(Buffer.from(text));
  return columnsIn(scanner.end());
}

/** The response to a query without rows, with other values of some fields; undefined removes one. */
function answerWith(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...(JSON.parse(NO_SERVER_QUERIED) as object), ...fields });
}

const NO_COLUMNS = '{"columnNames":[],"columnDataTypes":[]}';

describe('a response without a table and without exceptions', () => {
  it.each([
    ['no server was queried', {}],
    ['the table is null', { resultTable: null }],
    ['this version does not count pruned segments', { numSegmentsPrunedByBroker: undefined }],
    ['this version does not count the rows', { numRowsResultSet: undefined }],
  ])('is an empty result that warns of servers that may be missing: %s', (_, fields) => {
    expect(columnsOf(answerWith(fields))).toEqual({
      dataSchema: NO_COLUMNS,
      warnings: [expect.stringContaining('no server with their segments is available')],
    });
  });

  it.each([
    ['the broker pruned segments', { numSegmentsPrunedByBroker: 3 }],
    ['all servers responded', { numServersQueried: 2, numServersResponded: 2, partialResult: false }],
  ])('is an empty result without a warning where %s', (_, fields) => {
    expect(columnsOf(answerWith(fields))).toEqual({ dataSchema: NO_COLUMNS });
  });

  it.each([
    [
      'a server did not respond',
      { numServersQueried: 2, numServersResponded: 1 },
      /`numServersQueried` is 2, `numServersResponded` is 1/,
    ],
    ['no server responded', { numServersQueried: 3 }, /`numServersQueried` is 3, `numServersResponded` is 0/],
    ['the servers are not counted', { numServersQueried: undefined }, /`numServersQueried` is unknown/],
    [
      'the servers are no number',
      { numServersQueried: null, numServersResponded: null },
      /`numServersResponded` is unknown/,
    ],
    ['there are rows', { numRowsResultSet: 10 }, /`numRowsResultSet` is 10.*`dropResults`/],
    ['the rows are no number', { numRowsResultSet: 'ten' }, /`numRowsResultSet` is unknown/],
    ['the result is a partial one', { partialResult: true }, /`partialResult` is true/],
    ['exceptions are missing', { exceptions: undefined }, /`exceptions` is not a list/],
    ['exceptions are null', { exceptions: null }, /`exceptions` is not a list/],
  ])('is no result where %s', (_, fields, message) => {
    expect(() => columnsOf(answerWith(fields))).toThrow(message);
    expect(() => columnsOf(answerWith(fields))).toThrow('has no `resultTable` and is not an empty result');
  });

  it('is no result where it is an empty object', () => {
    expect(() => columnsOf('{}')).toThrow('is not an empty result');
  });
});

describe('a response with a table', () => {
  it.each([
    `{"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[]}}`,
    `{"exceptions":[],"resultTable":{"rows":[[1,"a"]],"dataSchema":${DATA_SCHEMA}}}`,
    `{"resultTable":{"dataSchema":${DATA_SCHEMA},"rows":[]},"exceptions":null,"numServersQueried":0}`,
  ])('has the columns that it names: %s', (text) => {
    expect(columnsOf(text)).toEqual({ dataSchema: DATA_SCHEMA });
  });

  it.each([
    ['{"rows":[[1]]}', '`dataSchema`, an object'],
    ['{"rows":[[1]],"dataSchema":null}', '`dataSchema`, an object'],
    [`{"dataSchema":${DATA_SCHEMA}}`, '`rows`, a list'],
    [`{"dataSchema":${DATA_SCHEMA},"rows":null}`, '`rows`, a list'],
    ['[]', '`rows`, a list'],
    ['5', '`rows`, a list'],
  ])('is no result where it is %s', (table, missing) => {
    expect(() => columnsOf(answerWith({ resultTable: JSON.parse(table) as unknown }))).toThrow(
      `\`resultTable\` in the engine's response has no ${missing}`,
    );
  });
});
