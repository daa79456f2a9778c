import { describe, expect, it } from 'vitest';
import { atOnce, inTurns, type Parts } from '../../../src/platform/parts.ts';

function* three(done: string[]): Parts<string> {
  done.push('a');
  yield;
  done.push('b');
  yield;
  done.push('c');
  return 'all';
}

describe('work in parts', () => {
  it('is done at once', () => {
    const done: string[] = [];
    expect(atOnce(three(done))).toBe('all');
    expect(done).toEqual(['a', 'b', 'c']);
  });

  it('waits for a turn before each part but the first', async () => {
    const done: string[] = [];
    const turns: (() => void)[] = [];
    const all = inTurns(three(done), () => new Promise((resolve) => turns.push(resolve)));
    expect(done).toEqual(['a']);
    turns[0]?.();
    await expect.poll(() => turns.length).toBe(2);
    expect(done).toEqual(['a', 'b']);
    turns[1]?.();
    await expect(all).resolves.toBe('all');
  });

  it('ends where a turn is refused', async () => {
    const done: string[] = [];
    await expect(inTurns(three(done), () => Promise.reject(new Error('too many')))).rejects.toThrow('too many');
    expect(done).toEqual(['a']);
  });
});
