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

/** Reads in place until others have been held up for too long. @returns how long that was */
function readUntilPaused(ms: number, pauseBetween = 0): number {
  let heldUp = 0;
  for (let reads = 0; pace.inPlace; reads++) {
    if (reads > 10_000) throw new Error('it goes on in place for ever');
    read(ms);
    heldUp += ms;
    now += pauseBetween;
  }
  return heldUp;
}

describe('where files are read', () => {
  it('by another thread first, in place after one that was fast', () => {
    expect(pace.inPlace).toBe(false);
    read(5);
    expect(pace.inPlace).toBe(true);
  });

  it('not in place where the first ones are slow', () => {
    for (let i = 0; i < 8; i++) read(6);
    expect(pace.inPlace).toBe(false);
  });

  it('in place as long as reads are fast, however many', () => {
    for (let i = 0; i < 10_000; i++) read(5);
    expect(pace.inPlace).toBe(true);
  });

  it('in place though one is slow now and then', () => {
    read(0);
    // A process that waits for a core.
    for (let i = 0; i < 1_000; i++) {
      for (let fast = 0; fast < 10; fast++) read(1);
      read(9);
      now += 171;
    }
    expect(pace.inPlace).toBe(true);
  });

  it('by another thread where others are held up for more than a twentieth of the time', () => {
    read(0);
    expect(readUntilPaused(9, 170)).toBeGreaterThan(100);
    expect(pace.inPlace).toBe(false);
  });

  it('by another thread once others were held up for more than 100 ms at once', () => {
    read(0);
    read(100);
    expect(pace.inPlace).toBe(true);
    read(6);
    expect(pace.inPlace).toBe(false);
  });

  it('by another thread for a second then, and until one is fast', () => {
    read(0);
    read(101);
    now += 900;
    read(1);
    expect(pace.inPlace).toBe(false);
    now += 100;
    read(6);
    expect(pace.inPlace).toBe(false);
    read(1);
    expect(pace.inPlace).toBe(true);
  });

  it('by another thread for longer and longer, up to a minute, while reads in place are slow again and again', () => {
    const pauses: number[] = [];
    read(0);
    for (let i = 0; i < 8; i++) {
      expect(readUntilPaused(20)).toBe(120);
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
    read(101);
    for (let i = 0; i < 100; i++) read(60);
    read(0);
    expect(pace.inPlace).toBe(true);
    read(101);
    now += 2_000;
    read(0);
    expect(pace.inPlace).toBe(true);
  });

  it('anew two minutes after a pause', () => {
    read(0);
    for (const wait of [0, 1_000, 2_000, 125_000]) {
      now += wait;
      read(0);
      read(101);
    }
    now += 1_000;
    read(0);
    expect(pace.inPlace).toBe(true);
  });
});
