import { describe, expect, it } from 'vitest';
import { ServiceTokenAuthenticator } from '../../../../src/access/authenticators/service-token.ts';
import { Directory } from '../../../../src/access/directory.ts';
import { hashSecretKey } from '../../../../src/access/service-token.ts';
import { MAX_PREVIOUS_HASHES } from '../../../../src/resources/service-token.ts';
import { role, roleAssignment, serviceToken, stored, withHashes } from '../../../builders/resources.ts';
import { MemoryStore } from '../memory-store.ts';

const ACCESS = 'abcdefghij012345';
const SECRET = 'abcdefghijklmnopqrstuvwxyz012345';
const OLD_SECRET = '543210zyxwvutsrqponmlkjihgfedcba';
const OLDEST_SECRET = '000000zyxwvutsrqponmlkjihgfedcba';
const NOW = new Date('2026-11-01T12:00:00Z');

function setUp(options: { expiresAt?: string; assigned?: boolean; previousExpiresAt?: string } = {}) {
  const { expiresAt, assigned = true, previousExpiresAt } = options;
  const store = new MemoryStore();
  const oldest = { hash: hashSecretKey(OLDEST_SECRET), validUntil: '2026-11-01T11:59:59Z' };
  const hashes = withHashes({
    accessKey: ACCESS,
    secretHash: hashSecretKey(SECRET),
    previousHashes:
      previousExpiresAt === undefined
        ? []
        : [oldest, { hash: hashSecretKey(OLD_SECRET), validUntil: previousExpiresAt }],
  });
  store.seed(serviceToken('ci', expiresAt === undefined ? {} : { expiresAt }, stored(), hashes), role('r'));
  if (assigned) store.seed(roleAssignment('a', { role: 'r', subjects: [{ type: 'service-token', name: 'ci' }] }));
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
  return { store, authenticator: new ServiceTokenAuthenticator(directory, { now: () => NOW.getTime() }) };
}

const bearer = (token: string) => ({ scheme: 'bearer', token }) as const;
const basic = (username: string, password: string) => ({ scheme: 'basic', username, password }) as const;

describe('the credential of a service token', () => {
  it('accepts a token as Bearer and as Basic', async () => {
    const { authenticator } = setUp();
    for (const credential of [bearer(`svc-${ACCESS}-${SECRET}`), basic(ACCESS, SECRET)]) {
      expect(await authenticator.authenticate(credential)).toEqual({
        outcome: 'authenticated',
        principal: {
          kind: 'service-token',
          srn: 'srn2:service-token#ci',
          id: 'ci',
          uid: 'uid-of-ci',
          groups: [],
          domain: undefined,
          authenticator: 'service-token',
        },
      });
    }
  });

  it('accepts as many replaced secrets as a status may have', async () => {
    const { store, authenticator } = setUp();
    const secrets = Array.from({ length: MAX_PREVIOUS_HASHES + 1 }, (_, index) => `${index}`.repeat(32));
    const previousHashes = secrets.map((one) => ({ hash: hashSecretKey(one), validUntil: '2026-11-01T12:00:01Z' }));
    store.seed(serviceToken('ci', {}, stored(), withHashes({ accessKey: ACCESS, previousHashes })));
    const outcomes = await Promise.all(secrets.map((one) => authenticator.authenticate(basic(ACCESS, one))));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      ...Array.from({ length: MAX_PREVIOUS_HASHES }, () => 'authenticated'),
      'rejected',
    ]);
  });

  it('knows a token that was deleted and created again with its name and secret as another caller', async () => {
    const { store, authenticator } = setUp();
    const principal = async () => (await authenticator.authenticate(basic(ACCESS, SECRET))) as { principal?: object };
    const [first, same] = [await principal(), await principal()];
    expect(first.principal).toBe(same.principal);
    const hashes = withHashes({ accessKey: ACCESS, secretHash: hashSecretKey(SECRET), previousHashes: [] });
    await store.delete('ServiceToken', 'ci');
    store.seed(serviceToken('ci', {}, stored({ uid: 'second' }), hashes));
    expect([first.principal, (await principal()).principal]).toMatchObject([{ uid: 'uid-of-ci' }, { uid: 'second' }]);
  });

  it.each([bearer('eyJhbGciOiJSUzI1NiJ9.e30.x'), bearer('sha'), basic('admin', 'verysecret'), basic(ACCESS, 'short')])(
    'leaves other credentials to others: %j',
    async (credential) => {
      expect(await setUp().authenticator.authenticate(credential)).toEqual({ outcome: 'not-mine' });
    },
  );

  it.each([
    `svc-${ACCESS}`,
    `svc-${ACCESS}-${SECRET}x`,
    `svc-${ACCESS.toUpperCase()}-${SECRET}`,
    `svc-${ACCESS}-${SECRET}\n`,
  ])('says that %j is malformed', async (token) => {
    const result = await setUp().authenticator.authenticate(bearer(token));
    expect(result).toMatchObject({ outcome: 'rejected', message: expect.stringContaining('malformed') });
  });

  it('returns the same message for an unknown key and a wrong secret, and repeats neither', async () => {
    const { authenticator } = setUp();
    const unknown = await authenticator.authenticate(bearer(`svc-${'z'.repeat(16)}-${SECRET}`));
    const wrong = await authenticator.authenticate(bearer(`svc-${ACCESS}-${'z'.repeat(32)}`));
    expect(unknown).toEqual(wrong);
    expect(unknown).toMatchObject({ outcome: 'rejected' });
    expect(JSON.stringify([unknown, wrong])).not.toMatch(/zzzz|abcdef/);
  });

  it('reveals that a token has expired or has no role only with the right secret', async () => {
    const expired = setUp({ expiresAt: '2026-11-01T12:00:00Z' });
    expect(await expired.authenticator.authenticate(basic(ACCESS, SECRET))).toEqual({
      outcome: 'rejected',
      message: 'the service token `ci` expired at 2026-11-01T12:00:00Z',
    });
    const unassigned = setUp({ assigned: false });
    expect(await unassigned.authenticator.authenticate(basic(ACCESS, SECRET))).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('has no role'),
    });
    for (const { authenticator } of [expired, unassigned]) {
      expect(await authenticator.authenticate(basic(ACCESS, 'z'.repeat(32)))).toMatchObject({
        message: expect.stringContaining('unknown'),
      });
    }
    const later = setUp({ expiresAt: '2026-11-01T12:00:01Z' });
    expect(await later.authenticator.authenticate(basic(ACCESS, SECRET))).toMatchObject({ outcome: 'authenticated' });
  });

  it('ignores a role that does not exist', async () => {
    const { store, authenticator } = setUp();
    await store.delete('Role', 'r');
    expect(await authenticator.authenticate(basic(ACCESS, SECRET))).toMatchObject({ outcome: 'rejected' });
  });

  it('accepts both secrets of a rotation until the grace period ends', async () => {
    const within = setUp({ previousExpiresAt: '2026-11-01T12:00:01Z' });
    const after = setUp({ previousExpiresAt: '2026-11-01T12:00:00Z' });
    const broken = setUp({ previousExpiresAt: 'soon' });
    const outcome = async ({ authenticator }: typeof within, secret: string) =>
      (await authenticator.authenticate(basic(ACCESS, secret))).outcome;
    expect(await outcome(within, OLD_SECRET)).toBe('authenticated');
    expect(await outcome(within, SECRET)).toBe('authenticated');
    expect(await outcome(within, OLDEST_SECRET)).toBe('rejected');
    expect(await outcome(after, OLD_SECRET)).toBe('rejected');
    expect(await outcome(after, SECRET)).toBe('authenticated');
    expect(await outcome(broken, OLD_SECRET)).toBe('rejected');
  });

  it('rejects a token after its object was deleted, or its hash removed', async () => {
    for (const deleted of [true, false]) {
      const { store, authenticator } = setUp();
      if (deleted) await store.delete('ServiceToken', 'ci');
      else store.replace({ ...store.get('ServiceToken', 'ci')!, status: { accessKey: ACCESS } });
      expect(await authenticator.authenticate(basic(ACCESS, SECRET))).toMatchObject({ outcome: 'rejected' });
    }
  });
});
