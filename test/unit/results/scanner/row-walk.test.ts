import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { walk, type Walked } from './walks.ts';

const MUTATIONS = 100_000;
const SEED = Number(process.env['SEED'] ?? 1);

/** Small and fast, with a seed (mulberry32). */
class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) % limit;
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

const VALUES = [
  ...[
    '0',
    '7',
    '42',
    '-1',
    '-0',
    '1.5',
    '-0.25',
    '1E10',
    '2.5e-3',
    '1e+5',
    '9007199254740993',
    '123456789012345678901234.5',
  ],
  ...[
    'null',
    'true',
    'false',
    '""',
    '"a"',
    '"Zürich"',
    '"東京 😀"',
    '"a \\"quoted\\" text, with [brackets]"',
    '"\\u00e9\\n\\\\"',
  ],
  ...['[]', '[1,2]', '["a","b"]', '[[],[1]]', '{}', '{"a":1,"b":[null]}', `"${'long '.repeat(20)}"`, ' 1', '"x" '],
];
const BYTES = Array.from('"\\[]{},:.-+eE0159tfnualrs \n\t\u0001x/', (char) => char.charCodeAt(0));

/** The text after the `[` of rows, mostly with a few wrong bytes. */
function mutated(random: Random): Buffer {
  const plain = random.below(2) === 0 ? 18 : VALUES.length;
  const rows = Array.from({ length: random.below(7) }, () => {
    const values = Array.from({ length: random.below(7) }, () => VALUES[random.below(plain)]);
    return `[${values.join(',')}]`;
  });
  let bytes = Buffer.from(`${rows.join(random.below(20) === 0 ? ' , ' : ',')}]`);
  for (let count = random.below(4); count > 0; count--) {
    const at = random.below(bytes.length);
    const [drop, added] = random.of([
      [1, [random.of(BYTES)]],
      [0, [random.of(BYTES)]],
      [1, []],
      [random.below(6), []],
      [0, [...Buffer.from(random.of(VALUES))]],
    ] as const);
    bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(added), bytes.subarray(at + drop)]);
  }
  return bytes;
}

function cutsOf(random: Random, length: number): number[] {
  if (random.below(50) === 0) return Array.from({ length: Math.max(0, length - 1) }, (_, i) => i + 1);
  return Array.from({ length: random.below(3) }, () => random.below(length + 1)).sort((a, b) => a - b);
}

/** Whether the bytes begin with the rest of an array of arrays. */
function isJson(bytes: Buffer): boolean {
  // latin1: UTF-8 is checked elsewhere, and a position is an offset.
  const text = `[${bytes.toString('latin1')}`;
  const parse = (json: string): boolean => {
    const value = JSON.parse(json) as unknown;
    return Array.isArray(value) && value.every((row) => Array.isArray(row));
  };
  try {
    return parse(text);
  } catch (error) {
    const after = /after JSON at position (\d+)/.exec((error as Error).message);
    return after !== null && parse(text.slice(0, Number(after[1])));
  }
}

/** The walk; the message of an error; undefined for an incomplete text. */
function outcome(bytes: Uint8Array, cuts: readonly number[], stride: number): Walked | string | undefined {
  try {
    const walked = walk(bytes, cuts, stride);
    return walked.ended ? walked : undefined;
  } catch (error) {
    return (error as Error).message;
  }
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

describe('the scanner of rows', () => {
  it.each(Object.entries(CORPUS))('finds the rows that JSON.parse finds: %s', (_name, text) => {
    const inner = text.slice(1);
    const walked = walk(inner);
    expect(walked.ended).toBe(true);
    expect(walked.used).toBe(Buffer.byteLength(inner));
    expect(rowsOf(inner, walked)).toEqual(JSON.parse(text));
  });

  it('returns the same for any split of the bytes', () => {
    for (const text of Object.values(CORPUS)) {
      const inner = Buffer.from(text.slice(1));
      if (inner.length > 1000) continue;
      const whole = walk(inner);
      for (let at = 1; at < inner.length; at++) expect(walk(inner, [at])).toEqual(whole);
      const everyByte = Array.from({ length: inner.length - 1 }, (_, i) => i + 1);
      expect(walk(inner, everyByte)).toEqual(whole);
    }
  });

  it('reports every stride-th row and ends after the limit', () => {
    const inner = CORPUS['runs of backslashes across 64 bytes']!.slice(1);
    const all = walk(inner);
    const every7 = walk(inner, [100, 1000, 1001], 7);
    expect(every7.starts).toEqual(all.starts.filter((_, row) => row % 7 === 0));
    const first9 = walk(inner, [50, 300], 1, 9);
    expect(first9).toMatchObject({ rows: 9, ended: true, used: all.starts[9]! - 1 });
  });

  it('accepts arrays as deep as the engine writes them', () => {
    const text = `${'['.repeat(1000)}${']'.repeat(1000)}]`;
    expect(walk(text)).toMatchObject({ ended: true, rows: 1 });
    expect(walk(text, [500, 999, 1500])).toMatchObject({ ended: true, rows: 1 });
  });

  it('does not end without a closing bracket', () => {
    for (const text of ['', '[1]', '[1],', '[1', '["]]', '["a\\']) expect(walk(text).ended).toBe(false);
  });
});

describe('any rows', () => {
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

  it('are those of JSON.parse, split anywhere', { tags: 'slow' }, () => {
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
          const all = walk(inner, cuts);
          expect(all).toMatchObject({ ended: true, rows: rows.length });
          expect(rowsOf(text.slice(1), all)).toEqual(JSON.parse(text));
          const starts = all.starts.filter((_, row) => row % stride === 0);
          expect(walk(inner, cuts, stride)).toEqual({ ...all, starts });
        },
      ),
      { numRuns: 300 },
    );
  });

  it(
    'are accepted exactly if JSON.parse accepts them, in 100,000 mutated responses cut anywhere',
    { tags: 'slow' },
    () => {
      const random = new Random(SEED);
      for (let number = 0; number < MUTATIONS; number++) {
        const bytes = mutated(random);
        const cuts = cutsOf(random, bytes.length);
        const stride = random.below(4) + 1;
        const valid = isJson(bytes);
        const found = outcome(bytes, cuts, stride);
        const message = `seed ${SEED}, response ${number}: ${bytes.toString('latin1')}`;
        expect(typeof found === 'object', message).toBe(valid);
        expect(outcome(bytes, [], stride), message).toEqual(found);
      }
    },
  );
});
