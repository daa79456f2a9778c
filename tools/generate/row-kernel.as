// The row scanner's inner loop, in AssemblyScript; compiled ahead of time by tools/generate/row-kernel.ts.
//
// Sixty-four bytes at a time become bit masks (one bit a byte): quotes, backslashes, opening and closing brackets. A
// prefix xor over the quotes tells what lies inside strings, so that only brackets outside of them are looked at one by
// one: two a row where no column is an array. The technique is that of simdjson (Langdale and Lemire, 2019).
// src/results/scanner/kernel-js.ts is the same machine byte by byte, and the oracle that this one is tested against.

// Layout of the memory, agreed with src/results/scanner/kernel-wasm.ts: input, 64 bytes of padding, offsets of rows.
const INPUT: usize = 1024;
export const CAPACITY: i32 = 65536;
const OUTPUT: usize = INPUT + 65536 + 64;

// What is carried from chunk to chunk.
export let inString: i64 = 0; // all ones inside a string
export let escaped: i64 = 0; // 1 if the next byte follows an odd run of backslashes
export let depth: i32 = 0; // open brackets inside `rows`
export let stack: i64 = 0; // their kinds, innermost in bit 0: 1 is `{`
export let gap: i32 = 0; // between rows: 0 a row or the end, 1 a comma or the end, 2 a row
export let stride: i32 = 1; // of how many rows one offset is written
export let countdown: i32 = 1; // rows until the next one
export let limit: i32 = i32.MAX_VALUE; // stop behind this many rows of this call

// What a call found.
export let rows: i32 = 0; // rows begun
export let offsets: i32 = 0; // offsets written
export let ended: i32 = 0; // 1: the `]` of `rows` was met; 2: `limit` rows are complete
export let error: i32 = 0; // see ROW_ERRORS in src/results/scanner/row-kernel.ts
export let errorAt: i32 = 0;

function fail(code: i32, at: i32): i32 {
  error = code;
  errorAt = at;
  return at;
}

/** Only whitespace and one comma may stand between rows. */
function checkGap(from: i32, to: i32): bool {
  for (let i = from; i < to; i++) {
    const c = load<u8>(INPUT + i);
    if (c == 0x2c) {
      if (gap != 1) { fail(1, i); return false; }
      gap = 2;
    } else if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) {
      fail(2, i);
      return false;
    }
  }
  return true;
}

// @ts-ignore: decorator
@inline
function mask(a: v128, b: v128, c: v128, d: v128): i64 {
  return <i64>(<u64>(<u32>i8x16.bitmask(a))
    | (<u64>(<u32>i8x16.bitmask(b)) << 16)
    | (<u64>(<u32>i8x16.bitmask(c)) << 32)
    | (<u64>(<u32>i8x16.bitmask(d)) << 48));
}

/** Scans `len` bytes of the input; returns how many were used: all, unless `ended` or `error` is set. */
export function scan(len: i32): i32 {
  let from: i32 = 0;
  let d = depth;
  let st = stack;
  let wait = countdown;
  let n = 0;
  let count = 0;
  rows = 0;
  offsets = 0;
  ended = 0;
  error = 0;
  const quote = i8x16.splat(0x22);
  const backslash = i8x16.splat(0x5c);
  const lower = i8x16.splat(0x20);
  const opening = i8x16.splat(0x7b);
  const closing = i8x16.splat(0x7d);

  for (let base = 0; base < len; base += 64) {
    const at = INPUT + base;
    const v0 = v128.load(at);
    const v1 = v128.load(at, 16);
    const v2 = v128.load(at, 32);
    const v3 = v128.load(at, 48);
    const slashes = mask(i8x16.eq(v0, backslash), i8x16.eq(v1, backslash), i8x16.eq(v2, backslash), i8x16.eq(v3, backslash));
    let quotes = mask(i8x16.eq(v0, quote), i8x16.eq(v1, quote), i8x16.eq(v2, quote), i8x16.eq(v3, quote));
    if ((slashes | escaped) != 0) {
      const ODD: i64 = 0xaaaaaaaaaaaaaaaa;
      const starts = slashes & ~escaped;
      const codes = (((starts << 1) | ODD) - starts) ^ ODD;
      const after = codes ^ (slashes | escaped);
      const escapes = codes & slashes;
      quotes &= ~after;
      const width = min(64, len - base);
      escaped = (escapes >>> (width - 1)) & 1;
    }
    let strings = quotes ^ (quotes << 1);
    strings ^= strings << 2;
    strings ^= strings << 4;
    strings ^= strings << 8;
    strings ^= strings << 16;
    strings ^= strings << 32;
    strings ^= inString;
    inString = strings >> 63;
    if ((slashes & ~strings) != 0) return fail(3, base + <i32>ctz(slashes & ~strings));

    const controls = mask(i8x16.lt_u(v0, lower), i8x16.lt_u(v1, lower), i8x16.lt_u(v2, lower), i8x16.lt_u(v3, lower)) & strings;
    if (controls != 0) return fail(9, base + <i32>ctz(controls));

    // `[` and `{`, `]` and `}` differ in the bit 0x20 alone.
    const w0 = v128.or(v0, lower);
    const w1 = v128.or(v1, lower);
    const w2 = v128.or(v2, lower);
    const w3 = v128.or(v3, lower);
    const open = mask(i8x16.eq(w0, opening), i8x16.eq(w1, opening), i8x16.eq(w2, opening), i8x16.eq(w3, opening));
    const close = mask(i8x16.eq(w0, closing), i8x16.eq(w1, closing), i8x16.eq(w2, closing), i8x16.eq(w3, closing));
    let brackets = (open | close) & ~strings;
    while (brackets != 0) {
      const bit = ctz(brackets);
      const i = base + <i32>bit;
      const kind = <i64>((load<u8>(INPUT + i) >> 5) & 1);
      brackets &= brackets - 1;
      if (((open >>> bit) & 1) != 0) {
        if (d == 0) {
          if (kind != 0) return fail(4, i);
          if (i - from == 1 && gap == 1 && load<u8>(INPUT + from) == 0x2c) gap = 2;
          else if (!checkGap(from, i)) return i;
          if (gap == 1) return fail(5, i);
          count++;
          if (--wait == 0) {
            store<u32>(OUTPUT + (n << 2), i);
            n++;
            wait = stride;
          }
        } else if (d == 63) {
          return fail(6, i);
        }
        st = (st << 1) | kind;
        d++;
      } else {
        if (d == 0) {
          if (!checkGap(from, i)) return i;
          if (gap == 2 || kind != 0) return fail(gap == 2 ? 7 : 8, i);
          ended = 1;
          rows = count;
          offsets = n;
          return i + 1;
        }
        if ((st & 1) != kind) return fail(8, i);
        st = st >>> 1;
        d--;
        if (d == 0) {
          from = i + 1;
          gap = 1;
          if (count == limit) {
            ended = 2;
            rows = count;
            offsets = n;
            return from;
          }
        }
      }
    }
  }
  if (d == 0 && !checkGap(from, len)) return len;
  depth = d;
  stack = st;
  countdown = wait;
  rows = count;
  offsets = n;
  return len;
}

/** Where the offsets are, and where the input goes. */
export function inputAt(): i32 { return <i32>INPUT; }
export function outputAt(): i32 { return <i32>OUTPUT; }
