import { describe, expect, it } from 'vitest';
import { readPage } from '../../../../src/results/rows/page.ts';
import { framesOf } from '../../../../src/results/rows/frames.ts';
import {
  decodeIndex,
  encodeIndex,
  indexBytes,
  MAX_CHECKPOINTS,
  recordedIndex,
  type RowIndex,
  RowIndexBuilder,
  storedRowBytes,
} from '../../../../src/results/rows/row-index.ts';
import type { ResultReader, ResultRecord } from '../../../../src/results/result-store.ts';
import { collect, rowTexts, submission } from '../answers.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';

describe('the row index', () => {
  it('doubles its stride when it is full', () => {
    const builder = new RowIndexBuilder(8);
    for (let row = 0; row < 100; row++) builder.add(row, row * 10);
    const { stride, checkpoints } = builder.build();
    expect(stride).toBe(16);
    expect([...checkpoints]).toEqual([0, 160, 320, 480, 640, 800, 960]);
  });

  it.each([1, 2, 3, 7, 8, 255, 256, 257, 1000])('has the offsets of all rows of its stride, at most %i', (max) => {
    const builder = new RowIndexBuilder(max);
    for (let row = 0; row < 3000; row++) {
      builder.add(row, row * 10 + 3);
      if (row % 500 > 1) continue;
      const { stride, checkpoints } = builder.build();
      expect(builder.stride).toBe(stride);
      expect(checkpoints.length).toBeLessThanOrEqual(max);
      // With half of the stride there would be more than `max`.
      expect(stride === 1 || Math.floor(row / (stride / 2)) >= max).toBe(true);
      const expected = Array.from({ length: Math.floor(row / stride) + 1 }, (_, i) => i * stride * 10 + 3);
      expect([...checkpoints]).toEqual(expected);
    }
  });

  it('takes at most 512 KB', () => {
    const builder = new RowIndexBuilder();
    for (let row = 0; row < MAX_CHECKPOINTS; row++) builder.add(row, row);
    expect(builder.build()).toMatchObject({ stride: 1, checkpoints: { length: 65_536 } });
    builder.add(MAX_CHECKPOINTS, MAX_CHECKPOINTS);
    expect(builder.build()).toMatchObject({ stride: 2, checkpoints: { length: 32_769 } });
    expect(indexBytes({ stride: 1, checkpoints: MAX_CHECKPOINTS })).toBe(512 * 1024);
  });

  it('is recorded with the sizes of its parts', () => {
    const index: RowIndex = { stride: 2, checkpoints: Float64Array.of(0, 9, 20) };
    const checksums = { blockBytes: 10, sums: Uint32Array.of(1, 2) };
    const frames = framesOf(Uint32Array.of(8, 7));
    expect(recordedIndex(index)).toEqual({ stride: 2, checkpoints: 3 });
    const indexes: [RowIndex, bytes: number][] = [
      [index, 24],
      [{ ...index, checksums }, 32],
      [{ ...index, checksums, frames }, 40],
    ];
    for (const [whole, bytes] of indexes) {
      const recorded = recordedIndex(whole);
      expect(indexBytes(recorded)).toBe(bytes);
      expect(encodeIndex(whole)).toHaveLength(bytes);
      expect(decodeIndex(encodeIndex(whole), { ...recorded, rowBytes: 20 })).toEqual(whole);
      expect(storedRowBytes({ ...recorded, rowBytes: 20 })).toBe(whole.frames === undefined ? 20 : 15);
    }
    const encoded = encodeIndex({ ...index, checksums, frames });
    const recorded = recordedIndex({ ...index, checksums, frames });
    expect(recorded.compression).toEqual({ coding: 'zstd', bytes: 15 });
    const other = { ...recorded, rowBytes: 20, compression: { coding: 'zstd', bytes: 16 } } as const;
    expect(() => decodeIndex(encoded, other)).toThrow('its index does not match its record');
  });

  it('can have offsets that are equal, and that are the end of the rows', () => {
    const index = { stride: 1, checkpoints: Float64Array.of(0, 0, 4, 4) };
    expect(decodeIndex(encodeIndex(index), { ...recordedIndex(index), rowBytes: 4 })).toEqual(index);
  });

  it('is equal after encoding and decoding, also with offsets above 2^32', () => {
    const index = { stride: 4, checkpoints: Float64Array.of(0, 5_000_000_000, 2 ** 53) };
    const bytes = Buffer.concat([Buffer.from('x'), encodeIndex(index)]).subarray(1);
    const rowBytes = 2 ** 53;
    expect(decodeIndex(bytes, { ...recordedIndex(index), rowBytes })).toEqual(index);
    const sums = { blockBytes: 65_536, sums: Uint32Array.of(1, 0xffffffff) };
    const checked = { ...index, checkpoints: index.checkpoints.slice(0, 2), checksums: sums };
    expect(decodeIndex(encodeIndex(checked), { ...recordedIndex(checked), rowBytes })).toEqual(checked);
  });

  it('is damaged where an offset is not within the rows, or before the one before it', () => {
    for (const offsets of [[0, 11], [0, 8, 7], [0, 1.5], [-1], [0, Number.NaN], [0, Number.POSITIVE_INFINITY]]) {
      const index = { stride: 1, checkpoints: Float64Array.from(offsets) };
      expect(() => decodeIndex(encodeIndex(index), { ...recordedIndex(index), rowBytes: 10 })).toThrow(
        'its index does not match its record',
      );
    }
  });

  it('is damaged when a bit differs or bytes are missing', () => {
    const index = {
      stride: 1,
      checkpoints: Float64Array.of(0, 7),
      checksums: { blockBytes: 65_536, sums: Uint32Array.of(5) },
    };
    const bytes = encodeIndex(index);
    const recorded = { ...recordedIndex(index), rowBytes: 9 };
    expect(() => decodeIndex(bytes.subarray(1), recorded)).toThrow('its index is incomplete');
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Uint8Array.from(bytes);
      flipped[at]! ^= 0x10;
      expect(() => decodeIndex(flipped, recorded)).toThrow('its index does not match its checksum');
    }
  });
});

describe('a page', () => {
  const rows = rowTexts(100);
  const text = Buffer.from(rows.join(' , '));

  function readerOf(stride: number): ResultReader {
    const builder = new RowIndexBuilder(Math.ceil(100 / stride) + 1);
    let at = 0;
    const offsets = rows.map((row) => {
      const start = at;
      at += Buffer.byteLength(row) + 3;
      return start;
    });
    for (const [row, offset] of offsets.entries()) if (row % stride === 0) builder.add(row, offset);
    const record = {
      ...submission(),
      version: 1,
      rowCount: 100,
      rowBytes: text.length,
      stride,
      checkpoints: 0,
    } as const;
    return {
      record: { ...record, dataSchema: '{}', tableFields: [], fields: [] } satisfies ResultRecord,
      knownIndex: undefined,
      index: async () => ({ stride, checkpoints: Float64Array.from(offsets.filter((_, row) => row % stride === 0)) }),
      read: async (from, to) => [text.subarray(from, (from + to) >> 1), text.subarray((from + to) >> 1, to)],
      async *stream(from, to) {
        yield text.subarray(from, to);
      },
      close: async () => undefined,
    };
  }

  it.each([1, 4, 16, 128])(
    'contains exactly the requested rows with stride %i, read at once or streamed',
    async (stride) => {
      const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
      for (const isWhole of [undefined, false]) {
        for (const [offset, numRows] of [
          [0, 100],
          [0, 1],
          [15, 2],
          [16, 16],
          [63, 37],
          [99, 1],
          [99, 50],
        ] as const) {
          const options = isWhole === undefined ? {} : { isRoomFor: () => isWhole };
          const page = await readPage(readerOf(stride), { offset, numRows }, options, signal);
          const body = await collect(page.rows);
          expect(body).toBe(rows.slice(offset, offset + numRows).join(' , '));
          expect(page.length).toBe(page.head.length + Buffer.byteLength(body) + page.tail.length);
          expect(() => JSON.parse(page.head + body + page.tail) as unknown).not.toThrow();
        }
      }
    },
  );

  it('fails when the index does not match the rows', async () => {
    const reader = { ...readerOf(16), read: async () => [Buffer.from('[1],')] };
    await expect(
      readPage(reader, { offset: 5, numRows: 3 }, {}, AbortSignal.timeout(WAIT_LIMIT_MS)),
    ).rejects.toMatchObject({
      code: 'damaged',
    });
  });
});
