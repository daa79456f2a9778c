import { beforeEach, describe, expect, it } from 'vitest';
import { damaged } from '../../../../src/results/errors.ts';
import type { ResultNotes } from '../../../../src/results/notes.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import { MemoryNotes } from '../../../../src/results/stores/memory/memory-notes.ts';
import { ObjectNotes } from '../../../../src/results/stores/object/object-notes.ts';
import {
  CONFIRM_MS,
  type KeyClaim,
  MAX_KEYS_OF_CALLER,
  SubmissionKeys,
} from '../../../../src/results/submit/submission-keys.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryBucket } from '../stores/object/memory-bucket.ts';

const signal = new AbortController().signal;
const OTHERS = 6;
const KEYED = { owner: 'ann', key: 'one', fingerprint: 'f' };

let clock: FakeClock;
let known: Set<string>;
let problems: string[];
let seed = 0;
beforeEach(() => {
  clock = new FakeClock();
  known = new Set();
  problems = [];
});

function keysOf(notes: ResultNotes, more: Partial<ConstructorParameters<typeof SubmissionKeys>[0]> = {}) {
  return new SubmissionKeys({
    store: { notes, local: false },
    clock,
    newId: () => newRequestId('gateway-0', (bytes) => Buffer.alloc(bytes, `-${++seed}`)),
    instance: 'a',
    isKnown: async (requestId) => known.has(requestId),
    onProblem: (message) => problems.push(message),
    ...more,
  });
}

async function stored(claim: KeyClaim): Promise<string> {
  if (claim.kind !== 'new') throw new Error(claim.kind);
  known.add(claim.requestId);
  await claim.end();
  return claim.requestId;
}

async function kept(notes: ResultNotes): Promise<number> {
  let count = 0;
  for await (const _ of notes.list('key', signal)) count++;
  return count;
}

describe('the keys of submissions', () => {
  it('are known to each gateway of a shared store', async () => {
    const notes = new ObjectNotes(new MemoryBucket());
    const [one, two] = [keysOf(notes), keysOf(notes, { instance: 'b' })];
    const requestId = await stored(await one.claim(KEYED, signal));
    expect(await two.claim(KEYED, signal)).toEqual({ kind: 'known', requestId });
    await expect(two.claim({ ...KEYED, fingerprint: 'g' }, signal)).rejects.toMatchObject({ code: 'key-reused' });
    expect((await two.claim({ ...KEYED, owner: 'bob' }, signal)).kind).toBe('new');
  });

  it('stay busy at other gateways while the first one confirms that it runs, and are free after its end', async () => {
    const notes = new ObjectNotes(new MemoryBucket());
    const [one, two] = [keysOf(notes), keysOf(notes, { instance: 'b' })];
    await one.claim(KEYED, signal);
    for (let round = 0; round < 10; round++) {
      await expect(two.claim(KEYED, signal)).rejects.toMatchObject({ code: 'key-busy' });
      await clock.advance(CONFIRM_MS);
    }
    // The process ends, and confirms nothing more.
    await one.close();
    await clock.advance(44_000);
    await expect(two.claim(KEYED, signal)).rejects.toMatchObject({ code: 'key-busy' });
    await clock.advance(2_000);
    expect((await two.claim(KEYED, signal)).kind).toBe('new');
    expect(problems).toEqual([]);
  });

  it('stay busy where those of another submission cannot be confirmed', async () => {
    for (const failure of [() => Promise.reject(new Error('locked')), () => new Promise<void>(() => undefined)]) {
      const notes = new ObjectNotes(new MemoryBucket());
      const refused = new Set<string>();
      const failing: ResultNotes = {
        get: (id, kind, abort) => notes.get(id, kind, abort),
        delete: (id, kind, abort) => notes.delete(id, kind, abort),
        list: (kind, abort) => notes.list(kind, abort),
        put: async (id, kind, text, abort) => {
          if (refused.has(id)) return failure();
          if (refused.size < OTHERS) refused.add(id);
          return notes.put(id, kind, text, abort);
        },
      };
      const [one, two] = [keysOf(failing), keysOf(notes, { instance: 'b' })];
      for (let at = 0; at < OTHERS; at++) await one.claim({ ...KEYED, key: `other ${at}` }, signal);
      await one.claim(KEYED, signal);
      for (let round = 0; round < 8; round++) {
        await clock.advance(CONFIRM_MS);
        await expect(two.claim(KEYED, signal)).rejects.toMatchObject({ code: 'key-busy' });
      }
      const closed = one.close();
      await clock.advance(CONFIRM_MS);
      await closed;
    }
  });

  it('are free at once after a restart of the only gateway of a store', async () => {
    const notes = new MemoryNotes();
    const store = { notes, local: true };
    await keysOf(notes, { store }).claim(KEYED, signal);
    expect((await keysOf(notes, { store, instance: 'b' }).claim(KEYED, signal)).kind).toBe('new');
  });

  it('are free where the result cannot be read by anyone', async () => {
    const notes = new MemoryNotes();
    const keys = keysOf(notes, {
      isKnown: async (requestId) => {
        if (known.has(requestId)) throw damaged('its record is missing');
        return true;
      },
    });
    const first = await keys.claim(KEYED, signal);
    if (first.kind === 'new') await first.end();
    known.add(first.requestId);
    expect((await keys.claim(KEYED, signal)).kind).toBe('new');
  });

  it('of one caller are bounded, the oldest are forgotten, and those of others stay', async () => {
    const notes = new MemoryNotes();
    const keys = keysOf(notes);
    const ofBob = await stored(await keys.claim({ ...KEYED, owner: 'bob' }, signal));
    const ids: string[] = [];
    for (let count = 0; count < 10_000; count++)
      ids.push(await stored(await keys.claim({ ...KEYED, key: `key ${count}` }, signal)));
    expect(await kept(notes)).toBe(MAX_KEYS_OF_CALLER + 1);
    const last = { ...KEYED, key: 'key 9999' };
    expect(await keys.claim(last, signal)).toEqual({ kind: 'known', requestId: ids[9_999] });
    expect(await keys.claim({ ...KEYED, owner: 'bob' }, signal)).toEqual({ kind: 'known', requestId: ofBob });
    expect((await keys.claim({ ...KEYED, key: 'key 0' }, signal)).kind).toBe('new');
  });

  it('leave nothing of themselves in the store in clear', async () => {
    const bucket = new MemoryBucket();
    await keysOf(new ObjectNotes(bucket)).claim({ ...KEYED, key: 'a secret key' }, signal);
    const texts = [...bucket.objects].map(([name, { bytes }]) => name + bytes.toString());
    expect(texts).toHaveLength(1);
    expect(texts[0]).not.toMatch(/secret|ann/);
  });

  it('of two submissions at once are of one', async () => {
    const keys = keysOf(new MemoryNotes());
    const claims = await Promise.allSettled([1, 2, 3].map(() => keys.claim(KEYED, signal)));
    expect(claims.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  });
});
