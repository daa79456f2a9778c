import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest';
import { ServiceTokenAuthenticator } from '../../src/access/authenticators/service-token.ts';
import { TokenFileAuthenticator } from '../../src/access/authenticators/token-file.ts';
import { Directory } from '../../src/access/directory.ts';
import { hashSecretKey } from '../../src/access/service-token.ts';
import { MAX_PREVIOUS_HASHES } from '../../src/resources/service-token.ts';
import { role, roleAssignment, serviceToken, stored, withHashes } from '../builders/resources.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MemoryStore } from '../unit/access/memory-store.ts';

// What an attacker could measure: the number of comparisons, and how long each one takes. Not measured with a clock, which other programs disturb, but
// seen in the comparisons themselves: always as many, in constant time, of hashes of one length, after the same work.

const ACCESS = 'abcdefghij012345';
const secretOf = (letter: string): string => letter.repeat(32);
const SECRET = secretOf('s');
const PREVIOUS = secretOf('p');
const EXPIRED = secretOf('e');
const NOW = '2026-11-01T12:00:00Z';

let compare: Mock<typeof crypto.timingSafeEqual>;
let digest: Mock<typeof crypto.hash>;
beforeEach(() => {
  compare = vi.spyOn(crypto, 'timingSafeEqual');
  digest = vi.spyOn(crypto, 'hash');
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

function authenticator(previous: readonly string[]): ServiceTokenAuthenticator {
  const store = new MemoryStore();
  const previousHashes = previous.map((secret) => ({
    hash: hashSecretKey(secret),
    validUntil: secret === EXPIRED ? '2026-11-01T11:59:59Z' : '2026-11-01T13:00:00Z',
  }));
  const hashes = withHashes({ accessKey: ACCESS, secretHash: hashSecretKey(SECRET), previousHashes });
  store.seed(serviceToken('ci', {}, stored(), hashes), role('r'));
  store.seed(roleAssignment('a', { role: 'r', subjects: [{ type: 'service-token', name: 'ci' }] }));
  const clock = new FakeClock(NOW);
  return new ServiceTokenAuthenticator(new Directory(store, { environment: 'olap', cluster: 'pinot' }), clock);
}

/** Two letters at each place: a comparison that ends at the first difference would differ between them. */
const WRONG = [`${SECRET.slice(0, -1)}x`, `x${SECRET.slice(1)}`, secretOf('x'), EXPIRED];

describe('the check of a service token', () => {
  const cases = [[], [PREVIOUS], [EXPIRED, PREVIOUS]].flatMap((previous) => [
    ...[SECRET, PREVIOUS, ...WRONG].map((secret) => ({ previous, access: ACCESS, secret })),
    { previous, access: 'zzzzzzzzzzzzzzzz', secret: SECRET },
  ]);

  it.each(cases)('does the same work for the keys $access and $secret, after rotations $previous', async (one) => {
    const { previous, access, secret } = one;
    const tokens = authenticator(previous);
    digest.mockClear();
    const { outcome } = await tokens.authenticate({ scheme: 'bearer', token: `svc-${access}-${secret}` });
    const isValid = access === ACCESS && (secret === SECRET || (secret === PREVIOUS && previous.includes(PREVIOUS)));
    expect(outcome).toBe(isValid ? 'authenticated' : 'rejected');
    expect(digest.mock.calls).toEqual([['sha256', secret]]);
    const texts = compare.mock.calls.map(([a, b]) =>
      [a, b].map((bytes) => Buffer.from(bytes as Uint8Array).toString()),
    );
    expect(texts).toHaveLength(1 + MAX_PREVIOUS_HASHES);
    for (const [actual, expected] of texts) {
      expect(actual).toBe(hashSecretKey(secret));
      expect(expected).toMatch(/^sha256:[\da-f]{64}$/);
    }
  });

  it('says the same about an unknown access key and about a wrong secret key', async () => {
    const tokens = authenticator([PREVIOUS]);
    const keys = [ACCESS, 'zzzzzzzzzzzzzzzz'].map((access) => `svc-${access}-${secretOf('x')}`);
    const [wrong, unknown] = await Promise.all(keys.map((token) => tokens.authenticate({ scheme: 'bearer', token })));
    expect(wrong).toEqual(unknown);
  });
});

describe('the check of a token of the token file', () => {
  it('uses only its hash, which says nothing about how much of the token is right', async () => {
    const token = 'a long and random token';
    const line = JSON.stringify({ sha256: crypto.hash('sha256', token), user: 'ann' });
    const tokens = await TokenFileAuthenticator.open({ read: async () => line, clock: new FakeClock(NOW) });
    for (const sent of [token, `${token.slice(0, -1)}x`, `x${token.slice(1)}`, token.slice(0, 4)]) {
      digest.mockClear();
      const { outcome } = await tokens.authenticate({ scheme: 'bearer', token: sent });
      expect(outcome).toBe(sent === token ? 'authenticated' : 'not-mine');
      expect(digest.mock.calls).toEqual([['sha256', sent]]);
    }
  });
});
