import { describe, expect, it } from 'vitest';
import { Expectation } from '../../faults/support/history.ts';
import { shrink } from '../../faults/support/shrink.ts';
import { describeWrites, History, type Write, type WriteTarget } from '../../faults/support/writes.ts';
import { Random } from '../../fuzz/http/random.ts';

describe('what the writes of an object explain', () => {
  it('an acknowledged write must be there', () => {
    const object = new Expectation();
    object.record('a', 'gateway 0', 'done', '200');
    expect(object.violation('x', 'a')).toBeUndefined();
    expect(object.violation('x', undefined)).toBe('x: found undefined, possible: a\n  gateway 0: a → 200');
  });

  it('a rejected write must not be there', () => {
    const object = new Expectation();
    object.record('a', 'gateway 0', 'not-done', '403');
    expect(object.exists).toBe(false);
    expect(object.violation('x', undefined)).toBeUndefined();
    expect(object.violation('x', 'a')).toContain('found a');
  });

  it('a write of unknown outcome may be there, until an acknowledged one follows', () => {
    const object = new Expectation();
    object.record('a', 'gateway 0', 'done', '200');
    object.record(undefined, 'gateway 1', 'unknown', '503');
    expect(object.exists).toBeUndefined();
    expect([object.violation('x', 'a'), object.violation('x', undefined)]).toEqual([undefined, undefined]);
    object.record('b', 'gateway 2', 'done', '200');
    expect(object.violation('x', 'a')).toContain('possible: b');
  });
});

/** A store with a fault: a deletion of one object makes it lose the next change of another one. */
class ForgetfulStore implements WriteTarget {
  readonly values = new Map<string, string>();
  #losesNext = false;

  async send({ method, object }: Write): Promise<{ status: number; ms: number; text: string }> {
    const { key, value } = object!;
    if (value === undefined) {
      this.values.delete(key);
      this.#losesNext = key === 'Role 3';
    } else if (this.#losesNext && key === 'Role 5' && method === 'PUT') this.#losesNext = false;
    else this.values.set(key, value);
    return { status: 200, ms: 0, text: '' };
  }
}

async function contradictionsOf(writes: readonly Write[]): Promise<string[]> {
  const store = new ForgetfulStore();
  const history = new History(store);
  for (const write of writes) await history.perform(write);
  return history.violations(store.values);
}

describe('a history that fails', () => {
  const random = new Random(1);
  const writes = Array.from({ length: 400 }, (_, n): Write => {
    const key = `Role ${random.below(8)}`;
    const value = random.chance(0.2) ? undefined : `value ${n}`;
    return { via: 'gateway 0', client: 0, method: value ? 'PUT' : 'DELETE', path: key, object: { key, value } };
  });
  // The last write of the object is lost.
  writes.push(
    { via: 'gateway 1', client: 0, method: 'DELETE', path: 'Role 3', object: { key: 'Role 3', value: undefined } },
    { via: 'gateway 2', client: 1, method: 'PUT', path: 'Role 5', object: { key: 'Role 5', value: 'lost' } },
  );

  it('is shortened to the writes that make it fail', async () => {
    expect(await contradictionsOf(writes)).toHaveLength(1);
    const fails = async (part: readonly Write[]): Promise<boolean> => (await contradictionsOf(part)).length > 0;
    const { items, tries, isMinimal } = await shrink(writes, fails, 200);
    expect(isMinimal).toBe(true);
    expect(tries).toBeLessThan(200);
    expect(describeWrites(items).split('\n')).toEqual([
      expect.stringContaining('DELETE Role 3'),
      expect.stringContaining('PUT Role 5'),
    ]);
  });
});
