import type { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { MonotonicClock } from './clock.ts';
import { RateLimiter, type RateLimiterOptions } from './rate-limiter.ts';

const ORIGINS = ['uncaughtException', 'unhandledRejection'] as const;

/** A timer can throw each time. The counter has all of them. */
const LINES: RateLimiterOptions = { burst: 20, intervalMs: 10_000, maxKeys: ORIGINS.length };

export interface ProcessErrorsOptions {
  /** The process. */
  readonly target: Pick<EventEmitter, 'on' | 'off'>;
  readonly log: Logger;
  readonly registry: Registry;
  readonly clock: MonotonicClock;
}

/**
 * Logs and counts errors that nothing handles, such as one that a callback of a library throws. The process goes on: see
 * docs/operations.md#errors-that-nothing-handles.
 * @returns a function that restores the default: such an error ends the process
 */
export function outliveUnhandledErrors({ target, log, registry, clock }: ProcessErrorsOptions): () => void {
  const count = countUnhandledErrors(registry);
  const lines = new RateLimiter(clock, LINES);
  const listeners = ORIGINS.map((origin) => {
    const listener = (error: unknown): void => {
      count(origin);
      const suppressed = lines.admit(origin);
      if (suppressed === undefined) return;
      log.error({ err: error, origin, suppressed }, 'an error was not handled; the process goes on');
    };
    target.on(origin, listener);
    return { origin, listener };
  });
  return () => {
    for (const { origin, listener } of listeners) target.off(origin, listener);
  };
}

/** The metric, with a series for each origin from the start. */
export function countUnhandledErrors(registry: Registry): (origin: (typeof ORIGINS)[number]) => void {
  const counter = new Counter({
    name: 'olap_warden_unhandled_errors_total',
    help: 'Errors that nothing handled, by origin; each is a defect. The process goes on.',
    labelNames: ['origin'],
    registers: [registry],
  });
  for (const origin of ORIGINS) counter.inc({ origin }, 0);
  return (origin) => counter.inc({ origin });
}
