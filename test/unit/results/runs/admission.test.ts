import { describe, expect, it } from 'vitest';
import { requireRoom, runQueue } from '../../../../src/results/runs/admission.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import type { Run } from '../../../../src/results/runs/run.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../../../src/results/settings.ts';

const MB = 1024 * 1024;

interface Known {
  readonly name?: string;
  readonly owner?: string;
  readonly heldBytes?: number;
}

function run({ owner = 'ann', heldBytes = 1, name = '' }: Known = {}): Run {
  return { requestId: name, query: { owner, heldBytes } } as unknown as Run;
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

describe('the places for running asynchronous queries', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
    [8, 6],
  ])('of which there are %i, are given to one caller up to three quarters, rounded down: %i', (places, most) => {
    const queue = runQueue(() => places, new FakeClock());
    let started = 0;
    const enter = (owner: string) =>
      queue.enter(owner, { start: () => void started++, refuse: () => expect.fail('refused') });
    for (let i = 0; i < places + 2; i++) enter('ann');
    expect(started).toBe(most);
    for (let i = 0; i < places + 2; i++) enter('bob');
    expect(started).toBe(places);
  });

  it('follow the setting', () => {
    let places = 1;
    const queue = runQueue(() => places, new FakeClock());
    const started: string[] = [];
    for (const owner of ['ann', 'bob', 'eve'])
      queue.enter(owner, { start: () => started.push(owner), refuse: () => expect.fail('refused') });
    expect(started).toEqual(['ann']);
    places = 4;
    queue.enter('dan', { start: () => started.push('dan'), refuse: () => expect.fail('refused') }).release();
    expect(started).toEqual(['ann', 'bob', 'eve']);
  });
});
