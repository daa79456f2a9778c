import { systemClock, type StoreClock } from '../store/clock.ts';

/** Time as the operator sees it; handed in, so that tests do not have to wait. */
export interface OperatorClock extends StoreClock {
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number;
}

export const operatorClock: OperatorClock = { ...systemClock, monotonic: () => performance.now() };
