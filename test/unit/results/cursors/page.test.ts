import { describe, expect, it } from 'vitest';
import type { CursorBrokers } from '../../../../src/results/cursors/brokers.ts';
import { readCursorPage } from '../../../../src/results/cursors/page.ts';
import type { Page, PageRequest } from '../../../../src/results/page.ts';
import { collect, responseOf, rowTexts } from '../answers.ts';
import { cursorRecord, cursorText, spoolOf } from './cursor-answers.ts';

const signal = new AbortController().signal;

/** @returns the page, and what was requested of the broker */
async function read(text: string, request: PageRequest): Promise<{ page: Page; asked: PageRequest | undefined }> {
  let asked: PageRequest | undefined;
  const brokers = {
    page: async (_record: unknown, page: PageRequest) => {
      asked = page;
      return responseOf(text);
    },
  } as unknown as CursorBrokers;
  const page = await readCursorPage(cursorRecord(), request, { brokers, spool: spoolOf(), holder: undefined }, signal);
  return { page, asked };
}

describe('a page of a result that the engine keeps', () => {
  it('has the rows and the statistics of the engine, and the length of its body', async () => {
    const { page, asked } = await read(cursorText({ offset: 3 }), { offset: 3, numRows: 4 });
    expect(asked).toEqual({ offset: 3, numRows: 4 });
    const body = `${page.head.toString()}${await collect(page.rows)}${page.tail.toString()}`;
    expect(Buffer.byteLength(body)).toBe(page.length);
    const fields = JSON.parse(body) as Record<string, unknown>;
    expect(fields).toMatchObject({ offset: 3, numRows: 4, numRowsResultSet: 10, numDocsScanned: 3 });
    // Of the engine's store.
    for (const name of ['submissionTimeMs', 'expirationTimeMs']) expect(fields).not.toHaveProperty(name);
    expect(await collect(page.rows)).toBe(rowTexts(4).join(','));
  });

  it('at the end has the rows that are left', async () => {
    const { page, asked } = await read(cursorText({ offset: 6 }), { offset: 6, numRows: 100 });
    expect(asked).toEqual({ offset: 6, numRows: 4 });
    expect(page.nextUrl).toBeUndefined();
  });

  it.each([
    ['of another query with the same id', { submissionTimeMs: 5001 }, 'not-found'],
    ['of another id', { requestId: '1235' }, 'not-found'],
    ['without a cursor', { requestId: '../1' }, 'no-cursors'],
    ['of another offset', { offset: 1 }, 'bad-answer'],
    ['with exceptions', { exceptions: [{ message: 'gone' }] }, 'bad-answer'],
  ])('is an error %s', async (_what, changes, code) => {
    await expect(read(cursorText(changes), { offset: 0, numRows: 4 })).rejects.toMatchObject({ code });
  });

  it('that the engine cannot read has its message, shortened', async () => {
    const failed = (message: string): Promise<unknown> =>
      read(cursorText({ exceptions: [message] }), { offset: 0, numRows: 4 }).catch(
        (error: unknown) => (error as Error).message,
      );
    const start = 'the broker http://broker.test:8099 failed to read the result: ';
    expect(await failed('a  b')).toBe(`${start}["a b"]`);
    expect(await failed('x'.repeat(296))).toBe(`${start}["${'x'.repeat(296)}"]`);
    expect(await failed('x'.repeat(297))).toBe(`${start}["${'x'.repeat(297)}"…`);
  });
});
