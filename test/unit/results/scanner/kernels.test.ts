import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JS_KERNEL } from '../../../../src/results/scanner/kernel-js.ts';
import { createWasmKernel } from '../../../../src/results/scanner/kernel-wasm.ts';
import { chooseKernel } from '../../../../src/results/scanner/kernel.ts';
import type { RowKernel } from '../../../../src/results/scanner/row-kernel.ts';

const WASM_KERNEL = createWasmKernel();

interface Walked {
  readonly starts: number[];
  readonly rows: number;
  readonly ended: boolean;
  readonly used: number;
}

function walk(
  kernel: RowKernel,
  text: string | Uint8Array,
  cuts: readonly number[] = [],
  stride = 1,
  limit?: number,
): Walked {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const rows = kernel.walk(limit);
  const starts: number[] = [];
  let used = 0;
  for (const end of [...cuts, bytes.length]) {
    if (rows.ended) break;
    const from = used;
    used += rows.scan(bytes.subarray(from, end), stride, (_row, offset) => starts.push(from + offset));
  }
  return { starts, rows: rows.rows, ended: rows.ended, used };
}

/** Each row as parsed by JSON.parse, located by the offsets. */
function rowsOf(text: string, walked: Walked): unknown[] {
  const bytes = Buffer.from(text);
  return walked.starts.map((start, i) => {
    const end = walked.starts[i + 1] ?? walked.used - 1;
    return JSON.parse(bytes.toString('utf8', start, end).replace(/[\s,]+$/, '')) as unknown;
  });
}

const CORPUS: Readonly<Record<string, string>> = {
  'no row': '[]',
  'no row, with space': '[ \n\t\r ]',
  'empty rows': '[[],[],[]]',
  'one row': '[[1]]',
  'brackets inside strings': '[["],[","[[[","}}{{"],["]]"]]',
  escapes: '[["\\"],[\\"","\\\\","\\\\\\"","\\u005d\\u0022"],["\\\\"],["\\/\\b\\f\\n\\r\\t"]]',
  'runs of backslashes across 64 bytes': `[${Array.from({ length: 140 }, (_, n) => JSON.stringify(['\\'.repeat(n), `${'\\'.repeat(n)}"],[`])).join(',')}]`,
  'nested arrays and objects': '[[[1,2],[[]],{"a":[{"b":"]"}]}],[{}],[[[[[]]]]]]',
  'surrogate pairs': '[["😀"],["\\uD83D\\uDE00"],["𝒳\u2028\u2029"],["Zürich","São Paulo"]]',
  whitespace: '[ [ 1 , 2 ]\n,\t[ "a b" ] ,\r\n [ ] ]',
  numbers:
    '[[9007199254740993,-0,1E+40,-0.10,1.0E308,3.4028235E38,-9223372036854775808],[123456789012345678901234567890.123456789]]',
  'spelled numbers': '[["NaN","Infinity","-Infinity"],[null,true,false]]',
  '10,000 columns': JSON.stringify([
    Array.from({ length: 10_000 }, (_, i) => i),
    Array.from({ length: 10_000 }, (_, i) => `c${i}]`),
  ]),
  'many small rows': JSON.stringify(Array.from({ length: 70_000 }, () => [])),
  'a string longer than a chunk': JSON.stringify([['x'.repeat(200_000)], ['\\"'.repeat(50_000)]]),
};

describe.each([WASM_KERNEL, JS_KERNEL])('the $name kernel', (kernel) => {
  it.each(Object.entries(CORPUS))('finds the rows that JSON.parse finds: %s', (_name, text) => {
    const inner = text.slice(1);
    const walked = walk(kernel, inner);
    expect(walked.ended).toBe(true);
    expect(walked.used).toBe(Buffer.byteLength(inner));
    expect(rowsOf(inner, walked)).toEqual(JSON.parse(text));
  });

  it('returns the same for any split of the bytes', () => {
    for (const text of Object.values(CORPUS)) {
      const inner = Buffer.from(text.slice(1));
      if (inner.length > 1000) continue;
      const whole = walk(kernel, inner);
      for (let at = 1; at < inner.length; at++) expect(walk(kernel, inner, [at])).toEqual(whole);
      const everyByte = Array.from({ length: inner.length - 1 }, (_, i) => i + 1);
      expect(walk(kernel, inner, everyByte)).toEqual(whole);
    }
  });

  it('reports every stride-th row and ends after the limit', () => {
    const inner = CORPUS['runs of backslashes across 64 bytes']!.slice(1);
    const all = walk(kernel, inner);
    const every7 = walk(kernel, inner, [100, 1000, 1001], 7);
    expect(every7.starts).toEqual(all.starts.filter((_, row) => row % 7 === 0));
    const first9 = walk(kernel, inner, [50, 300], 1, 9);
    expect(first9).toMatchObject({ rows: 9, ended: true, used: all.starts[9]! - 1 });
  });

  it.each([
    ['a number for a row', '1]', /other than an array where a row/],
    ['an object for a row', '{}]', /object where a row/],
    ['a string for a row', '"a"]', /other than an array where a row/],
    ['no comma between rows', '[1][2]]', /no comma between/],
    ['two commas between rows', '[1],,[2]]', /a comma where a row/],
    ['a comma in front', ',[1]]', /a comma where a row/],
    ['a comma after the last row', '[1],]', /comma after the last/],
    ['a closing brace for a bracket', '[1},[2]]', /does not match the opening one/],
    ['a closing bracket for a brace', '[{]]', /does not match the opening one/],
    ['a brace that ends the rows', '[1]}', /does not match the opening one/],
    ['a backslash outside of a string', '[\\]]', /backslash outside/],
    ['a control character in a string', '["a\nb"]]', /control character/],
    ['a control character behind a backslash', '["a\\\nb"]]', /control character/],
    ['nesting without end', '['.repeat(100), /nested deeper/],
  ])('refuses %s', (_name, text, message) => {
    expect(() => walk(kernel, text)).toThrow(message);
    const everyByte = Array.from({ length: text.length - 1 }, (_, i) => i + 1);
    expect(() => walk(kernel, text, everyByte)).toThrow(message);
  });

  it('does not end without a closing bracket', () => {
    for (const text of ['', '[1]', '[1],', '[1', '["]]', '["a\\']) expect(walk(kernel, text).ended).toBe(false);
  });
});

describe('both kernels', () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', 'a', '\n', '😀') }),
      fc.double(),
      fc.bigInt().map(String),
      fc.constantFrom(null, true, false, 'NaN'),
      fc.array(tie('value')),
      fc.dictionary(fc.string(), tie('value')),
    ),
  })).value;

  it('agree with JSON.parse on any rows, split anywhere', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(value)),
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.constantFrom(undefined, 1, 3),
        fc.integer({ min: 1, max: 5 }),
        (rows, seeds, indent, stride) => {
          const text = JSON.stringify(rows, null, indent);
          const inner = Buffer.from(text.slice(1));
          const cuts = seeds.map((seed) => seed % (inner.length + 1)).sort((a, b) => a - b);
          const wasm = walk(WASM_KERNEL, inner, cuts, stride);
          expect(walk(JS_KERNEL, inner, cuts, stride)).toEqual(wasm);
          expect(wasm).toMatchObject({ ended: true, rows: rows.length });
          expect(rowsOf(text.slice(1), walk(WASM_KERNEL, inner, cuts))).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('agree on invalid rows', () => {
    const outcome = (kernel: RowKernel, bytes: Uint8Array, cuts: readonly number[]): unknown => {
      try {
        return walk(kernel, bytes, cuts);
      } catch (error) {
        return (error as Error).message.replace(/near row \d+/, 'near a row');
      }
    };
    fc.assert(
      fc.property(
        fc.array(fc.array(value), { minLength: 1 }),
        fc.nat(),
        fc.constantFrom(...Array.from('"\\[]{},x\n ', (char) => char.charCodeAt(0))),
        fc.nat(),
        (rows, at, byte, cut) => {
          const inner = Buffer.from(JSON.stringify(rows).slice(1));
          inner[at % inner.length] = byte;
          const cuts = [cut % inner.length];
          const js = outcome(JS_KERNEL, inner, cuts);
          const wasm = outcome(WASM_KERNEL, inner, cuts);
          // With two errors in one block the kernels may report different ones, but both must report an error.
          if (typeof js === 'string') expect(wasm).toBeTypeOf('string');
          // The WebAssembly kernel reads to the end of its block and may report an error after the rows; then there must be one.
          else if (typeof wasm === 'string') expect(() => JSON.parse(`[${inner.toString()}`) as unknown).toThrow();
          else expect(wasm).toEqual(js);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are interchangeable', () => {
    expect(chooseKernel().name).toBe('wasm');
    const noSimd = (): RowKernel => {
      throw new Error('invalid opcode 0xfd');
    };
    expect(chooseKernel(noSimd)).toBe(JS_KERNEL);
  });
});
