import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseStrictJson,
  parsingStrictJson,
  StrictJsonError,
  type StrictJsonLimits,
} from '../../../src/platform/strict-json.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const parse = (text: string, limits?: StrictJsonLimits): unknown => parseStrictJson(encode(text), limits);

function messageOf(bytes: Uint8Array, limits?: StrictJsonLimits): string {
  try {
    parseStrictJson(bytes, limits);
  } catch (error) {
    if (error instanceof StrictJsonError) return error.message;
    throw error;
  }
  return 'accepted';
}

function parsedByJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Like JSON.stringify, but with white space, escapes and number spellings as drawn. */
function print(value: unknown, draw: (limit: number) => number): string {
  const space = (): string => ['', '', '', ' ', '\n\t', '\r\n  '][draw(6)]!;
  const string = (text: string): string =>
    `"${text
      .split('')
      .map((unit) => (draw(4) === 0 ? unicodeEscape(unit) : JSON.stringify(unit).slice(1, -1)))
      .join('')}"`;
  const walk = (inner: unknown): string => {
    const list = (open: string, parts: readonly string[], close: string): string =>
      `${open}${space()}${parts.join(`${space()},${space()}`)}${space()}${close}`;
    if (Array.isArray(inner)) return list('[', inner.map(walk), ']');
    if (typeof inner === 'string') return string(inner);
    if (typeof inner === 'object' && inner !== null)
      return list(
        '{',
        Object.entries(inner).map(([key, field]) => `${string(key)}${space()}:${space()}${walk(field)}`),
        '}',
      );
    return JSON.stringify(inner);
  };
  return space() + walk(value) + space();
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const wellFormed = fc.string({ unit: 'binary' });
const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 });

describe('parseStrictJson', () => {
  it('parses every value like JSON.parse, in any notation', () => {
    fc.assert(
      fc.property(json, fc.infiniteStream(fc.nat(1000)), (value, numbers) => {
        const text = print(value, (limit) => numbers.next().value! % limit);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('rejects all texts that JSON.parse rejects, and others only for a documented reason', { tags: 'slow' }, () => {
    const pieces = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '"b":', '1', '-', '0', '.', 'e', '+', 'true', 'null', 'nul'],
      ...[' ', '\n', '\v', '\u00a0', '\\ud83d', '\\ude00', '\u0000', 'NaN', '//', "'", '\ufeff', '"\\u0061":', '01'],
    );
    const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const message = messageOf(encode(text));
        const byJson = parsedByJson(text);
        if (message === 'accepted') expect({ value: parse(text) }).toEqual(byJson);
        else if (byJson !== undefined) expect(message).toMatch(/duplicate key|surrogate pair/);
      }),
      { numRuns: 20_000 },
    );
  });

  it('agrees with JSON.parse on valid texts with one replaced character', { tags: 'slow' }, () => {
    const replaced = fc.tuple(json, fc.nat(), fc.constantFrom(...'{}[]",:\\u0123-.eE+ \ntrue\u0001é'.split('')));
    fc.assert(
      fc.property(replaced, ([value, at, character]) => {
        const text = JSON.stringify(value);
        const place = at % text.length;
        const changed = text.slice(0, place) + character + text.slice(place + 1);
        if (!changed.isWellFormed()) return;
        const message = messageOf(encode(changed));
        if (/duplicate key|surrogate pair/.test(message)) return;
        expect(message === 'accepted').toBe(parsedByJson(changed) !== undefined);
      }),
      { numRuns: 5000 },
    );
  });

  it('rejects a duplicate key in an object, with any escapes', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (key, other) => {
        const escaped = `"${key.split('').map(unicodeEscape).join('')}"`;
        const rest = other === key ? '' : `,${JSON.stringify(other)}:2`;
        expect(messageOf(encode(`[{${JSON.stringify(key)}:1${rest},${escaped}:3}]`))).toContain('duplicate key');
        expect(messageOf(encode(`[{${JSON.stringify(key)}:1},{${escaped}:3}]`))).toBe('accepted');
      }),
    );
  });

  it('finds a duplicate in an inner object, between others, and after an inner object with the same key', () => {
    expect(messageOf(encode('{"a":{"b":1,"c":{"b":1},"b":2}}'))).toBe(
      'invalid JSON at line 1, column 25: duplicate key `b`: each key may occur once in an object',
    );
    expect(messageOf(encode('{"":1,"":2}'))).toContain('duplicate key ``');
    expect(messageOf(encode('{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}'))).toBe('accepted');
  });

  it.each([
    ['a byte order mark', '\ufeff{}', 'line 1, column 1: unexpected U+FEFF'],
    ['an empty text', '', 'line 1, column 1: the text ends too early'],
    ['white space alone', ' \n ', 'line 2, column 2: the text ends too early'],
    ['a second value', '{} {}', 'line 1, column 4: unexpected `{`, the text must end after its one value'],
    ['an open string', '{"a', 'line 1, column 4: the text ends too early'],
    ['a control character in a string', '"a\u0000"', 'line 1, column 3: unexpected U+0000'],
    ['an unknown escape', '"\\x"', 'line 1, column 2: invalid escape'],
    ['an escape cut short', '"\\u12"', 'line 1, column 2: invalid escape'],
    ['a backslash at the end', '"\\', 'line 1, column 2: invalid escape'],
    ['a number with a leading zero', '[\n 01]', 'line 2, column 3: unexpected `1`, expected `,` or `]`'],
    ['a number without digits', '-', 'line 1, column 2: the text ends too early, expected a digit'],
    ['a fraction without digits', '1.', 'expected a digit'],
    ['an exponent without digits', '1e+', 'expected a digit'],
    ['an unquoted key', '{a:1}', 'unexpected `a`, expected a key in double quotes'],
    ['a trailing comma in an object', '{"a":1,}', 'unexpected `}`, expected a key in double quotes'],
    ['a trailing comma in an array', '[1,]', 'unexpected `]`, expected a JSON value'],
    ['a missing colon', '{"a" 1}', 'unexpected `1`, expected `:` after a key'],
    ['the wrong bracket', '[1}', 'unexpected `}`, expected `,` or `]`'],
    ['an open array', '[1', 'the text ends too early, expected `,` or `]`'],
    ['a comment', '/**/1', 'unexpected `/`, expected a JSON value'],
    ['NaN', 'NaN', 'unexpected `N`, expected a JSON value'],
    ['a half of a pair', '["\\ud83d"]', 'line 1, column 2: a string contains half of a surrogate pair'],
    ['a half of a pair in a key', '{"\\ude00":1}', 'half of a surrogate pair'],
    ['an escaped half before a whole character', '"\\ud83d😀"', 'half of a surrogate pair'],
  ])('rejects %s', (_name, text, message) => {
    expect(messageOf(encode(text))).toContain(message);
  });

  it.each([
    [[0x22, 0xc3, 0x22], 2],
    [[0x22, 0xff, 0x22], 1],
    [[0x22, 0xed, 0xa0, 0x80, 0x22], 2],
    [[0x22, 0xc0, 0xa2, 0x22], 1],
    [[0x22, 0x61, 0x62, 0xe2, 0x82], 5],
    [[0xff, 0xfe, 0x31, 0x00], 0],
  ])('rejects the bytes %j, which are not UTF-8, and names byte %i', (bytes, at) => {
    expect(messageOf(Uint8Array.from(bytes))).toBe(`invalid UTF-8 at byte ${at}: JSON must be encoded in UTF-8`);
  });

  it('rejects UTF-16 and UTF-32 texts, which other parsers detect by their zero bytes', () => {
    expect(messageOf(Buffer.from('{"a":1}', 'utf16le'))).toContain('unexpected U+0000');
    expect(messageOf(Uint8Array.from([0, 0, 0, 0x31]))).toContain('unexpected U+0000');
  });

  it('treats `__proto__` as an ordinary property', () => {
    const value = parse('{"__proto__":{"admin":true},"constructor":1}') as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });

  it('accepts the maximum depth and size and nothing above', () => {
    const nested = (depth: number): string => '[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2);
    expect(messageOf(encode(nested(64)))).toBe('accepted');
    expect(messageOf(encode(`[${nested(64)}]`))).toContain('nested too deeply: at most 64 levels are allowed');
    expect(messageOf(encode('[[1]]'), { maxDepth: 1 })).toContain('column 2: nested too deeply');
    expect(messageOf(encode('"12"'), { maxBytes: 4 })).toBe('accepted');
    expect(messageOf(encode('"123"'), { maxBytes: 4 })).toBe('JSON too large: 5 bytes, at most 4 are allowed');
    expect(messageOf(encode(`"${'x'.repeat(1024 * 1024)}"`))).toContain('at most 1048576 are allowed');
  });

  it('counts values of every kind up to their limit', () => {
    expect(messageOf(encode('{"a":[1,true,"",{}]}'), { maxValues: 6 })).toBe('accepted');
    expect(messageOf(encode('{"a":[1,true,"",{}]}'), { maxValues: 5 })).toContain('column 17: at most 5 values');
    expect(messageOf(encode(`[${'0,'.repeat(32_766)}0]`))).toBe('accepted');
    expect(messageOf(encode(`[${'0,'.repeat(32_767)}0]`))).toContain('at most 32768 values are allowed');
  });

  it('stops at the maximum depth', () => {
    const message = messageOf(encode('['.repeat(1_000_000)));
    expect(message).toBe('invalid JSON at line 1, column 65: nested too deeply: at most 64 levels are allowed');
  });

  it('truncates a long key in the message', () => {
    const key = 'k'.repeat(10_000);
    expect(messageOf(encode(`{"${key}":1,"${key}":2}`)).length).toBeLessThan(300);
  });

  it.each([
    ['a short text', '{"a":[1,2]}', 0],
    ['as many values as are allowed', `[${'0,'.repeat(32_766)}0]`, 5],
    ['many values and a mistake at the end', `[${'0,'.repeat(32_000)}x]`, 3],
  ])('parses %s in parts, with the same result', (_, text, parts) => {
    const outcome = (read: () => unknown): unknown => {
      try {
        return read();
      } catch (error) {
        return (error as Error).message;
      }
    };
    let count = 0;
    const inParts = outcome(() => {
      const work = parsingStrictJson(encode(text));
      for (;;) {
        const { done, value } = work.next();
        if (done === true) return value;
        count++;
      }
    });
    expect(inParts).toEqual(outcome(() => parse(text)));
    expect(count).toBe(parts);
  });
});
