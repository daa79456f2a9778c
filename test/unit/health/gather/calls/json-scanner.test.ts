import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScanner, tokenNumber } from '../../../../../src/health/gather/calls/json-scanner.ts';
import { tokenText } from '../../../../../src/platform/json/valid-json.ts';

/** The tokens of a scan, one line each. @param maxDepth objects and arrays below it are one token */
function scan(chunks: readonly Buffer[], maxDepth?: number): string[] {
  const seen: string[] = [];
  const scanner = new JsonScanner({
    ...(maxDepth !== undefined && { maxDepth }),
    key: (bytes, start, end, depth) => void seen.push(`${depth} key ${tokenText(bytes, start, end)}`),
    scalar: (bytes, start, end, depth) => {
      const isWhole = depth === maxDepth && '[{'.includes(String.fromCharCode(bytes[start] ?? 0));
      const text = isWhole ? plain(bytes.toString('utf8', start, end)) : tokenText(bytes, start, end);
      seen.push(`${depth} scalar ${text}`);
    },
    endObject: (depth) => void seen.push(`${depth} end`),
  });
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return seen;
}

/** Without white space; a string that begins with a bracket stays as it is. */
function plain(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The same from a value of JSON.parse. */
function walk(value: unknown, maxDepth = Number.POSITIVE_INFINITY, depth = 0): string[] {
  const isScalar = typeof value !== 'object' || value === null;
  if (isScalar || depth === maxDepth)
    return [`${depth} scalar ${typeof value === 'string' ? value : JSON.stringify(value)}`];
  if (Array.isArray(value)) return value.flatMap((item) => walk(item, maxDepth, depth + 1));
  const members = Object.entries(value).flatMap(([key, item]) =>
    [`${depth + 1} key ${key}`].concat(walk(item, maxDepth, depth + 1)),
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

  it('returns objects and arrays below a depth as they are written, for any chunks', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.nat({ max: 3 }),
        fc.constantFrom(undefined, 2),
        fc.array(fc.nat()),
        (value, maxDepth, indent, cuts) => {
          // A string that begins with a bracket would be taken for an object here.
          const text = JSON.stringify(
            value,
            (_key, item: unknown) => (typeof item === 'string' ? `s${item}` : item),
            indent,
          );
          expect(scan(split(text, cuts), maxDepth)).toEqual(walk(JSON.parse(text), maxDepth));
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

  it.each(['{"a" 1}', '[01]', '["a\u0001"]', '["\\x"]', '[1,]', '{"a":1,}', '{1:2}', '[1 2]', '1 2', '[1.]', '\v1'])(
    'rejects %j, which JSON.parse rejects',
    (text) => {
      expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
      expect(() => scan([Buffer.from(text)])).toThrow(/the response is not JSON/u);
    },
  );

  it('shows the bytes that are not JSON', () => {
    expect(() => scan([Buffer.from('<html><body>Bad gateway')])).toThrow('is not JSON: `<html><body>Bad gateway`');
    expect(() => scan([Buffer.from(`[1,${'x'.repeat(100)}`)])).toThrow(`\`${'x'.repeat(40)}\``);
  });

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
