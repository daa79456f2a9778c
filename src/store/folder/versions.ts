import type { WallClock } from '../../platform/clock.ts';

/** Resource versions, increasing over all kinds of a store. */
export interface Versions {
  next(): string;
  /** Makes the next versions larger than this one. */
  startAfter(version: string): void;
}

/** Versions from the wall clock, incremented within a millisecond: they increase over restarts without a stored counter. */
export function versionsFrom(clock: WallClock): Versions {
  let last = 0n;
  return {
    next() {
      const now = BigInt(clock.now());
      last = now > last ? now : last + 1n;
      return String(last);
    },
    startAfter(version) {
      const used = /^[0-9]{1,30}$/.test(version) ? BigInt(version) : 0n;
      if (used > last) last = used;
    },
  };
}
