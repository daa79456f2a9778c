// Only for src/operator, which imports the clock from here.
import type { Clock } from '../platform/clock.ts';

export { sleep, systemClock } from '../platform/clock.ts';
export type StoreClock = Clock;
