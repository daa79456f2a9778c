import { generateKeyPair, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  deriveSessionKey,
  processSessionKeys,
  type SessionKeys,
} from '../../../../../src/api/server/authentication/session-keys.ts';
import { Sessions } from '../../../../../src/api/server/authentication/sessions.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { seeded } from '../../../../support/seed.ts';

const TOKEN = 'svc-abcdefghijklmnop-0123456789abcdefghijklmnopqrstuv';
const DAY_MS = 86_400_000;
const invalid = { problem: 'the session is invalid, or the gateway has other session keys: sign in again' };

/** Accepts both, and seals with the first. */
function keysOf(...lines: string[]): SessionKeys {
  const keys = lines.map(deriveSessionKey);
  return { sealing: async () => keys[0]!, find: async (id) => keys.find((key) => key.id === id) };
}
const clock = new FakeClock();
const sessions = (keys: SessionKeys): Sessions => new Sessions({ keys, maxAgeMs: 7 * DAY_MS, clock });

describe('a session', () => {
  it('is opened by every gateway with the key, and never has the token or its parts in it', async () => {
    const session = await sessions(keysOf('a key')).seal(TOKEN);
    expect(await sessions(keysOf('a newer key', 'a key')).open(session)).toEqual({ token: TOKEN });
    const readable = session + Buffer.from(session.split(':')[2]!, 'base64url').toString('latin1');
    for (const part of TOKEN.split('-').slice(1)) expect(readable).not.toContain(part);
  });

  it('differs each time', async () => {
    const all = sessions(keysOf('a key'));
    expect(await all.seal(TOKEN)).not.toBe(await all.seal(TOKEN));
  });

  it('is invalid for another key', async () => {
    const session = await sessions(processSessionKeys()).seal(TOKEN);
    expect(await sessions(processSessionKeys()).open(session)).toEqual(invalid);
  });

  it('is invalid after a change of any character, also of the id of its key', async () => {
    const two = sessions(keysOf('a key', 'another key'));
    const session = await two.seal(TOKEN);
    for (const index of session.split('').keys()) {
      // 256 bytes are not a multiple of 6 bits: the last character has bits without meaning.
      const other = session[index] === 'A' ? 'Q' : 'A';
      const changed = session.slice(0, index) + other + session.slice(index + 1);
      expect([index, await two.open(changed)]).toEqual([index, invalid]);
    }
    const claimed = session.replace(deriveSessionKey('a key').id, deriveSessionKey('another key').id);
    expect(await two.open(claimed)).toEqual(invalid);
  });

  it.each(['', 'v1', TOKEN, 'v1:', 'v2:abcdefgh:AAAA', `v1:${deriveSessionKey('a key').id}:${'A'.repeat(48)}`, '%'])(
    'is not %j',
    async (value) => {
      expect(await sessions(keysOf('a key')).open(value)).toEqual(invalid);
    },
  );

  it('stays ended where many sessions of another token are ended that nobody accepts now', async () => {
    const time = new FakeClock();
    const all = new Sessions({ keys: keysOf('a key'), maxAgeMs: 7 * DAY_MS, clock: time });
    const session = await all.seal(TOKEN);
    await all.end(session, '');
    await time.advance(5_000);
    for (let count = 0; count < 150; count++) await all.end(await all.seal(`${TOKEN}-other`), '');
    expect(await all.open(session)).toEqual({ problem: 'the session was ended by a sign-out: sign in again' });
  });

  it('is ended with all spellings of it, by a sign-out', async () => {
    const all = sessions(keysOf('a key'));
    // 1 to 3 bytes at the end of the text: its last character has bits without meaning.
    for (const token of [TOKEN, `${TOKEN}a`, `${TOKEN}ab`]) {
      const session = await all.seal(token);
      await all.end(session, 'srn2:user#ann');
      const bytes = Buffer.from(session.split(':')[2]!, 'base64url');
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      const texts = alphabet.split('').flatMap((last) => [session.slice(0, -1) + last, session + last]);
      const same = texts.filter((text) => Buffer.from(text.split(':')[2]!, 'base64url').equals(bytes));
      for (const text of new Set([session, ...same]))
        expect(await all.open(text), text).toEqual({ problem: 'the session was ended by a sign-out: sign in again' });
    }
  });

  it('ends after the time limit, whatever its token', async () => {
    const session = await sessions(keysOf('a key')).seal(TOKEN);
    clock.jump(7 * DAY_MS - 1);
    expect(await sessions(keysOf('a key')).open(session)).toEqual({ token: TOKEN });
    clock.jump(1);
    expect(await sessions(keysOf('a key')).open(session)).toEqual({
      problem: 'the session has expired: sign in again',
    });
  });
});

describe('the size of a session', () => {
  let key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

  beforeAll(async () => {
    key = (await generateKeyPair('RS256')).privateKey;
  });

  it('is about that of the token, also for a JSON Web Token with many groups', async () => {
    const random = seeded();
    const groups = Array.from({ length: 60 }, () => random.hex(40));
    const token = await new SignJWT({ groups }).setProtectedHeader({ alg: 'RS256' }).setExpirationTime('1h').sign(key);
    expect(token.length).toBeGreaterThan(3000);
    const session = await sessions(keysOf('a key')).seal(token);
    expect(session.length).toBeLessThan(token.length * 1.1);
    expect(await sessions(keysOf('a key')).open(session)).toEqual({ token });
  });
});
