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

  it('by another thread for a second after one that was slow, and until one is fast again', () => {
    read(0);
    read(6);
    expect(pace.inPlace).toBe(false);
    now += 900;
    read(1);
    expect(pace.inPlace).toBe(false);
    now += 100;
    expect(pace.inPlace).toBe(false);
    read(1);
    expect(pace.inPlace).toBe(true);
  });

  it('by another thread for longer and longer, up to a minute, while reads in place are slow again and again', () => {
    const pauses: number[] = [];
    read(0);
    for (let i = 0; i < 8; i++) {
      read(6);
      const from = now;
      while (!pace.inPlace) {
        now += 500;
        read(0);
      }
      pauses.push((now - from) / 1000);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it('by another thread for no longer than before where only reads of other threads are slow', () => {
    read(0);
    for (let i = 0; i < 8; i++) read(6);
    now += 1_000;
    read(0);
    expect(pace.inPlace).toBe(true);
  });

  it('anew after a slow read that was long ago', () => {
    read(0);
    for (const wait of [0, 1_000, 121_000]) {
      now += wait;
      read(0);
      read(6);
    }
    now += 1_000;
    read(0);
    expect(pace.inPlace).toBe(true);
  });

  it('not in place where the first one is slow', () => {
    read(100);
    expect(pace.inPlace).toBe(false);
  });
});
