import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  ENGINE_ID,
  holderOf,
  holderTag,
  isCursorId,
  isRequestId,
  newCursorId,
  newRequestId,
} from '../../../src/results/request-id.ts';

const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(0xab);
const TAG = createHash('sha256').update('gateway-0').digest('hex').slice(0, 8);
const RANDOM = 'ab'.repeat(15);

it('an id has the tag of its gateway and fifteen random bytes', () => {
  expect(holderTag('gateway-0')).toBe(TAG);
  expect(newRequestId('gateway-0', random)).toBe(`${TAG}-${RANDOM}`);
  expect(newCursorId('gateway-0', random)).toBe(`${TAG}-n${RANDOM}`);
  for (const id of [newRequestId('gateway-0', random), newCursorId('gateway-0', random)]) {
    expect([isRequestId(id), holderOf(id)]).toEqual([true, TAG]);
  }
});

it('an id says whether the engine keeps the rows', () => {
  expect(isCursorId(newCursorId('gateway-0', random))).toBe(true);
  expect(isCursorId(newRequestId('gateway-0', random))).toBe(false);
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

it('an id of the engine has 1 to 40 digits', () => {
  const valid = (text: string): boolean => ENGINE_ID.test(text);
  expect([valid('1'), valid('1'.repeat(40))]).toEqual([true, true]);
  expect(['', '1'.repeat(41), '1a', '-1', '1\n', '../1'].map(valid)).toEqual(Array(6).fill(false));
});
