import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { holderOf, holderTag, isRequestId, newRequestId } from '../../../src/results/request-id.ts';

const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(0xab);
const TAG = createHash('sha256').update('gateway-0').digest('hex').slice(0, 8);
const RANDOM = 'ab'.repeat(15);

it('an id has the tag of its gateway and fifteen random bytes', () => {
  expect(holderTag('gateway-0')).toBe(TAG);
  expect(newRequestId('gateway-0', random)).toBe(`${TAG}-${RANDOM}`);
  // The second one is of a result whose rows an earlier build left in Pinot.
  for (const id of [newRequestId('gateway-0', random), `${TAG}-n${RANDOM}`]) {
    expect([isRequestId(id), holderOf(id)]).toEqual([true, TAG]);
  }
});

it.each([
  '',
  'x',
  `${TAG}-${RANDOM}0`,
  `${TAG}-${RANDOM.slice(1)}`,
  `${TAG}-nn${RANDOM}`,
  `${TAG}-m${RANDOM}`,
  `${TAG}_${RANDOM}`,
  `${TAG}-${RANDOM.toUpperCase()}`,
  `../${TAG}-${RANDOM}`,
  `${TAG}-${RANDOM}\n`,
])('%j is no id', (text) => {
  expect(isRequestId(text)).toBe(false);
});
