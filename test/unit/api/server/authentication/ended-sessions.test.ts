import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { EndedSessions, type EndedSession } from '../../../../../src/api/server/authentication/ended-sessions.ts';
import { StoreError } from '../../../../../src/store/resource-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { MemoryDocument } from '../../../access/usage/memory-document.ts';

// What two gateways with one document know of the sign-outs at each of them.

const DAY_MS = 86_400_000;
const NONE = new AbortController().signal;
const running: EndedSessions[] = [];
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.stop(AbortSignal.abort());
});

function gateway(document: MemoryDocument, clock: FakeClock, onProblem?: (problem: string) => void): EndedSessions {
  const ended = new EndedSessions({ document, clock, maxAgeMs: 7 * DAY_MS, ...(onProblem && { onProblem }) });
  ended.start();
  running.push(ended);
  return ended;
}

const digestOf = (name: string): string => createHash('sha256').update(name).digest('base64url').slice(0, 22);

function session(name: string, { owner = 'ann', end = 0, clock }: { owner?: string; end?: number; clock: FakeClock }) {
  const latest = Math.ceil((clock.now() + 7 * DAY_MS) / 1000);
  return { digest: digestOf(name), owner: digestOf(owner).slice(0, 8), end: end || latest } satisfies EndedSession;
}

describe('the list of ended sessions', () => {
  it('has what another gateway has ended, within ten seconds, and nothing else', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const [one, other] = [gateway(document, clock), gateway(document, clock)];
    await clock.advance(5_000);
    one.add(session('s', { clock }));
    expect(await one.has(digestOf('s'))).toBe(true);
    await clock.advance(10_000);
    expect(await other.has(digestOf('s'))).toBe(true);
    expect(await other.has(digestOf('t'))).toBe(false);
  });

  it('is known to a gateway before it decides about the first session', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    gateway(document, clock).add(session('s', { clock }));
    await clock.advance(10_000);
    expect(await gateway(document, clock).has(digestOf('s'))).toBe(true);
  });

  it('is written once for many sign-outs, and not where nothing was ended', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const one = gateway(document, clock);
    await clock.advance(60_000);
    expect(document.writes).toBe(0);
    for (let index = 0; index < 50; index++) one.add(session(`s${index}`, { clock }));
    await clock.advance(60_000);
    expect(document.writes).toBe(1);
    expect(document.text.split('\n')).toHaveLength(51);
  });

  it('keeps what both end at once, and what was lost comes back', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const [one, other] = [gateway(document, clock), gateway(document, clock)];
    await settle();
    one.add(session('a', { clock }));
    other.add(session('b', { clock }));
    await clock.advance(20_000);
    for (const each of [one, other])
      expect(await Promise.all(['a', 'b'].map((name) => each.has(digestOf(name))))).toEqual([true, true]);
    document.replace('not a list\n');
    await clock.advance(20_000);
    for (const name of ['a', 'b']) expect(document.text).toContain(digestOf(name));
    expect(document.text).not.toContain('not a list');
  });

  it('goes on without the document, says once why, and writes what was ended meanwhile', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const problems: string[] = [];
    const one = gateway(document, clock, (problem) => problems.push(problem));
    await settle();
    const failures = Array.from({ length: 4 }, () => new StoreError('unavailable', 'the API server is away'));
    document.failures.push(...failures);
    one.add(session('s', { clock }));
    expect(await one.has(digestOf('s'))).toBe(true);
    await clock.advance(30_000);
    expect(problems).toEqual(['the API server is away']);
    await clock.advance(30_000);
    expect(document.text).toContain(digestOf('s'));
  });

  it('is written when the gateway stops', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const one = gateway(document, clock);
    await settle();
    one.add(session('s', { clock }));
    await one.stop(NONE);
    expect(document.text).toContain(digestOf('s'));
  });

  it('forgets sessions that have ended by themselves', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const one = gateway(document, clock);
    one.add(session('old', { clock }));
    await clock.advance(10_000);
    clock.jump(7 * DAY_MS);
    one.add(session('new', { clock }));
    await clock.advance(10_000);
    expect(document.text).toContain(digestOf('new'));
    expect(document.text).not.toContain(digestOf('old'));
  });

  it('is bounded, for each owner and in total, also against what others write into it', async () => {
    const [document, clock] = [new MemoryDocument(), new FakeClock()];
    const one = gateway(document, clock);
    const victim = session('victim', { clock, owner: 'bob', end: Math.floor(clock.now() / 1000) + 3600 });
    one.add(victim);
    for (let index = 0; index < 300; index++) one.add(session(`s${index}`, { clock, owner: 'eve' }));
    await clock.advance(10_000);
    expect(document.text.split('\n')).toHaveLength(102);
    expect(await one.has(victim.digest)).toBe(true);
    const foreign = Array.from({ length: 9_000 }, (_, index) => {
      const { digest, owner } = session(`f${index}`, { clock, owner: `o${index}` });
      return `${digest} ${owner} 999999999999\n`;
    });
    document.replace(foreign.join(''));
    await clock.advance(10_000);
    one.add(session('later', { clock }));
    await clock.advance(10_000);
    expect(document.text.length).toBeLessThan(256 * 1024);
    // Entries of nobody end like all others.
    clock.jump(7 * DAY_MS + 20_000);
    one.add(session('last', { clock }));
    await clock.advance(10_000);
    expect(document.text.split('\n')).toHaveLength(2);
  });
});
