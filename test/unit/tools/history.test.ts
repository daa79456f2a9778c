import { describe, expect, it } from 'vitest';
import { Expectation } from '../../faults/support/history.ts';

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
