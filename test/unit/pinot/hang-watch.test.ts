import { expect, it } from 'vitest';
import { HangWatch } from '../../../src/pinot/hang-watch.ts';
import { Suspects } from '../../../src/pinot/suspects.ts';
import { EngineError } from '../../../src/pinot/types.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ONE = 'http://one:9000';

/** An endpoint whose probes get a response after a time, and requests that never get one. */
function setUp(answerMs = Number.MAX_SAFE_INTEGER) {
  const clock = new FakeClock();
  const endpoint = { url: ONE, respondedAt: -Infinity };
  const suspects = new Suspects(() => clock.monotonic());
  const state = { probes: 0, answerMs };
  const probe = (_url: string, timeoutMs: number): Promise<unknown> => {
    state.probes += 1;
    return new Promise((resolve, reject) => {
      clock.schedule(() => resolve(undefined), state.answerMs);
      clock.schedule(() => reject(new EngineError('timeout', 'no response')), timeoutMs);
    });
  };
  const watch = new HangWatch({ clock, suspects, probe });
  /** Sends a request, and tells whether it was ended because the endpoint hangs. */
  const send = (headersTimeoutMs = 120_000) => {
    const sent = { hung: false, progress: 0, isPaused: false, canLeave: true, end: (): void => undefined };
    const end = watch.follow(
      endpoint,
      {
        get progress() {
          return sent.progress;
        },
        get isPaused() {
          return sent.isPaused;
        },
        mayLeave: () => sent.canLeave,
        leave: () => {
          sent.hung = true;
          end();
        },
      },
      headersTimeoutMs,
    );
    sent.end = end;
    return sent;
  };
  return { clock, endpoint, suspects, watch, send, state };
}

it('shares a probe, which does not end with the request of the least time', async () => {
  const { clock, send, state } = setUp(600);
  const patient = send();
  await clock.advance(1_890);
  // Probes after 100 ms, and waits for 100 ms.
  const hasty = send(400);
  await clock.advance(100);
  expect(state.probes).toBe(1);
  await clock.advance(100);
  expect({ hasty: hasty.hung, patient: patient.hung }).toEqual({ hasty: true, patient: false });
  await clock.advance(1_000);
  expect(patient.hung).toBe(false);
  expect(state.probes).toBe(1);
});

it('ends all requests that share a probe without a response, each after the time that it can wait', async () => {
  const { clock, send, state, suspects } = setUp();
  const patient = send();
  await clock.advance(1_890);
  const hasty = send(400);
  await clock.advance(200);
  expect({ hasty: hasty.hung, patient: patient.hung }).toEqual({ hasty: true, patient: false });
  expect(suspects.has(ONE)).toBe(false);
  await clock.advance(2_000);
  expect(patient.hung).toBe(true);
  expect(suspects.has(ONE)).toBe(true);
  expect(state.probes).toBe(1);
});

it('never ends a slow request to an endpoint that responds to probes, and probes it again and again', async () => {
  const { clock, send, state, suspects } = setUp(10);
  const slow = send();
  await clock.advance(60_000);
  expect(slow.hung).toBe(false);
  expect(suspects.any).toBe(false);
  expect(state.probes).toBeGreaterThan(10);
  state.answerMs = Number.MAX_SAFE_INTEGER;
  await clock.advance(8_000);
  expect(slow.hung).toBe(true);
});

it('does not probe an endpoint that responds to other requests, nor for a reader that pauses', async () => {
  const { clock, endpoint, send, state } = setUp();
  send();
  for (let second = 0; second < 60; second++) {
    endpoint.respondedAt = clock.monotonic();
    await clock.advance(1_000);
  }
  expect(state.probes).toBe(0);
  const paused = setUp();
  paused.send().isPaused = true;
  await paused.clock.advance(60_000);
  expect(paused.state.probes).toBe(0);
});

it('leaves a request alone that makes progress, or that cannot go elsewhere yet', async () => {
  const { clock, send } = setUp();
  const [moving, alone] = [send(), send()];
  alone.canLeave = false;
  for (let second = 0; second < 30; second++) {
    moving.progress++;
    await clock.advance(1_000);
  }
  expect({ moving: moving.hung, alone: alone.hung }).toEqual({ moving: false, alone: false });
  alone.canLeave = true;
  await clock.advance(8_000);
  expect(alone.hung).toBe(true);
});

it('asks an endpoint that hangs again, at most once a second, until it responds', async () => {
  const { clock, send, state, suspects, watch } = setUp();
  send();
  await clock.advance(4_000);
  expect(suspects.has(ONE)).toBe(true);
  expect(state.probes).toBe(1);
  for (let tenth = 0; tenth < 100; tenth++) {
    watch.recheck();
    await clock.advance(100);
  }
  expect(state.probes).toBeLessThanOrEqual(5);
  expect(suspects.has(ONE)).toBe(true);
  expect(await watch.stillHangs('http://two:9000')).toBe(false);
  state.answerMs = 10;
  await clock.advance(2_000);
  watch.recheck();
  await clock.advance(20);
  expect(suspects.has(ONE)).toBe(false);
  expect(await watch.stillHangs(ONE)).toBe(false);
});

it('stops with its request', async () => {
  const { clock, send, state } = setUp();
  send().end();
  await clock.advance(60_000);
  expect(state.probes).toBe(0);
});
