import { expect, it } from 'vitest';
import { RateLimiter } from '../../../src/platform/rate-limiter.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const clock = new FakeClock();

it('admits a burst of each key, then one call after each interval, and counts the refused ones', () => {
  const limiter = new RateLimiter(clock, { burst: 2, intervalMs: 1000, maxKeys: 10 });
  const admit = (key: string) => [1, 2, 3, 4].map(() => limiter.admit(key));
  expect(admit('a')).toEqual([0, 0, undefined, undefined]);
  expect(admit('b')).toEqual([0, 0, undefined, undefined]);
  clock.jump(999);
  expect(limiter.admit('a')).toBeUndefined();
  clock.jump(1);
  expect(limiter.admit('a')).toBe(3);
  clock.jump(3_600_000);
  expect(admit('a')).toEqual([0, 0, undefined, undefined]);
});

it('forgets the least recently used key', () => {
  const limiter = new RateLimiter(clock, { burst: 1, intervalMs: 1000, maxKeys: 2 });
  expect(['a', 'b', 'a', 'c', 'a', 'b'].map((key) => limiter.admit(key))).toEqual([0, 0, undefined, 0, undefined, 0]);
});
