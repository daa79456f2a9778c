/** Reversed polynomial of CRC-32. */
const POLYNOMIAL = 0xedb88320;
/** x^0 in the reversed order of bits. */
const ONE = 0x80000000;

/** a·b modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

/** x^(8·bytes) modulo the polynomial: appending this many bytes multiplies a checksum by it. */
function shiftOf(bytes: number): number {
  let shift = ONE;
  // x^8
  let square = ONE >>> 8;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) shift = multiply(square, shift);
    square = multiply(square, square);
  }
  return shift;
}

/**
 * CRC-32 of adjacent blocks from the CRC-32 of each.
 * @param sums of the blocks, at least one
 * @param blockBytes size of each block but the last
 * @param lastBytes size of the last block
 */
export function combinedCrc(sums: Uint32Array, blockBytes: number, lastBytes: number): number {
  const shift = shiftOf(blockBytes);
  const last = sums.length - 1;
  let sum = 0;
  for (let block = 0; block < last; block++) sum = multiply(shift, sum) ^ (sums[block] as number);
  return (multiply(shiftOf(lastBytes), sum) ^ (sums[last] as number)) >>> 0;
}
