import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chooseQuoteIndex,
  scalarQuoteIndex,
  wasmQuoteIndex,
  type QuoteIndex,
} from '../../../../src/health/gather/quote-index.ts';

const CAPACITY = 64 * 1024;
const wasm = wasmQuoteIndex();
const scalar = scalarQuoteIndex();

/** The offsets within the bytes; throws if the index does not end with an offset past them. */
function marks(index: QuoteIndex, bytes: Uint8Array): number[] {
  const all = index(bytes);
  const end = all.findIndex((mark) => mark >= bytes.length);
  if (end < 0) throw new Error('the index has no end');
  return [...all.subarray(0, end)];
}

/** Mostly quotes and backslashes, so that blocks of 64 bytes have many of them. */
const bytes = fc
  .array(fc.oneof(fc.constantFrom(0x22, 0x5c, 0x20, 0x7b), fc.integer({ min: 0, max: 255 })), { maxLength: 400 })
  .map((list) => Uint8Array.from(list));

describe('the index of quotes', () => {
  it('has every quote and backslash, with and without WebAssembly', () => {
    fc.assert(
      fc.property(bytes, (input) => {
        const expected = [...input.keys()].filter((at) => input[at] === 0x22 || input[at] === 0x5c);
        expect(marks(wasm, input)).toEqual(expected);
        expect(marks(scalar, input)).toEqual(expected);
      }),
    );
  });

  it('does not depend on the previous call', () => {
    wasm(Buffer.from('"'.repeat(CAPACITY)));
    expect(marks(wasm, Buffer.from('a"b'))).toEqual([1]);
    expect(marks(wasm, new Uint8Array())).toEqual([]);
  });

  it.each([CAPACITY - 1, CAPACITY, CAPACITY + 1, 3 * CAPACITY])('accepts %i quotes', (length) => {
    for (const index of [wasm, scalar]) {
      const found = index(Buffer.alloc(length, '"'));
      expect(found[length - 1]).toBe(length - 1);
      expect(found[length]).toBeGreaterThanOrEqual(length);
    }
  });

  it('works without WebAssembly', () => {
    const index = chooseQuoteIndex(() => {
      throw new Error('no SIMD');
    });
    expect(marks(index, Buffer.from('{"a"'))).toEqual([1, 3]);
  });
});
