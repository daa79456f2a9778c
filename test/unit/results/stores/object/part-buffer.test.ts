import { expect, it } from 'vitest';
import { PartBuffer } from '../../../../../src/results/stores/object/part-buffer.ts';

it('an upload has parts of one size, however its bytes arrive, and the rest', () => {
  const buffer = new PartBuffer(4);
  const parts = ['a', 'bcdefghij', '', 'kl', 'mn', 'opq'].flatMap((text) => buffer.push(Buffer.from(text)).map(String));
  expect(parts).toEqual(['abcd', 'efgh', 'ijkl', 'mnop']);
  expect([buffer.length, String(buffer.take())]).toEqual([1, 'q']);
});
