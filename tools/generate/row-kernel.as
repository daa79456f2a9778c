// The fast part of the row scanner, in AssemblyScript; compiled ahead of time by tools/generate/kernels.ts.
//
// Sixty-four bytes at a time become bit masks (one bit a byte): quotes, backslashes, commas, brackets, digits. A prefix
// xor over the quotes marks the inside of strings. The technique is that of simdjson (Langdale and Lemire, 2019).
// Numbers are matched by adding masks, as Parabix does (Cameron et al.): the carry of an addition runs to the end of a
// run of digits. src/results/scanner/utf8-check.ts checks UTF-8.
//
// A block is accepted only if it is certainly valid: values in arrays, without white space. Everything else ends the
// call before the block: src/results/scanner/kernel-js.ts then reads on, byte by byte, and decides.

// Layout of the memory, agreed with src/results/scanner/kernel-wasm.ts: zeros, input, padding, offsets of rows.
const INPUT: usize = 1024;
export const CAPACITY: i32 = 65536;
const OUTPUT: usize = INPUT + 65536 + 64;
const BLOCK: i32 = 64;
/** Bytes after a block that may be read: the longest escape or literal that begins in it. */
const AHEAD: i32 = 8;
const MAX_DEPTH: i32 = 1000;

// What is carried into and out of a call.
export let inString: i64 = 0; // all ones inside a string
export let escaped: i64 = 0; // out: 1 if the next byte is escaped
export let expects: i64 = 0; // in: 1 if a value must follow: after `[` or a comma
export let opened: i64 = 0; // in: 1 after `[`
export let depth: i32 = 0; // open brackets; at least 1 at the start of a call
export let stride: i32 = 1; // of how many rows one offset is written
export let countdown: i32 = 1; // rows until the next one
export let limit: i32 = i32.MAX_VALUE; // end before the block that completes this many rows of this call

// What a call found.
export let rows: i32 = 0; // rows begun
export let offsets: i32 = 0; // offsets written

// @ts-ignore: decorator
@inline
function mask(a: v128, b: v128, c: v128, d: v128): i64 {
  return <i64>(<u64>(<u32>i8x16.bitmask(a))
    | (<u64>(<u32>i8x16.bitmask(b)) << 16)
    | (<u64>(<u32>i8x16.bitmask(c)) << 32)
    | (<u64>(<u32>i8x16.bitmask(d)) << 48));
}

function isHex(c: u32): bool {
  return c - 0x30 < 10 || (c | 0x20) - 0x61 < 6;
}

/** Whether a valid escape begins with the backslash at this address. */
function isEscape(at: usize): bool {
  const c = <u32>load<u8>(at, 1);
  if (c == 0x75) {
    return isHex(load<u8>(at, 2)) && isHex(load<u8>(at, 3)) && isHex(load<u8>(at, 4)) && isHex(load<u8>(at, 5));
  }
  return c == 0x22 || c == 0x5c || c == 0x2f || c == 0x62 || c == 0x66 || c == 0x6e || c == 0x72 || c == 0x74;
}

/** Scans whole blocks of the input from offset `start`, which is not inside a value except a string. Returns the offset of the first byte that was not scanned. */
export function scan(start: i32, len: i32): i32 {
  let d = depth;
  let wait = countdown;
  let n = 0;
  let count = 0;
  let inside = inString;
  let odd = 0 as i64; // the first byte of the next block is escaped
  let expectC = expects;
  let openC = opened;
  let scalarC: i64 = 0;
  let leadC: i64 = 0; // a leading zero
  let digitC: i64 = 0;
  let numberC: i64 = 0; // any of the following
  let minusC: i64 = 0;
  let pointC: i64 = 0;
  let fractionC: i64 = 0;
  let exponentC: i64 = 0;
  let signC: i64 = 0;
  let powerC: i64 = 0; // digits of an exponent
  let literalC: i64 = 0; // the bytes of a literal that began in the block before
  let afterC: i64 = 0; // the byte after it
  const quote = i8x16.splat(0x22);
  const backslash = i8x16.splat(0x5c);

  let base = start;
  for (; base + (BLOCK + AHEAD) <= len; base += BLOCK) {
    const at = INPUT + base;
    const v0 = v128.load(at);
    const v1 = v128.load(at, 16);
    const v2 = v128.load(at, 32);
    const v3 = v128.load(at, 48);
    // White space outside of strings and control characters inside.
    const least = i8x16.min_u(i8x16.min_u(v0, v1), i8x16.min_u(v2, v3));
    if (v128.any_true(i8x16.lt_u(least, i8x16.splat(0x20)))) break;
    const slash0 = i8x16.eq(v0, backslash);
    const slash1 = i8x16.eq(v1, backslash);
    const slash2 = i8x16.eq(v2, backslash);
    const slash3 = i8x16.eq(v3, backslash);
    let quotes = mask(i8x16.eq(v0, quote), i8x16.eq(v1, quote), i8x16.eq(v2, quote), i8x16.eq(v3, quote));
    let slashes: i64 = 0;
    let escapes: i64 = 0;
    let nextOdd: i64 = 0;
    if (odd != 0 || v128.any_true(v128.or(v128.or(slash0, slash1), v128.or(slash2, slash3)))) {
      slashes = mask(slash0, slash1, slash2, slash3);
      const ODD: i64 = 0xaaaaaaaaaaaaaaaa;
      const starts = slashes & ~odd;
      const codes = (((starts << 1) | ODD) - starts) ^ ODD;
      const after = codes ^ (slashes | odd);
      escapes = codes & slashes;
      quotes &= ~after;
      nextOdd = escapes >>> 63;
    }
    let strings = quotes ^ (quotes << 1);
    strings ^= strings << 2;
    strings ^= strings << 4;
    strings ^= strings << 8;
    strings ^= strings << 16;
    strings ^= strings << 32;
    strings ^= inside;
    let bad = slashes & ~strings;
    while (escapes != 0) {
      if (!isEscape(at + <usize>ctz(escapes))) bad = 1;
      escapes &= escapes - 1;
    }

    const out = ~(strings | quotes);
    const commaByte = i8x16.splat(0x2c);
    const commas = mask(i8x16.eq(v0, commaByte), i8x16.eq(v1, commaByte), i8x16.eq(v2, commaByte), i8x16.eq(v3, commaByte)) & out;
    const open = i8x16.splat(0x5b);
    const close = i8x16.splat(0x5d);
    const opens = mask(i8x16.eq(v0, open), i8x16.eq(v1, open), i8x16.eq(v2, open), i8x16.eq(v3, open)) & out;
    const closes = mask(i8x16.eq(v0, close), i8x16.eq(v1, close), i8x16.eq(v2, close), i8x16.eq(v3, close)) & out;
    const brackets = opens | closes;
    const scalars = out & ~(commas | brackets);
    const zero = i8x16.splat(0x30);
    const ten = i8x16.splat(10);
    const digits = mask(
      i8x16.lt_u(i8x16.sub(v0, zero), ten), i8x16.lt_u(i8x16.sub(v1, zero), ten),
      i8x16.lt_u(i8x16.sub(v2, zero), ten), i8x16.lt_u(i8x16.sub(v3, zero), ten)) & scalars;
    const starts = scalars & ~((scalars << 1) | scalarC);
    const rest = scalars & ~digits;
    let firsts = starts & digits;
    let nextNumber: i64 = 0;
    let nextMinus: i64 = 0;
    let nextPoint: i64 = 0;
    let nextFraction: i64 = 0;
    let nextExponent: i64 = 0;
    let nextSign: i64 = 0;
    let nextPower: i64 = 0;
    let nextLiteral: i64 = 0;
    let nextAfter: i64 = 0;
    if ((rest | numberC) != 0) {
      const minusByte = i8x16.splat(0x2d);
      const pointByte = i8x16.splat(0x2e);
      const minus = mask(i8x16.eq(v0, minusByte), i8x16.eq(v1, minusByte), i8x16.eq(v2, minusByte), i8x16.eq(v3, minusByte)) & rest;
      const points = mask(i8x16.eq(v0, pointByte), i8x16.eq(v1, pointByte), i8x16.eq(v2, pointByte), i8x16.eq(v3, pointByte)) & rest;
      const previous = (digits << 1) | digitC;
      const leading = minus & starts;
      const afterLeading = (leading << 1) | minusC;
      const afterPoint = (points << 1) | pointC;
      const fraction = digits & ~(((afterPoint | fractionC) & digits) + digits);
      bad |= ((afterLeading | afterPoint) & ~digits) | (points & (~previous | (fraction << 1) | fractionC));
      firsts |= afterLeading & digits;
      nextMinus = leading >>> 63;
      nextPoint = points >>> 63;
      nextFraction = fraction >>> 63;
      let others = rest & ~((minus & starts) | points | literalC);
      if ((others | exponentC | signC | powerC | afterC) != 0) {
        let after = afterC;
        let words = others & starts;
        while (words != 0) {
          const bit = ctz(words);
          words &= words - 1;
          const word = load<u32>(at + <usize>bit);
          let letters: i64 = 0;
          if (word == 0x65757274 || word == 0x6c6c756e) letters = 4; // `true`, `null`
          else if (word == 0x736c6166 && load<u8>(at + <usize>bit, 4) == 0x65) letters = 5; // `false`
          else { bad = 1; break; }
          const end = bit + letters;
          others &= ~(((<i64>1 << letters) - 1) << bit);
          if (end < 64) after |= <i64>1 << end;
          else {
            nextLiteral = (<i64>1 << (end - 64)) - 1;
            nextAfter = <i64>1 << (end - 64);
          }
        }
        bad |= after & scalars;
        const lower = i8x16.splat(0x20);
        const e = i8x16.splat(0x65);
        const plusByte = i8x16.splat(0x2b);
        const exponents = mask(
          i8x16.eq(v128.or(v0, lower), e), i8x16.eq(v128.or(v1, lower), e),
          i8x16.eq(v128.or(v2, lower), e), i8x16.eq(v128.or(v3, lower), e)) & others;
        const plus = mask(i8x16.eq(v0, plusByte), i8x16.eq(v1, plusByte), i8x16.eq(v2, plusByte), i8x16.eq(v3, plusByte));
        const signs = (minus | plus) & others;
        bad |= others & ~(exponents | signs);
        const afterExponent = (exponents << 1) | exponentC;
        const afterSign = (signs << 1) | signC;
        bad |= (exponents & ~previous) | (signs & ~afterExponent) | (afterSign & ~digits) | (afterExponent & ~(signs | digits));
        const power = digits & ~(((afterSign | afterExponent | powerC) & digits) + digits);
        bad |= (points | exponents) & ((power << 1) | powerC);
        nextExponent = exponents >>> 63;
        nextSign = signs >>> 63;
        nextPower = power >>> 63;
      }
      nextNumber = nextMinus | nextPoint | nextFraction | nextExponent | nextSign | nextPower | nextAfter;
    }
    const zeros = mask(i8x16.eq(v0, zero), i8x16.eq(v1, zero), i8x16.eq(v2, zero), i8x16.eq(v3, zero));
    const leads = firsts & zeros;
    bad |= ((leads << 1) | leadC) & digits;

    let deep = d;
    let begun = count;
    let waiting = wait;
    let written = n;
    // Rows of scalars and of arrays of scalars, the usual case: while the depth is at most 2, its parity tells which brackets are those of rows.
    let parity = brackets ^ (brackets << 1);
    parity ^= parity << 2;
    parity ^= parity << 4;
    parity ^= parity << 8;
    parity ^= parity << 16;
    parity ^= parity << 32;
    const oddBefore = (parity << 1) ^ -<i64>(d & 1);
    const rowEnds = closes & oddBefore;
    const rowStarts = opens & ~oddBefore;
    const found = <i32>popcnt(rowStarts);
    if (d <= 2 && rowStarts == (rowEnds << 2) && ((rowEnds << 1) & ~commas) == 0 && (rowEnds >>> 62) == 0
      && begun + found <= limit) {
      begun += found;
      deep = 2 - <i32>(((parity >>> 63) ^ d) & 1);
      if (found < waiting) waiting -= found;
      else {
        let left = rowStarts;
        while (left != 0) {
          store<u32>(OUTPUT + (written << 2), base + <i32>ctz(left));
          left &= left - 1;
          const due = <i32>(--waiting == 0);
          written += due;
          waiting += due * stride;
        }
      }
    } else {
      let left = brackets;
      let wrong: i32 = 0;
      while (left != 0) {
        const bit = ctz(left);
        left &= left - 1;
        const isOpen = <i32>(opens >>> bit) & 1;
        const begin = isOpen & <i32>(deep == 0);
        begun += begin;
        waiting -= begin;
        store<u32>(OUTPUT + (written << 2), base + <i32>bit);
        const due = <i32>(waiting == 0);
        written += due;
        waiting += due * stride;
        deep += (isOpen << 1) - 1;
        // Another row must follow: the other kernel ends the rows.
        wrong |= (<i32>(deep == 0) & (<i32>(load<u16>(at + <usize>bit, 1) != 0x5b2c) | <i32>(begun == limit))) | <i32>(deep > MAX_DEPTH);
      }
      if (wrong != 0) break;
    }
    const begins = opens | commas;
    const expected = (begins << 1) | expectC;
    const values = starts | opens | (quotes & strings);
    bad |= (values & ~expected) | (expected & ~values & ~(closes & ((opens << 1) | openC)));
    if (bad != 0) break;

    d = deep;
    count = begun;
    wait = waiting;
    n = written;
    inside = strings >> 63;
    odd = nextOdd;
    expectC = begins >>> 63;
    openC = opens >>> 63;
    scalarC = scalars >>> 63;
    leadC = leads >>> 63;
    digitC = digits >>> 63;
    numberC = nextNumber;
    minusC = nextMinus;
    pointC = nextPoint;
    fractionC = nextFraction;
    exponentC = nextExponent;
    signC = nextSign;
    powerC = nextPower;
    literalC = nextLiteral;
    afterC = nextAfter;
  }
  depth = d;
  countdown = wait;
  rows = count;
  offsets = n;
  inString = inside;
  escaped = odd;
  return base;
}

/** Where the offsets are, and where the input goes. */
export function inputAt(): i32 { return <i32>INPUT; }
export function outputAt(): i32 { return <i32>OUTPUT; }
