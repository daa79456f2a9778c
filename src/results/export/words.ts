// Four bytes at a time: JavaScript checks the bounds of each access, so that a loop over bytes takes three times as long.

export const WORD_BYTES = 4;
const EACH_BYTE = 0x01_01_01_01;
const HIGH_BITS = 0x80_80_80_80 | 0;

/** A view for words of some bytes. */
export function wordsOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A word of which each byte is this one. */
export function repeated(byte: number): number {
  return Math.imul(byte, EACH_BYTE);
}

/**
 * Marks bytes of a word: the lowest set bit of the result is the highest one of the first byte that equals that of `wanted`. The bits above it may be
 * wrong; without such a byte the result is 0.
 * @param wanted see `repeated`
 */
export function marksOf(word: number, wanted: number): number {
  const difference = word ^ wanted;
  return (difference - EACH_BYTE) & ~difference & HIGH_BITS;
}

/** Number of the first marked byte. @param marks other than 0 */
export function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}
