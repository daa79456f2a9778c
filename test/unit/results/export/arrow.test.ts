import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { arrowStream } from '../../../../src/results/export/arrow.ts';

const TEXTS = [
  '',
  'a',
  null,
  'Zürich',
  '東京',
  '🏙 city',
  'line\nbreak',
  'back\\slash',
  '"',
  null,
  'x'.repeat(3000),
  null,
];

async function read(batches: readonly (readonly string[])[]): Promise<unknown[]> {
  async function* rows(): AsyncIterable<readonly string[]> {
    yield* batches;
  }
  const columns = { columnNames: ['text'], columnDataTypes: ['STRING'] };
  const table = tableFromIPC(arrowStream(columns, rows()));
  return [...((await table).getChild('text') ?? [])];
}

describe('texts in Arrow', () => {
  it('are those of the rows, also nulls, empty texts and characters of several bytes', async () => {
    const rows = TEXTS.map((text) => JSON.stringify([text]));
    expect(await read([rows])).toEqual(TEXTS);
  });

  it('are those of each record batch', async () => {
    // More characters than one batch holds.
    const texts = Array.from({ length: 1500 }, (_, i) => (i % 7 === 0 ? null : `${i} ${'ü'.repeat(1000)}`));
    const rows = texts.map((text) => JSON.stringify([text]));
    expect(await read([rows.slice(0, 1200), rows.slice(1200)])).toEqual(texts);
  });

  it('have the replacement character for half of a surrogate pair, which UTF-8 cannot represent', async () => {
    expect(await read([[String.raw`["a\ud800b"]`]])).toEqual(['a\ufffdb']);
  });

  it('are empty columns without rows', async () => {
    expect(await read([])).toEqual([]);
    expect(await read([['[null]']])).toEqual([null]);
  });
});
