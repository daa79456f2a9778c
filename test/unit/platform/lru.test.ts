import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExpiringLruCache, LruCache } from '../../../src/platform/lru.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('LruCache', () => {
  it('evicts the least recently used entry', () => {
    const evicted: number[] = [];
    const cache = new LruCache<string, number>({ maxWeight: 2, onEvict: (value) => evicted.push(value) });
    cache.set('a', 1);
    cache.set('b', 2);
    cache.get('a');
    cache.peek('b');
    cache.set('c', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
    expect(evicted).toEqual([2]);
  });

  it('does not keep a value above the limit', () => {
    const cache = new LruCache<string, string>({ maxWeight: 10, weightOf: ({ length }) => length });
    cache.set('a', '12345');
    expect(cache.hasRoomFor(5)).toBe(true);
    expect(cache.hasRoomFor(6)).toBe(false);
    cache.set('b', '12345678901');
    expect([cache.size, cache.weight]).toEqual([0, 0]);
  });

  it('never exceeds the limit, and its weight is the sum of its entries', () => {
    const operation = fc.oneof(
      fc.record({ type: fc.constant('set' as const), key: fc.nat(8), weight: fc.nat(12) }),
      fc.record({ type: fc.constantFrom('get' as const, 'delete' as const), key: fc.nat(8) }),
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const cache = new LruCache<number, number>({ maxWeight: 20, weightOf: (weight) => weight });
        for (const next of operations) {
          if (next.type === 'set') cache.set(next.key, next.weight);
          else if (next.type === 'get') cache.get(next.key);
          else cache.delete(next.key);
          const held = Array.from({ length: 9 }, (_, key) => cache.peek(key)).filter((weight) => weight !== undefined);
          expect(cache.weight).toBe(held.reduce((sum, weight) => sum + weight, 0));
          expect(cache.size).toBe(held.length);
          expect(cache.weight).toBeLessThanOrEqual(20);
        }
        cache.clear();
        expect([cache.size, cache.weight]).toEqual([0, 0]);
      }),
    );
  });
});

describe('entries of an LruCache that must stay', () => {
  const pinned = () => new LruCache<string, { used: boolean }>({ maxWeight: 2, isPinned: ({ used }) => used });

  it('are not evicted; the next ones are', () => {
    const cache = pinned();
    cache.set('a', { used: true });
    cache.set('b', { used: false });
    cache.set('c', { used: false });
    expect([cache.peek('a'), cache.peek('b'), cache.peek('c')].map((value) => value !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('exceed the limit if all must stay, and no longer', () => {
    const cache = pinned();
    const values = ['a', 'b', 'c', 'd'].map((key) => {
      const value = { used: true };
      cache.set(key, value);
      return value;
    });
    expect(cache.size).toBe(4);
    for (const value of values) value.used = false;
    cache.set('e', { used: true });
    expect([cache.size, cache.peek('d') !== undefined, cache.peek('e') !== undefined]).toEqual([2, true, true]);
  });
});

describe('ExpiringLruCache', () => {
  it('drops what has expired', async () => {
    const clock = new FakeClock();
    const cache = new ExpiringLruCache<string, number>(clock, 10);
    cache.set('short', 1, 100);
    cache.set('long', 2, 1000);
    expect(cache.dropExpired()).toBe(2);
    await clock.advance(100);
    expect([cache.dropExpired(), cache.size]).toEqual([1, 1]);
  });

  it('returns a value until its own lifetime is over', async () => {
    const clock = new FakeClock();
    const cache = new ExpiringLruCache<string, number>(clock, 10);
    cache.set('short', 1, 100);
    cache.set('long', 2, 1000);
    await clock.advance(100);
    expect([cache.get('short'), cache.get('long')]).toEqual([undefined, 2]);
    expect(cache.size).toBe(1);
  });

  it('does not keep a value without a lifetime, and removes the previous one', () => {
    const cache = new ExpiringLruCache<string, number>(new FakeClock(), 10);
    cache.set('a', 1, 1000);
    cache.set('a', 2, 0);
    expect(cache.get('a')).toBeUndefined();
    cache.set('a', 3, Number.NaN);
    expect(cache.size).toBe(0);
  });

  it('holds a bounded number of entries', () => {
    const cache = new ExpiringLruCache<number, number>(new FakeClock(), 3);
    for (let i = 0; i < 100; i++) cache.set(i, i, 1000);
    expect([cache.size, cache.get(96), cache.get(97)]).toEqual([3, undefined, 97]);
  });
});
