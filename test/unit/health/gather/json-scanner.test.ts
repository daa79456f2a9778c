import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScanner, tokenNumber, tokenText, type JsonVisitor } from '../../../../src/health/gather/json-scanner.ts';

/** The tokens of a scan, one line each; members that came in one call are separate lines. */
function scan(chunks: readonly Buffer[]): string[] {
  const alone = scanBy(chunks, false);
  expect(scanBy(chunks, true)).toEqual(alone);
  return alone;
}

function scanBy(chunks: readonly Buffer[], together: boolean): string[] {
  const seen: string[] = [];
  const key: JsonVisitor['key'] = (bytes, start, end, depth) =>
    void seen.push(`${depth} key ${tokenText(bytes, start, end)}`);
  const scalar: JsonVisitor['scalar'] = (bytes, start, end, depth) =>
    void seen.push(`${depth} scalar ${tokenText(bytes, start, end)}`);
  const members: JsonVisitor['members'] = (bytes, marks, from, to, depth) => {
    const quotes = marks.subarray(from, to);
    for (let i = 0; i < quotes.length; i += 4) {
      const [keyStart = 0, keyEnd = 0, start = 0, end = 0] = quotes.subarray(i, i + 4);
      key(bytes, keyStart + 1, keyEnd, depth);
      scalar(bytes, start + 1, end, depth);
    }
  };
  const visitor: JsonVisitor = { key, scalar, endObject: (depth) => void seen.push(`${depth} end`) };
  const scanner = new JsonScanner(together ? { ...visitor, members } : visitor);
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return seen;
}

/** The same from a value of JSON.parse. */
function walk(value: unknown, depth = 0): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => walk(item, depth + 1));
  if (typeof value !== 'object' || value === null) {
    return [`${depth} scalar ${typeof value === 'string' ? value : JSON.stringify(value)}`];
  }
  const members = Object.entries(value).flatMap(([key, item]) =>
    [`${depth + 1} key ${key}`].concat(walk(item, depth + 1)),
  );
  return [...members, `${depth + 1} end`];
}

const split = (text: string, at: readonly number[]): Buffer[] => {
  const bytes = Buffer.from(text);
  const cuts = [...new Set(at.map((i) => i % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...cuts].map((cut, i) => bytes.subarray(cut, cuts[i] ?? bytes.length));
};

describe('JsonScanner', () => {
  it('returns the same tokens as JSON.parse for any layout and any chunks', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, noUnicodeString: false }),
        fc.constantFrom(undefined, 1, 2),
        fc.array(fc.nat()),
        (value, indent, cuts) => {
          const text = JSON.stringify(value, undefined, indent);
          expect(scan(split(text, cuts))).toEqual(walk(JSON.parse(text)));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('finds the ends of strings with many escapes for any chunks', () => {
    const escapes = fc.array(fc.constantFrom('\\', '"', 'x', '{', ',', 'é', '\n'), { maxLength: 90 });
    fc.assert(
      fc.property(fc.array(escapes), fc.array(fc.nat()), (parts, cuts) => {
        const value = Object.fromEntries(parts.map((part, i) => [`k${i}${part.join('')}`, part.join('')]));
        expect(scan(split(JSON.stringify(value), cuts))).toEqual(walk(value));
      }),
      { numRuns: 200 },
    );
  });

  it('returns members with plain strings, alone and among others, for any chunks', () => {
    const plain = fc.stringMatching(/^[a-z.]{0,12}$/u);
    const member = fc.oneof({ weight: 5, arbitrary: plain }, fc.constantFrom(1, null, 'a"b', '\\', {}, [], { a: 'b' }));
    fc.assert(
      fc.property(
        fc.dictionary(plain, member),
        fc.constantFrom(undefined, 2),
        fc.array(fc.nat()),
        (value, indent, cuts) => {
          expect(scan(split(JSON.stringify({ value }, undefined, indent), cuts))).toEqual(walk({ value }));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('accepts a chunk of any size', () => {
    const value = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`segment_${i}`, `"${i}\\`]));
    expect(scan([Buffer.from(JSON.stringify(value))])).toEqual(walk(value));
  });

  it.each(['"abc\\', '{"a\\"', '["\\\\\\"'])('rejects %j, whose last string is not closed', (text) => {
    expect(() => scan([Buffer.from(text)])).toThrow('the response ended unexpectedly');
  });

  it.each(['', '   ', '{', '[1', '{"a":', '"abc', '{"a":1', '[1}', '}', '{]', 'nul', '[tru]', '<html>', '{"a":x}'])(
    'rejects %j',
    (text) => {
      expect(() => scan([Buffer.from(text)])).toThrow(/the response/u);
    },
  );

  it('limits depth and token size', () => {
    expect(() => scan([Buffer.from('['.repeat(100))])).toThrow('nested deeper');
    expect(() => scan([Buffer.from(`"${'x'.repeat(2 * 1024 * 1024)}`)])).toThrow('1 MiB');
  });
});

describe('tokenNumber', () => {
  const number = (text: string) => tokenNumber(Buffer.from(text), 0, text.length);

  it.each([
    ['0', 0],
    ['1760000257420', 1_760_000_257_420],
    ['-1', -1],
    ['', Number.NaN],
    ['-', Number.NaN],
    ['null', Number.NaN],
    ['1.5', Number.NaN],
  ])('of %j', (text, value) => {
    expect(number(text)).toBe(value);
  });
});
