import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { ChunkedBody } from '../../../../src/engine/wire/chunked-body.ts';

function decode(pieces: readonly string[]): { body: string; done: boolean; rest: number } {
  const chunked = new ChunkedBody();
  let body = '';
  let rest = 0;
  for (const text of pieces) {
    const piece = Buffer.from(text, 'latin1');
    const { length, read } = chunked.compact(piece);
    body += piece.toString('latin1', 0, length);
    rest += piece.length - read;
  }
  return { body, done: chunked.done, rest };
}

describe('a body in chunks', () => {
  it('is put together, without extensions and trailer', () => {
    expect(decode(['3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n'])).toEqual({
      body: 'abc0123456789',
      done: true,
      rest: 0,
    });
  });

  it('leaves what follows it', () => {
    expect(decode(['1\r\na\r\n0\r\n\r\nHTTP'])).toEqual({ body: 'a', done: true, rest: 4 });
  });

  it('is the same however it is cut into pieces', () => {
    const texts = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), { maxLength: 8 });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(200), { maxLength: 12 }), (chunks, cuts) => {
        const wire = `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;
        const ends = [...new Set([...cuts.map((cut) => cut % wire.length), wire.length])].sort((a, b) => a - b);
        const pieces = ends.map((end, i) => wire.slice(ends[i - 1] ?? 0, end));
        expect(decode(pieces)).toEqual({ body: chunks.join(''), done: true, rest: 0 });
      }),
    );
  });

  it.each([
    ['no size', 'x\r\n'],
    ['a negative size', '-1\r\n'],
    ['a size beyond all numbers', `${'f'.repeat(13)}\r\n`],
    ['more than the size says', '1\r\nab\r\n'],
    ['a line feed alone', '1\na\n'],
    ['a line without end', `1;${'x'.repeat(5000)}`],
    ['a trailer without end', `0\r\n${'a: b\r\n'.repeat(100)}`],
  ])('is refused with %s', (_what, wire) => {
    expect(() => decode([wire])).toThrow(/answer/);
  });
});
