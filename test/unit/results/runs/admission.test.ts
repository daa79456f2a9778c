import { describe, expect, it } from 'vitest';
import { nextToStart, requireRoom } from '../../../../src/results/runs/admission.ts';
import type { Run } from '../../../../src/results/runs/run.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';

const MB = 1024 * 1024;

interface Known {
  readonly name?: string;
  readonly owner?: string;
  readonly heldBytes?: number;
  readonly isStarted?: boolean;
  readonly isWaiting?: boolean;
}

function run({ owner = 'ann', heldBytes = 1, isStarted = false, isWaiting = !isStarted, name = '' }: Known = {}): Run {
  return { requestId: name, query: { owner, heldBytes }, isStarted, isWaiting } as unknown as Run;
}

const times = (count: number, known: Known = {}): Run[] => Array.from({ length: count }, () => run(known));

describe('the room for an asynchronous query', () => {
  const settings = { ...DEFAULT_PAGINATION_SETTINGS.async, maxPerCaller: 2, maxInAll: 4 };
  /** @returns the message of the refusal */
  const refused = (active: readonly Run[], heldBytes = 1): string | undefined => {
    try {
      requireRoom(active, { owner: 'ann', heldBytes }, settings);
      return undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: 'too-many' });
      return (error as Error).message;
    }
  };

  it('is limited for one caller', () => {
    expect(refused([])).toBeUndefined();
    expect(refused(times(1))).toBeUndefined();
    expect(refused([...times(1), ...times(2, { owner: 'bob' })])).toBeUndefined();
    expect(refused(times(2))).toBe(
      'limit of asynchronous queries of one caller (2) exceeded: try again when one of them has ended',
    );
  });

  it('is limited for all callers', () => {
    expect(refused(times(3, { owner: 'bob' }))).toBeUndefined();
    expect(refused(times(4, { owner: 'bob' }))).toBe(
      'limit of asynchronous queries of this gateway (4) exceeded: try again when one of them has ended',
    );
  });

  it('is limited to texts of 64 MiB', () => {
    const others = [run({ owner: 'bob', heldBytes: 30 * MB }), run({ owner: 'bob', heldBytes: 33 * MB })];
    expect(refused(others, MB)).toBeUndefined();
    expect(refused(others, MB + 1)).toBe(
      'the texts of the asynchronous queries of this gateway exceed 67108864 bytes: try again when one of them has ended',
    );
    expect(refused([], 64 * MB)).toBeUndefined();
  });
});

describe('the next asynchronous query to start', () => {
  const next = (active: readonly Run[], maxRunning: number): string | undefined =>
    nextToStart(active, maxRunning)?.requestId;

  it('is the oldest one of its caller', () => {
    expect(next([run({ name: 'a' }), run({ name: 'b' })], 4)).toBe('a');
    expect(next([], 4)).toBeUndefined();
  });

  it('is one that waits', () => {
    const ending = run({ name: 'ending', isWaiting: false });
    expect(next([ending, run({ name: 'waiting' })], 4)).toBe('waiting');
    expect(next([ending, run({ isStarted: true })], 4)).toBeUndefined();
  });

  it('is none while all places are occupied, whoever occupies them', () => {
    const running = [...times(2, { isStarted: true }), run({ owner: 'bob', isStarted: true })];
    expect(next([...running, run({ name: 'c', owner: 'eve' })], 4)).toBe('c');
    expect(next([...running, run({ name: 'c', owner: 'eve' })], 3)).toBeUndefined();
  });

  it('is of the caller with the fewest running queries', () => {
    const running = [...times(2, { isStarted: true }), run({ owner: 'bob', isStarted: true })];
    const [ann, bob, eve] = ['ann', 'bob', 'eve'].map((owner) => run({ name: owner, owner })) as [Run, Run, Run];
    expect(next([...running, ann, bob, eve], 8)).toBe('eve');
    expect(next([...running, eve, bob, ann], 8)).toBe('eve');
    expect(next([...running, ann, bob], 8)).toBe('bob');
    expect(next([...running, bob, ann], 8)).toBe('bob');
    // With equal numbers the oldest one counts.
    expect(next([...running, run({ isStarted: true, owner: 'bob' }), bob, ann], 8)).toBe('bob');
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
    [8, 6],
  ])('of one caller is none with three quarters of %i places, rounded down: %i', (places, most) => {
    const waiting = run({ name: 'next' });
    expect(next([...times(most - 1, { isStarted: true }), waiting], places)).toBe('next');
    expect(next([...times(most, { isStarted: true }), waiting], places)).toBeUndefined();
  });
});
