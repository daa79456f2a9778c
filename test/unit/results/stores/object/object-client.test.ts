import { describe, expect, it } from 'vitest';
import {
  nextPage,
  objectPrefix,
  readWhole,
  requireBucket,
} from '../../../../../src/results/stores/object/object-client.ts';

async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('an object that is read as a whole', () => {
  it('may have as many bytes as the limit', async () => {
    expect(String(await readWhole(pieces('ab', 'cd'), 4))).toBe('abcd');
  });

  it('may have megabytes without a limit of the caller', async () => {
    async function* large(): AsyncIterable<Uint8Array> {
      for (let count = 0; count < 8; count++) yield Buffer.alloc(1024 * 1024);
    }
    expect((await readWhole(large())).length).toBe(8 * 1024 * 1024);
  });

  it('is rejected with one byte more', async () => {
    await expect(readWhole(pieces('ab', 'cde'), 4)).rejects.toThrow('the object has more than 4 bytes');
  });
});

it('a listing ends, or goes on with another token', () => {
  expect(nextPage(undefined, undefined)).toBeUndefined();
  expect(nextPage(undefined, 'a')).toBe('a');
  expect(nextPage('a', 'b')).toBe('b');
  expect(() => nextPage('a', 'a')).toThrow('repeats a page');
});

it.each([
  ['', ''],
  ['/', ''],
  ['a', 'a/'],
  ['//a/b//', 'a/b/'],
])('the prefix `%s` becomes `%s`', (text, prefix) => {
  expect(objectPrefix(text)).toBe(prefix);
});

it('a bucket must be set', () => {
  expect(requireBucket('results', 'the.key')).toBe('results');
  for (const bucket of [undefined, '']) expect(() => requireBucket(bucket, 'the.key')).toThrow('`the.key` must be set');
});
