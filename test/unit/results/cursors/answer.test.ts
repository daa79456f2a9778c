import { describe, expect, it } from 'vitest';
import { cursorIn, isSame } from '../../../../src/results/cursors/answer.ts';

const FIELDS = {
  requestId: '"1234"',
  submissionTimeMs: '1000',
  expirationTimeMs: '5000',
  numRowsResultSet: '70',
  offset: '0',
  numRows: '10',
  bytesWritten: '900',
};

const read = (changes: Record<string, string | undefined> = {}) =>
  cursorIn(
    Object.entries({ ...FIELDS, ...changes }).flatMap(([name, value]) =>
      value === undefined ? [] : [{ name, value }],
    ),
    'http://broker:8099',
  );

describe('the cursor in a response of the engine', () => {
  it('has its rows and its lifetime', () => {
    expect(read()).toEqual({
      cursor: { url: 'http://broker:8099', requestId: '1234', submissionTimeMs: 1000, bytes: 900 },
      rowCount: 70,
      lifetimeMs: 4000,
      offset: 0,
      numRows: 10,
    });
    expect(read({ bytesWritten: undefined })?.cursor.bytes).toBe(0);
    expect(read({ expirationTimeMs: '500' })?.lifetimeMs).toBe(0);
  });

  it.each(['requestId', 'submissionTimeMs', 'expirationTimeMs', 'numRowsResultSet', 'offset', 'numRows'])(
    'needs `%s`',
    (name) => {
      expect(read({ [name]: undefined })).toBeUndefined();
    },
  );

  it.each(['-1', '1.5', '1e300', '9007199254740993', 'x', 'null x'])('has no number of rows `%s`', (value) => {
    expect(read({ numRowsResultSet: value })).toBeUndefined();
  });

  it('has no request id that could be a path', () => {
    expect(read({ requestId: '"../1"' })).toBeUndefined();
  });

  it('may have numbers that are 0', () => {
    const zeros = { submissionTimeMs: '0', numRowsResultSet: '0', offset: '0', numRows: '0', bytesWritten: '0' };
    expect(read(zeros)).toMatchObject({
      rowCount: 0,
      offset: 0,
      numRows: 0,
      cursor: { submissionTimeMs: 0, bytes: 0 },
    });
  });

  it('is the same with the same id and the same time', () => {
    const { cursor } = read()!;
    expect(isSame(cursor, read()!)).toBe(true);
    expect(isSame(cursor, read({ requestId: '"1235"' })!)).toBe(false);
    expect(isSame(cursor, read({ submissionTimeMs: '1001' })!)).toBe(false);
  });
});
