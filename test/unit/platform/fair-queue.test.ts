import { expect, it } from 'vitest';
import { FairQueue, QueueRefusal, type Place, type QueueLimits } from '../../../src/platform/fair-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { seeded } from '../../support/seed.ts';

/** A queue whose places write what happens to them into `events`. */
function tried(limits: Partial<QueueLimits>) {
  const clock = new FakeClock();
  const events: string[] = [];
  const queue = new FairQueue({ name: 'memory', total: 1, maxWaiting: 100, ...limits }, clock, {
    onStart: (name, waitedMs) => events.push(`${name} after ${waitedMs} ms`),
    onRefusal: (name, reason) => events.push(`${name} refused: ${reason}`),
  });
  const started: string[] = [];
  const enter = (key: string, more: { units?: number; most?: number; as?: string } = {}): Place =>
    queue.enter(key, {
      ...more,
      start: () => started.push(more.as ?? key),
      refuse: (reason) => started.push(`${more.as ?? key} refused: ${reason}`),
    });
  return { clock, events, queue, started, enter };
}

it('gives a place at once where there is room, and the next one when it is released', () => {
  const { queue, started, enter } = tried({ total: 2 });
  const [first] = [enter('a', { as: 'a1' }), enter('a', { as: 'a2' }), enter('a', { as: 'a3' })];
  expect(started).toEqual(['a1', 'a2']);
  expect([queue.used, queue.waiting]).toEqual([2, 1]);
  first.release();
  first.release();
  expect(started).toEqual(['a1', 'a2', 'a3']);
  expect([queue.used, queue.waiting]).toEqual([2, 0]);
});

/** Releases the places in the order in which they were given, until none is left. */
function runAll(places: ReadonlyMap<string, Place>, started: readonly string[]): void {
  for (let at = 0; at < started.length; at++) places.get(started[at] ?? '')?.release();
}

it('serves the keys in turn, and the places of one key in the order of their arrival', () => {
  const { started, enter } = tried({ total: 1 });
  const places = new Map(
    ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((as) => [as, enter(as.slice(0, 1), { as })] as const),
  );
  runAll(places, started);
  expect(started).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

it('lets nobody wait for a key that uses its share', () => {
  const { started, enter } = tried({ total: 10, perKey: 2 });
  const places = ['a1', 'a2', 'a3', 'b1'].map((as) => enter(as.slice(0, 1), { as }));
  expect(started).toEqual(['a1', 'a2', 'b1']);
  places[0]?.release();
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
});

it('takes the most of one key from the place, where it names one', () => {
  const { started, enter } = tried({ total: 10, perKey: 1 });
  for (const as of ['a1', 'a2', 'a3']) enter('a', { as, most: 2 });
  expect(started).toEqual(['a1', 'a2']);
});

it('does not overtake a place that waits for many units of the total', () => {
  const { started, enter } = tried({ total: 10 });
  const small = enter('a', { units: 6 });
  enter('b', { units: 8 });
  enter('c', { units: 1 });
  expect(started).toEqual(['a']);
  small.release();
  expect(started).toEqual(['a', 'b', 'c']);
});

it('takes more units than the limits allow as the most that they allow', () => {
  const { queue, started, enter } = tried({ total: 10, perKey: 4 });
  enter('a', { units: 1_000 });
  expect(started).toEqual(['a']);
  expect(queue.used).toBe(4);
});

it('gives the units back that a place turns out not to need', () => {
  const { queue, started, enter } = tried({ total: 10 });
  const place = enter('a', { units: 10 });
  enter('b', { units: 5 });
  place.resize(5);
  expect(started).toEqual(['a', 'b']);
  expect(queue.used).toBe(10);
  place.release();
  place.resize(3);
  expect(queue.used).toBe(5);
});

it('serves those behind a place whose key has grown beyond its share, at once', () => {
  const { started, enter } = tried({ total: 11, perKey: 6 });
  const grows = enter('a', { units: 2 });
  const others = [enter('b', { units: 6 }), enter('c', { units: 1 })];
  enter('a', { units: 4, as: 'a2' });
  enter('d', { units: 1 });
  expect(started).toEqual(['a', 'b', 'c']);
  grows.resize(3);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  for (const other of others) other.release();
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  grows.resize(2);
  expect(started).toEqual(['a', 'b', 'c', 'd', 'a2']);
});

it('refuses a place where too many wait, in all or of its key, or where it waited too long', async () => {
  const { clock, queue, started, events, enter } = tried({
    total: 1,
    maxWaiting: 3,
    maxWaitingOfKey: 2,
    maxWaitMs: 500,
  });
  for (const as of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2']) enter(as.slice(0, 1), { as });
  expect(started).toEqual(['a1', 'a4 refused: full-of-key', 'b2 refused: full']);
  await clock.advance(499);
  expect(queue.waiting).toBe(3);
  await clock.advance(1);
  expect(queue.waiting).toBe(0);
  expect(started.slice(3)).toEqual(['a2 refused: timeout', 'a3 refused: timeout', 'b1 refused: timeout']);
  expect(events.filter((event) => event === 'memory refused: timeout')).toHaveLength(3);
});

it('withdraws a place whose signal aborts, and serves those behind it', async () => {
  const { queue } = tried({ total: 10 });
  const held = await queue.acquire('a', { units: 5 });
  const leaves = new AbortController();
  const left = queue.acquire('b', { units: 10, signal: leaves.signal });
  const behind = queue.acquire('c', { units: 5 });
  leaves.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  (await behind).release();
  held.release();
  expect([queue.used, queue.waiting]).toEqual([0, 0]);
  await expect(queue.acquire('b', { signal: leaves.signal })).rejects.toThrow('left');
});

it('gives back a place whose signal aborts as it is given', async () => {
  const { queue } = tried({ total: 1 });
  const held = await queue.acquire('a');
  const leaves = new AbortController();
  const left = queue.acquire('b', { signal: leaves.signal });
  held.release();
  leaves.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  expect(queue.used).toBe(0);
});

it('runs jobs within its limit, and releases the place of one that fails', async () => {
  const { queue } = tried({ total: 1, maxWaiting: 1 });
  const failing = queue.run(() => Promise.reject(new Error('failed')));
  const second = queue.run(async () => queue.used);
  await expect(queue.run(async () => 0)).rejects.toBeInstanceOf(QueueRefusal);
  await expect(failing).rejects.toThrow('failed');
  expect(await second).toBe(1);
  expect(queue.used).toBe(0);
});

it('needs no stack for places that end as they start', () => {
  const { queue } = tried({ total: 1, maxWaiting: 20_000 });
  const held = queue.enter('a', { start: () => undefined, refuse: () => undefined });
  let ended = 0;
  for (let at = 0; at < 20_000; at++) {
    queue.enter(`key ${at % 7}`, {
      start: (place) => {
        ended++;
        place.release();
      },
      refuse: () => undefined,
    });
  }
  held.release();
  expect([ended, queue.used, queue.waiting]).toEqual([20_000, 0, 0]);
});

it('keeps its counts and its limits over random uses', async () => {
  const random = seeded(41);
  const { queue, enter, clock } = tried({
    total: 20,
    perKey: 8,
    maxWaiting: 30,
    maxWaitingOfKey: 12,
    maxWaitMs: 1_000,
  });
  const places: Place[] = [];
  const any = (): number => random.below(Math.max(places.length, 1));
  for (let step = 0; step < 20_000; step++) {
    const dice = random.below(100);
    if (dice < 50) places.push(enter(`key ${random.below(5)}`, { units: 1 + random.below(9) }));
    else if (dice < 90) places.splice(any(), 1)[0]?.release();
    else if (dice < 99) places[any()]?.resize(random.below(4));
    else if (step % 40 === 0) await clock.advance(400);
    if (queue.waiting > 30 || queue.used < 0 || (queue.used === 0 && queue.waiting > 0))
      expect.fail(`after ${step} steps ${queue.used} units are used, and ${queue.waiting} places wait`);
  }
  for (const place of places) place.release();
  expect([queue.used, queue.waiting, clock.timers]).toEqual([0, 0, 0]);
});
