import { beforeEach, describe, expect, it } from 'vitest';
import { ReadPace } from '../../../../src/query/stores/read-pace.ts';

let now: number;
let pace: ReadPace;

beforeEach(() => {
  now = 1_000_000;
  pace = new ReadPace(() => now);
});

function read(ms: number): void {
  const done = pace.begin();
  now += ms;
  done();
}

describe('where files are read', () => {
  it('by another thread first, in place after one that was fast', () => {
    expect(pace.inPlace).toBe(false);
    read(5);
    expect(pace.inPlace).toBe(true);
  });

  it('by another thread for a minute after one that was slow, and until one is fast again', () => {
    read(0);
    read(6);
    expect(pace.inPlace).toBe(false);
    now += 59_000;
    read(1);
    expect(pace.inPlace).toBe(false);
    now += 1_000;
    expect(pace.inPlace).toBe(false);
    read(1);
    expect(pace.inPlace).toBe(true);
  });

  it('not in place where the first one is slow', () => {
    read(100);
    expect(pace.inPlace).toBe(false);
  });
});
