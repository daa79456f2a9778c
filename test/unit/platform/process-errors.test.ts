import { EventEmitter } from 'node:events';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/logging.ts';
import { outliveUnhandledErrors } from '../../../src/platform/process-errors.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { HOSTILE_ERRORS } from '../../support/hostile-errors.ts';

function watched(write: (text: string) => void): {
  target: EventEmitter;
  registry: Registry;
  release: () => void;
  clock: FakeClock;
} {
  const [target, registry, clock] = [new EventEmitter(), new Registry(), new FakeClock()];
  const release = outliveUnhandledErrors({ target, registry, clock, log: createLogger('info', { write }) });
  return { target, registry, release, clock };
}

it('every error is counted with its origin; log lines are limited, with the number of those left out', async () => {
  const lines: Record<string, unknown>[] = [];
  const { target, registry, clock } = watched((text) => void lines.push(JSON.parse(text) as Record<string, unknown>));
  for (let i = 0; i < 100; i++) target.emit('uncaughtException', new Error('again'));
  target.emit('unhandledRejection', undefined);
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toMatchObject({ level: 'error', origin: 'unhandledRejection', err: { message: 'undefined' } });
  await clock.advance(10_000);
  target.emit('uncaughtException', new Error('again'));
  expect(lines.at(-1)).toMatchObject({ origin: 'uncaughtException', suppressed: 80 });
  const metrics = await registry.metrics();
  expect(metrics).toContain('olap_warden_unhandled_errors_total{origin="uncaughtException"} 101');
  expect(metrics).toContain('olap_warden_unhandled_errors_total{origin="unhandledRejection"} 1');
});

it.each(Object.entries(HOSTILE_ERRORS))(
  '%s does not make the handler throw, which would end the process',
  (_name, make) => {
    const { target } = watched(() => {
      throw new Error('ENOSPC');
    });
    target.emit('uncaughtException', make());
  },
);

it('without the handler, such an error ends the process again', () => {
  const { target, release } = watched(() => undefined);
  release();
  expect(target.eventNames()).toEqual([]);
});
