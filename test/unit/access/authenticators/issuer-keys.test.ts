import { exportJWK, generateKeyPair, SignJWT, type JSONWebKeySet } from 'jose';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { AuthenticationResult } from '../../../../src/access/authenticators/authenticator.ts';
import { IssuerKeys } from '../../../../src/access/authenticators/issuer-keys.ts';
import { OidcAuthenticator } from '../../../../src/access/authenticators/oidc.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const ISSUER = 'https://issuer.example.com';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let pairs: { readonly old: Pair; readonly new: Pair };
let clock: FakeClock;
/** What the provider does at the next read. */
let provider: () => Promise<JSONWebKeySet>;
let reads: number;
let events: string[];
let keys: IssuerKeys;
let authenticator: OidcAuthenticator;

beforeAll(async () => {
  pairs = { old: await generateKeyPair('ES256'), new: await generateKeyPair('ES256') };
});

beforeEach(async () => {
  [clock, reads, events] = [new FakeClock(), 0, []];
  const jwk = { ...(await exportJWK(pairs.old.publicKey)), kid: 'old', alg: 'ES256' };
  provider = async () => ({ keys: [jwk] });
  keys = new IssuerKeys({
    read() {
      reads++;
      return provider();
    },
    maxStaleMs: 24 * HOUR,
    clock,
    onFailed: (_error, ageMs) => events.push(`failed, age ${ageMs}`),
    onRecovered: () => events.push('recovered'),
  });
  authenticator = new OidcAuthenticator({
    issuer: ISSUER,
    audiences: ['olap-warden'],
    keys: keys.find,
    algorithms: ['ES256'],
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    clock,
  });
});

const away = (): Promise<never> => Promise.reject(new TypeError('fetch failed'));

let tokens = 0;
async function ask(key: 'old' | 'new', kid: string = key): Promise<AuthenticationResult['outcome']> {
  const claims = { iss: ISSUER, aud: 'olap-warden', sub: `user-${++tokens}`, exp: clock.now() / 1000 + 300 };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(pairs[key].privateKey);
  return (await authenticator.authenticate({ scheme: 'bearer', token })).outcome;
}

it('known keys are used for the set time while the provider is away', async () => {
  expect(await ask('old')).toBe('authenticated');
  provider = away;
  await clock.advance(23 * HOUR);
  expect([keys.isStale, await ask('old')]).toEqual([false, 'authenticated']);
  await clock.advance(1);
  expect([keys.isStale, events]).toEqual([true, [`failed, age ${23 * HOUR}`]]);
  await clock.advance(HOUR + 1);
  expect(await ask('old')).toBe('unavailable');
});

it('the provider is asked again by itself, and its new keys are used', async () => {
  await ask('old');
  provider = away;
  await clock.advance(10 * MINUTE);
  await ask('old');
  await clock.advance(0);
  const jwk = { ...(await exportJWK(pairs.new.publicKey)), kid: 'new', alg: 'ES256' };
  provider = async () => ({ keys: [jwk] });
  await clock.advance(MINUTE);
  expect([keys.isStale, events.at(-1), clock.timers]).toEqual([false, 'recovered', 0]);
  expect([await ask('new'), await ask('old')]).toEqual(['authenticated', 'rejected']);
});

it('60 tokens with unknown keys cause one read within the pause, while the provider is away and while it is there', async () => {
  provider = away;
  const outcomes = await Promise.all(Array.from({ length: 30 }, (_, i) => ask('new', `unknown-${i}`)));
  for (let i = 30; i < 60; i++) outcomes.push(await ask('new', `unknown-${i}`));
  expect([new Set(outcomes), reads]).toEqual([new Set(['unavailable']), 1]);
  provider = async () => ({ keys: [{ ...(await exportJWK(pairs.old.publicKey)), kid: 'old', alg: 'ES256' }] });
  await clock.advance(5_000);
  for (let i = 0; i < 60; i++) expect(await ask('new', `unknown-${i}`)).toBe('rejected');
  expect(reads).toBe(2);
  // Nor does an outage after that.
  provider = away;
  await clock.advance(5_000);
  for (let i = 0; i < 60; i++) expect(await ask('new', `unknown-${i}`)).toBe('unavailable');
  expect([reads, await ask('old')]).toEqual([3, 'authenticated']);
});

it('a provider that does not respond holds no token with a known key', async () => {
  await ask('old');
  const { promise, reject } = Promise.withResolvers<never>();
  provider = () => promise;
  await clock.advance(10 * MINUTE);
  expect([await ask('old'), await ask('old'), reads]).toEqual(['authenticated', 'authenticated', 2]);
  const unknown = ask('new');
  reject(new Error('time-out'));
  expect(await unknown).toBe('unavailable');
  keys.close();
  await clock.advance(MINUTE);
  expect([reads, clock.timers]).toEqual([2, 0]);
});

it('a key that the provider revoked while no token arrived is not accepted', async () => {
  await ask('old');
  const jwk = { ...(await exportJWK(pairs.new.publicKey)), kid: 'new', alg: 'ES256' };
  provider = async () => ({ keys: [jwk] });
  await clock.advance(8 * HOUR);
  expect(await Promise.all([ask('old'), ask('old'), ask('new')])).toEqual(['rejected', 'rejected', 'authenticated']);
});

it('what is no set of keys does not replace the known ones', async () => {
  await ask('old');
  provider = async () => ({ error: 'maintenance' }) as unknown as JSONWebKeySet;
  await clock.advance(10 * MINUTE);
  await ask('old');
  await clock.advance(5_000);
  expect([await ask('old'), keys.isStale]).toEqual(['authenticated', true]);
});
