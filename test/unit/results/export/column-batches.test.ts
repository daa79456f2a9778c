// @module-tag slow
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnBatches } from '../../../../src/results/export/columns/batches.ts';
import {
  BooleanColumn,
  BytesColumn,
  type Column,
  type Int32Column,
  ListColumn,
  TextColumn,
} from '../../../../src/results/export/columns/column.ts';
import { createColumn } from '../../../../src/results/export/columns/create-columns.ts';
import { COLUMN_TYPES, columnValues, type ColumnType, rowsOf } from './columns.ts';

const BATCH_BYTES = 2 ** 20;

/** The values of a column, lists and bytes as arrays. */
function valuesOf(column: Column): unknown[] {
  const items = column instanceof ListColumn ? valuesOf(column.items) : [];
  return Array.from({ length: column.length }, (_, i) => (column.isNull(i) ? null : valueAt(column, i, items)));
}

function valueAt(column: Column, i: number, items: readonly unknown[]): unknown {
  if (column instanceof BooleanColumn) return (((column.bits[i >> 3] as number) >> (i & 7)) & 1) === 1;
  if (column instanceof TextColumn) return column.data.toString('utf8', column.offsets[i], column.offsets[i + 1]);
  if (column instanceof BytesColumn) return [...column.data.subarray(column.offsets[i], column.offsets[i + 1])];
  if (column instanceof ListColumn) return items.slice(column.offsets[i], column.offsets[i + 1]);
  return (column as Int32Column).values[i];
}

/** The values of all columns. @param pieces rows of JSON, joined by commas in each */
async function read(types: readonly string[], pieces: Iterable<string | Uint8Array>): Promise<unknown[][]> {
  const columns = types.map((type) => createColumn(type, 'text'));
  const found: unknown[][] = types.map(() => []);
  async function* bytes(): AsyncIterable<Uint8Array> {
    // As a store does, with the same memory for all pieces.
    const memory = Buffer.alloc(4 * BATCH_BYTES);
    for (const piece of pieces) {
      memory.set(Buffer.from(piece));
      yield memory.subarray(0, Buffer.byteLength(piece));
    }
  }
  for await (const batch of columnBatches(columns, bytes())) {
    for (const [i, column] of batch.columns.entries()) {
      expect(column.length).toBe(batch.numRows);
      expect(column.nullCount).toBe(valuesOf(column).filter((value) => value === null).length);
      found[i] = (found[i] ?? []).concat(valuesOf(column));
    }
  }
  return found;
}

function expected(types: readonly string[], rows: readonly (readonly string[])[]): unknown[][] {
  return types.map((type, i) => rows.map((row) => columnValues(type as ColumnType, row[i] as string)));
}

const type = fc.constantFrom(...COLUMN_TYPES);
const tables = fc
  .array(type, { minLength: 1, maxLength: 3 })
  .chain((types) => fc.tuple(fc.constant(types), rowsOf(types)));

describe('columns of rows', () => {
  it('have the values of many rows in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        tables,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 700 }),
        async (table, ...counts) => {
          const [types, few] = table;
          const [repeats, perPiece] = counts;
          const rows = Array.from({ length: repeats }, () => few).flat();
          const texts = rows.map((row) => `[${row.join(',')}]`);
          const pieces = texts.flatMap((_, i) => (i % perPiece === 0 ? [texts.slice(i, i + perPiece).join(',')] : []));
          expect(await read(types, pieces)).toEqual(expected(types, rows));
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each(COLUMN_TYPES)('have the values of several batches of %s', async (wanted) => {
    const samples = fc.sample(rowsOf([wanted]), { seed: 1, numRuns: 50 }).flat();
    const rows: string[][] = [];
    for (let bytes = 0; bytes < 1.5 * BATCH_BYTES; bytes += (rows.at(-1) as string[]).join().length + 3) {
      rows.push(samples[rows.length % samples.length] as string[]);
    }
    const texts = rows.map((row) => `[${row.join(',')}]`);
    const pieces = Array.from({ length: 10 }, (_, i) =>
      texts.slice((i * texts.length) / 10, ((i + 1) * texts.length) / 10).join(','),
    );
    const found = await read([wanted], pieces);
    // Compared at once: `toEqual` of a million values takes long.
    expect(JSON.stringify(found, plain) === JSON.stringify(expected([wanted], rows), plain)).toBe(true);
  });

  it('have all items of a list that contains one in another spelling', async () => {
    const items = Array.from({ length: 500 }, (_, i) => (i % 3 === 0 ? 'null' : String(i % 2 === 0)));
    const row = [`[${items.join()}, "true"]`];
    expect(await read(['BOOLEAN_ARRAY'], [`[${row.join()}],[[false,null,true]],[${row.join()}]`])).toEqual(
      expected(['BOOLEAN_ARRAY'], [row, ['[false,null,true]'], row]),
    );
  });

  it.each(['INT', 'LONG', 'FLOAT', 'DOUBLE', 'BOOLEAN'])(
    'have no value of another batch of %s at a null',
    async (wanted) => {
      const value = wanted === 'BOOLEAN' ? 'true' : '16777216';
      const columns = [createColumn(wanted, 'text')];
      async function* rows(): AsyncIterable<Uint8Array> {
        for (const raw of [value, 'null']) yield Buffer.from(`[${raw}]${' '.repeat(2048)},`.repeat(512));
      }
      const places: Set<number>[] = [];
      for await (const { numRows } of columnBatches(columns, rows())) {
        expect(numRows).toBeLessThanOrEqual(512);
        places.push(new Set(Array.from({ length: numRows }, (_, i) => Number(valueAt(columns[0] as Column, i, [])))));
      }
      expect(places[0]).toEqual(new Set([Number(JSON.parse(value))]));
      expect(places.at(-1)).toEqual(new Set([0]));
      expect(columns[0]?.nullCount).toBe(columns[0]?.length);
    },
  );

  it('end with an error, or with rows, for bytes that are no JSON', async () => {
    const byte = fc.constantFrom(...Buffer.from(' [],"\\un1.-eEtrf{}\t'), 0, 0xff, 0x80);
    await fc.assert(
      fc.asyncProperty(fc.array(type, { maxLength: 3 }), fc.array(byte, { maxLength: 60 }), async (types, bytes) => {
        const rows = Uint8Array.from([0x5b, ...bytes]);
        await read(types, [rows]).catch((error: unknown) => expect(error).toMatchObject({ code: 'bad-response' }));
      }),
      { numRuns: 3000 },
    );
  });

  it('take the memory of one batch, whichever columns have the long texts', async () => {
    const columns = Array.from({ length: 40 }, () => createColumn('STRING', 'text'));
    const texts = (row: number): string[] =>
      columns.map((_, i) => (i === row ? 'x'.repeat(2 * BATCH_BYTES) : `${row}`));
    async function* rows(): AsyncIterable<Uint8Array> {
      for (const row of columns.keys()) yield Buffer.from(`${JSON.stringify(texts(row))},[${texts(-1).join()}],`);
    }
    let read = 0;
    let most = 0;
    for await (const batch of columnBatches(columns, rows())) {
      const values = batch.columns.map((column) => valuesOf(column));
      for (let i = 0; i < batch.numRows; i++) {
        const expectedTexts = texts(read % 2 === 0 ? read / 2 : -1);
        read++;
        expect(values.map((column) => column[i]).join() === expectedTexts.join()).toBe(true);
      }
      const bytes = batch.columns.map((column) => (column as TextColumn).data.buffer.byteLength);
      most = Math.max(
        most,
        bytes.reduce((sum, size) => sum + size),
      );
    }
    expect(read).toBe(2 * columns.length);
    expect(most).toBeLessThan(32 * 2 ** 20);
  });

  it('can be thousands, each with long texts', async () => {
    const types = Array.from({ length: 2000 }, (_, i) => (i % 2 === 0 ? 'STRING' : 'LONG'));
    const row = types.map((_, i) => (i % 2 === 0 ? JSON.stringify('é'.repeat(i)) : String(i)));
    expect(await read(types, [`[${row.join()}],[${row.join()}]`])).toEqual(expected(types, [row, row]));
  });
});

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`;
  if (typeof value !== 'number' || (Number.isFinite(value) && !Object.is(value, -0))) return value;
  return Object.is(value, -0) ? 'number -0' : `number ${value}`;
}
