// The inner loop of the health checks' JSON scanner, in AssemblyScript; compiled ahead of time by tools/generate/kernels.ts.
//
// Tells where the quotes and backslashes of a chunk are, sixty-four bytes at a time. It carries nothing from call to call: which quotes
// are escaped, and which open a string, is for the scanner to say.

// Layout of the memory, agreed with src/health/gather/quote-index.ts: input, 64 bytes of padding, offsets.
const INPUT: usize = 1024;
export const CAPACITY: i32 = 65536;
const OUTPUT: usize = INPUT + 65536 + 64;

// @ts-ignore: decorator
@inline
function mask(a: v128, b: v128, c: v128, d: v128): i64 {
  return <i64>(<u64>(<u32>i8x16.bitmask(a))
    | (<u64>(<u32>i8x16.bitmask(b)) << 16)
    | (<u64>(<u32>i8x16.bitmask(c)) << 32)
    | (<u64>(<u32>i8x16.bitmask(d)) << 48));
}

/** Writes the offsets within the first `len` bytes of the input in ascending order, then some past its end, the last `i32.MAX_VALUE`. */
export function scan(len: i32): void {
  const quote = i8x16.splat(0x22);
  const backslash = i8x16.splat(0x5c);
  let output = OUTPUT;
  for (let base = 0; base < len; base += 64) {
    const at = INPUT + base;
    const v0 = v128.load(at);
    const v1 = v128.load(at, 16);
    const v2 = v128.load(at, 32);
    const v3 = v128.load(at, 48);
    let marks = mask(
      v128.or(i8x16.eq(v0, quote), i8x16.eq(v0, backslash)),
      v128.or(i8x16.eq(v1, quote), i8x16.eq(v1, backslash)),
      v128.or(i8x16.eq(v2, quote), i8x16.eq(v2, backslash)),
      v128.or(i8x16.eq(v3, quote), i8x16.eq(v3, backslash)),
    );
    while (marks != 0) {
      store<u32>(output, base + <i32>ctz(marks));
      output += 4;
      marks &= marks - 1;
    }
  }
  store<u32>(output, i32.MAX_VALUE);
}

/** Where the offsets are, and where the input goes. */
export function inputAt(): i32 { return <i32>INPUT; }
export function outputAt(): i32 { return <i32>OUTPUT; }
