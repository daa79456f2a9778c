import { describe, expect, it } from 'vitest';
import { Utf8Check } from '../../../../src/results/scanner/utf8-check.ts';

/** @param cuts ends of the chunks except the last */
function check(bytes: Uint8Array, cuts: readonly number[]): void {
  const utf8 = new Utf8Check();
  let from = 0;
  for (const end of [...cuts, bytes.length]) {
    utf8.push(bytes.subarray(from, end));
    from = end;
  }
  utf8.end();
}

function everyCut(bytes: Uint8Array): (readonly number[])[] {
  const ends = Array.from({ length: bytes.length + 1 }, (_, i) => i);
  return [...ends.map((end) => [end]), ...ends.flatMap((a) => ends.slice(a).map((b) => [a, b])), ends];
}

describe('the check of UTF-8', () => {
  it.each(['', 'plain', 'é', 'Zürich', '東京', '😀', 'a😀東é', '😀😀', '\u{10ffff}\ufffd\u0800\u07ff'])(
    'accepts %j in any chunks',
    (text) => {
      const bytes = Buffer.from(text);
      for (const cuts of everyCut(bytes)) expect(() => check(bytes, cuts), String(cuts)).not.toThrow();
    },
  );

  it.each([
    ['a continuation without a beginning', [0x80]],
    ['continuations after a character', [0xc3, 0xa9, 0x80, 0x80, 0x80, 0x80]],
    ['five continuations', [0x61, 0x80, 0x80, 0x80, 0x80, 0x80, 0x61]],
    ['an incomplete character at the end', [0x61, 0xe6, 0x9d]],
    ['an incomplete character before another', [0xe6, 0x9d, 0x61]],
    ['an overlong form', [0xc0, 0xaf]],
    ['an overlong form of three bytes', [0xe0, 0x80, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a character beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['Latin-1', [...Buffer.from('Zürich', 'latin1')]],
    ['0xFF', [0x61, 0xff]],
  ])('rejects %s in any chunks', (_name, list) => {
    const bytes = Uint8Array.from(list);
    for (const cuts of everyCut(bytes)) expect(() => check(bytes, cuts), String(cuts)).toThrow(/not valid UTF-8/);
  });

  it.each([
    ['a continuation without a beginning', [0x61], [0x80]],
    ['a fifth byte of a character', [0x61], [0xf0, 0x9f, 0x98, 0x80, 0x80]],
    ['a fifth byte in the next chunk', [0xf0, 0x9f, 0x98, 0x80], [0x80]],
    ['a character that does not continue', [0xe6, 0x9d], [0x61]],
  ])('rejects %s as soon as it arrives', (_name, before, bytes) => {
    const utf8 = new Utf8Check();
    utf8.push(Uint8Array.from(before));
    expect(() => utf8.push(Uint8Array.from(bytes))).toThrow(/not valid UTF-8/);
  });
});
