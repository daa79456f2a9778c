import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../src/platform/clock.ts';
import { authenticatorChain } from '../../../../../src/access/authenticators/authenticate.ts';
import type { Authenticator, Credential } from '../../../../../src/access/authenticators/authenticator.ts';
import { KubernetesAuthenticator } from '../../../../../src/access/authenticators/kubernetes.ts';
import { errorFromStatus } from '../../../../../src/kubernetes/api-error.ts';
import { ALICE, testApp } from '../../../../support/app.ts';

const ACCESS_KEY = 'a'.repeat(16);
const VALID = `svc-${ACCESS_KEY}-${'s'.repeat(32)}`;
const LIMIT = 3;

/** Knows one token by itself, as the authenticators of service tokens and token files do. */
const local: Authenticator = {
  name: 'local',
  authenticate: async (credential: Credential) => {
    if (credential.scheme === 'bearer' && credential.token === VALID)
      return { outcome: 'authenticated', principal: ALICE };
    const isServiceToken = credential.scheme === 'basic' || credential.token.startsWith('svc-');
    return isServiceToken ? { outcome: 'rejected', message: 'wrong secret' } : { outcome: 'not-mine' };
  },
};

let app: FastifyInstance;
let reviews: string[];
let time: number;
afterEach(() => app.close());

async function start(): Promise<void> {
  reviews = [];
  time = Date.UTC(2026, 0, 1);
  const kubernetes = new KubernetesAuthenticator({
    review: async (token) => {
      reviews.push(token);
      return token.startsWith('good') ? { authenticated: true, user: { username: 'ada' } } : { authenticated: false };
    },
    audiences: [],
    clock: { now: () => time, monotonic: () => time },
  });
  app = await testApp({
    register: async (scope) => void scope.get('/here', () => 'here'),
    parts: {
      authenticator: authenticatorChain([local, kubernetes]),
      clock: { ...systemClock, now: () => time, monotonic: () => time },
      limits: { maxFailuresPerMinute: LIMIT },
    },
  });
}

const statusOf = async (token: string, remoteAddress = '10.0.0.1'): Promise<number> =>
  (await app.inject({ url: '/here', remoteAddress, headers: { authorization: `Bearer ${token}` } })).statusCode;

async function fail(times: number, token: (index: number) => string, address?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < times; index++) statuses.push(await statusOf(token(index), address));
  return statuses;
}

const wrongSecret = (accessKey: string) => `svc-${accessKey}-${'x'.repeat(32)}`;
const otherKey = (index: number) => wrongSecret(`k${index}`.padEnd(16, '0'));

describe('failed logins', () => {
  it('never lock out a credential that the gateway can verify by itself, from the same address', async () => {
    await start();
    expect(await fail(LIMIT + 2, otherKey)).toEqual([401, 401, 401, 429, 429]);
    expect(await statusOf(VALID)).toBe(200);
  });

  it('are counted by access key over all addresses, without effect on the valid secret of that key', async () => {
    await start();
    const statuses: number[] = [];
    for (let index = 0; index < LIMIT + 1; index++)
      statuses.push(await statusOf(wrongSecret(ACCESS_KEY), `10.1.0.${index}`));
    expect(statuses).toEqual([401, 401, 401, 429]);
    expect(await statusOf(wrongSecret('b'.repeat(16)), '10.1.0.9')).toBe(401);
    expect(await statusOf(VALID, '10.1.0.3')).toBe(200);
  });

  it('bound the calls of an authority, and a credential that it accepted before is still checked', async () => {
    await start();
    expect(await statusOf('good-1')).toBe(200);
    expect(await fail(LIMIT, (index) => `bad-${index}`)).toEqual([401, 401, 401]);
    expect(await statusOf('good-1')).toBe(200);
    const asked = reviews.length;
    expect(await fail(5, (index) => `more-${index}`)).toEqual([429, 429, 429, 429, 429]);
    expect(reviews).toHaveLength(asked);
    expect(await statusOf('good-2', '10.0.0.2')).toBe(200);
  });

  it('of others at the address of a proxy do not lock out a token that an authority keeps accepting', async () => {
    await start();
    const seen: number[] = [await statusOf('good-1')];
    time += 30_000;
    for (let second = 30; second < 240; second += 5) {
      await fail(LIMIT, (index) => `bad-${second}-${index}`);
      seen.push(await statusOf('good-1'));
      time += 5000;
    }
    expect(seen.filter((status) => status !== 200)).toEqual([]);
  });

  it.each([
    ['addresses of one IPv6 /64', '2001:db8:1:2::1', '2001:DB8:1:2:ffff:0:0:9', 429],
    ['an IPv6 address and one of the next /64', '2001:db8:1:2::1', '2001:db8:1:3::1', 401],
    ['an IPv4 address and its IPv4-mapped form', '192.0.2.1', '::ffff:192.0.2.1', 429],
    ['two IPv4-mapped addresses of different hosts', '::ffff:192.0.2.1', '::ffff:192.0.2.2', 401],
    ['two spellings of an IPv4-mapped address', '::ffff:192.0.2.1', '0:0:0:0:0:FFFF:c000:201', 429],
  ])('are counted together or apart: %s', async (_what, failing, other, status) => {
    await start();
    await fail(LIMIT, otherKey, failing);
    expect(await statusOf(wrongSecret('b'.repeat(16)), other)).toBe(status);
    expect(await statusOf(VALID, other)).toBe(200);
  });

  it('are discarded after a minute', async () => {
    await start();
    await fail(LIMIT, (index) => `bad-${index}`);
    expect(await statusOf('bad-9')).toBe(429);
    time += 60_001;
    expect(await statusOf('bad-9')).toBe(401);
  });

  it('do not count a success', async () => {
    await start();
    for (let index = 0; index < 10; index++) expect(await statusOf(VALID)).toBe(200);
    expect(await fail(LIMIT, otherKey)).toEqual([401, 401, 401]);
  });
});

it('says which authority does not respond, and after how many failures it waits', async () => {
  app = await testApp({
    register: async (scope) => void scope.get('/here', () => 'here'),
    parts: {
      authenticator: {
        name: 'away',
        authenticate: async (credential) =>
          credential.scheme === 'bearer' && credential.token === 'bad'
            ? { outcome: 'rejected', message: 'wrong' }
            : { outcome: 'unavailable', message: 'https://idp.example.com does not respond' },
      },
      limits: { maxFailuresPerMinute: 1 },
    },
  });
  const ask = async (token: string): Promise<unknown[]> => {
    const answer = await app.inject({ url: '/here', headers: { authorization: `Bearer ${token}` } });
    return [answer.statusCode, answer.json<{ message: string }>().message];
  };
  const away = 'the credential cannot be checked now: https://idp.example.com does not respond';
  expect(await ask('good')).toEqual([503, away]);
  expect((await ask('bad'))[0]).toBe(401);
  expect(await ask('bad')).toEqual([429, expect.stringMatching(/: try again in \d+ s$/)]);
});

describe('a view that cannot decide access', () => {
  it('is 503 with Retry-After for any credential, 401 without one, and nobody is asked', async () => {
    let problem: string | undefined = 'the view is old';
    app = await testApp({
      register: async (scope) => void scope.get('/here', () => 'here'),
      parts: {
        authenticator: {
          name: 'never',
          authenticate: async () => ({ outcome: 'authenticated', principal: ALICE }),
        },
        viewProblem: () => problem,
      },
    });
    for (const token of [VALID, wrongSecret(ACCESS_KEY)]) {
      const answer = await app.inject({ url: '/here', headers: { authorization: `Bearer ${token}` } });
      expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
      expect(answer.json()).toMatchObject({ message: 'access cannot be decided now: the view is old' });
    }
    const without = await app.inject({ url: '/here', headers: { authorization: '' } });
    expect([without.statusCode, without.json<{ message: string }>().message]).toEqual([
      401,
      expect.stringContaining('no credential was sent: '),
    ]);
    problem = undefined;
    expect(await statusOf(VALID)).toBe(200);
  });
});

describe('a refusal of the Kubernetes API', () => {
  it.each([
    [503, 'roles.olapwarden.io "a" is forbidden: User "system:serviceaccount:olap:gateway" cannot update resource'],
    [
      403,
      'roles.olapwarden.io "a" is forbidden: ValidatingAdmissionPolicy `in-use` denied request: the role is assigned',
    ],
  ])('is %d: %s', async (status, message) => {
    app = await testApp({
      register: async (scope) =>
        void scope.get('/here', () => {
          throw errorFromStatus(403, { code: 403, reason: 'Forbidden', message }, { request: 'PUT /' });
        }),
    });
    const answer = await app.inject('/here');
    expect(answer.statusCode).toBe(status);
    expect(answer.json<{ message: string }>().message).toContain(message);
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
  });
});
