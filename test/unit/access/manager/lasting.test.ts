import { expect, it } from 'vitest';
import { requireFuture } from '../../../../src/access/manager/expiry.ts';
import { holdsAfter } from '../../../../src/access/manager/lasting.ts';
import { serviceToken, stored } from '../../../builders/resources.ts';

const END = '2026-12-01T00:00:00Z';
const TIME = Date.parse(END);
const ada = { type: 'user-email', name: 'ada@example.com' } as const;
const token = { type: 'service-token', name: 'ci' } as const;

it('a subject holds its role after a time that is before its end', async () => {
  const holds = (expiresAt: string | undefined, time: number) =>
    holdsAfter({ ...ada, ...(expiresAt !== undefined && { expiresAt }) }, time, async () => undefined);
  expect(await holds(undefined, TIME)).toBe(true);
  expect(await holds(END, TIME - 1)).toBe(true);
  expect(await holds(END, TIME)).toBe(false);
  expect(await holds('never', TIME)).toBe(false);
});

it('a service token must exist until then', async () => {
  const holds = (found: ReturnType<typeof serviceToken> | undefined, time = TIME) =>
    holdsAfter(token, time, async (name) => (name === 'ci' ? found : undefined));
  expect(await holds(undefined)).toBe(false);
  expect(await holds(serviceToken('ci'))).toBe(true);
  expect(await holds(serviceToken('ci', {}, stored({ deletionTimestamp: END })))).toBe(false);
  expect(await holds(serviceToken('ci', { expiresAt: END }), TIME - 1)).toBe(true);
  expect(await holds(serviceToken('ci', { expiresAt: END }), TIME)).toBe(false);
});

it('an expiry must be in the future', () => {
  for (const expiresAt of [undefined, null]) expect(() => requireFuture(expiresAt, TIME)).not.toThrow();
  expect(() => requireFuture(END, TIME - 1)).not.toThrow();
  expect(() => requireFuture(END, TIME)).toThrow(`\`expiresAt\`: \`${END}\` must be in the future`);
  expect(() => requireFuture('soon', TIME)).toThrow('`soon` must be in the future');
});
