import { describe, expect, it } from 'vitest';
import {
  KubernetesAuthenticator,
  type KubernetesAuthenticatorOptions,
  type TokenReviewStatus,
} from '../../../../src/access/authenticators/kubernetes.ts';
import type { AuthenticationResult } from '../../../../src/access/authenticators/authenticator.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

function setup(answer: TokenReviewStatus | Error, options: Partial<KubernetesAuthenticatorOptions> = {}) {
  const state = { answer, time: START, reviews: [] as string[] };
  const authenticator = new KubernetesAuthenticator({
    audiences: ['olap-warden'],
    clock: { now: () => state.time, monotonic: () => state.time },
    review: async (token) => {
      state.reviews.push(token);
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    },
    ...options,
  });
  const ask = (token: string): Promise<AuthenticationResult> => authenticator.authenticate({ scheme: 'bearer', token });
  return { state, authenticator, ask };
}

const ALICE: TokenReviewStatus = {
  authenticated: true,
  audiences: ['olap-warden'],
  user: { username: 'alice@Example.com', groups: ['devs', 'system:authenticated'] },
};

const jwt = (claims: object): string =>
  ['{}', JSON.stringify(claims), 'x'].map((part) => Buffer.from(part).toString('base64url')).join('.');

describe('a token that the Kubernetes API reviews', () => {
  it('creates a principal from name, groups and the domain of an e-mail address', async () => {
    const { ask } = setup(ALICE);
    expect(await ask('t')).toEqual({
      outcome: 'authenticated',
      principal: {
        kind: 'user',
        srn: 'srn2:user#alice@Example.com',
        id: 'alice@Example.com',
        groups: ['devs', 'system:authenticated'],
        domain: 'example.com',
        authenticator: 'kubernetes',
      },
    });
  });

  it('gives a service account no domain', async () => {
    const { ask } = setup({ ...ALICE, user: { username: 'system:serviceaccount:ns:job' } });
    expect(await ask('t')).toMatchObject({ principal: { domain: undefined, groups: [] } });
  });

  it.each([
    ['no name', { ...ALICE, user: {} }],
    ['no user', { audiences: ['olap-warden'], authenticated: true }],
    ['an empty name', { ...ALICE, user: { username: '' } }],
    ['no authentication', { ...ALICE, authenticated: false }],
    ['an error only', { error: 'x' }],
  ])('rejects a status with %s', async (_what, status) => {
    expect(await setup(status).ask('t')).toEqual({
      outcome: 'rejected',
      message: 'the Kubernetes API rejected the token: it is unknown or has expired',
    });
  });

  it.each(['devs', ['devs', {}], { devs: true }])(
    'rejects a status with groups that cannot be read: %j',
    async (groups) => {
      const { ask } = setup({ ...ALICE, user: { username: 'alice', groups: groups as never } });
      expect(await ask('t')).toMatchObject({
        outcome: 'rejected',
        message: expect.stringContaining('no list of names'),
      });
    },
  );

  it('accepts any audience where none is required', async () => {
    const { authenticated, user } = ALICE;
    const { ask } = setup({ authenticated: authenticated!, user: user! }, { audiences: [] });
    expect(await ask('t')).toMatchObject({ outcome: 'authenticated' });
  });

  it('caches a review until the token expires', async () => {
    const { state, ask } = setup(ALICE);
    const token = jwt({ exp: START / 1000 + 30 });
    await ask(token);
    state.time += 29_999;
    await ask(token);
    expect(state.reviews).toHaveLength(1);
    state.time += 1;
    await ask(token);
    expect(state.reviews).toHaveLength(2);
  });

  it('caches a review for a minute', async () => {
    const { state, ask } = setup(ALICE);
    await ask('t');
    state.time += 59_000;
    await ask('t');
    expect(state.reviews).toHaveLength(1);
    state.time += 1000;
    state.answer = { authenticated: false };
    expect((await ask('t')).outcome).toBe('rejected');
    expect(state.reviews).toHaveLength(2);
  });

  it('rejects a token after its expiry, despite the cache', async () => {
    const { state, ask } = setup(ALICE);
    const token = jwt({ exp: START / 1000 + 10 });
    await ask(token);
    state.time += 10_000;
    state.answer = { authenticated: false };
    expect((await ask(token)).outcome).toBe('rejected');
  });

  it('caches a rejection for some seconds only', async () => {
    const { state, ask } = setup({ authenticated: false });
    expect((await ask('t')).outcome).toBe('rejected');
    await ask('t');
    expect(state.reviews).toHaveLength(1);
    state.time += 5000;
    state.answer = ALICE;
    expect((await ask('t')).outcome).toBe('authenticated');
  });

  it('sends one review for concurrent requests with the same token', async () => {
    const { state, ask } = setup(ALICE);
    const results = await Promise.all(Array.from({ length: 50 }, () => ask('t')));
    expect(results.every(({ outcome }) => outcome === 'authenticated')).toBe(true);
    expect(state.reviews).toHaveLength(1);
  });

  it('limits the number of concurrent reviews', async () => {
    const { promise, resolve } = Promise.withResolvers<TokenReviewStatus>();
    const { ask } = setup(ALICE, { review: () => promise });
    const pending = Array.from({ length: 32 }, (_, index) => ask(`t${index}`));
    expect((await ask('one-more')).outcome).toBe('unavailable');
    resolve(ALICE);
    expect((await Promise.all(pending)).every(({ outcome }) => outcome === 'authenticated')).toBe(true);
  });

  it('returns `unavailable` and caches nothing while the API is unavailable', async () => {
    const { state, ask } = setup(new Error('connect ECONNREFUSED'));
    expect((await ask('t')).outcome).toBe('unavailable');
    state.answer = ALICE;
    expect((await ask('t')).outcome).toBe('authenticated');
  });

  it.each([{ audiences: ['https://kubernetes.default.svc'] }, { audiences: undefined }])(
    'refuses a token for %o',
    async ({ audiences }) => {
      const { audiences: _, ...rest } = ALICE;
      const { ask } = setup(audiences ? { ...rest, audiences } : rest);
      expect(await ask('t')).toEqual({
        outcome: 'rejected',
        message: 'the token is for another audience: it must have `olap-warden`',
      });
    },
  );

  it('leaves Basic credentials and other texts to other authenticators', async () => {
    const { authenticator, ask, state } = setup(ALICE);
    expect(await authenticator.authenticate({ scheme: 'basic', username: 'a', password: 'b' })).toEqual({
      outcome: 'not-mine',
    });
    expect(await ask('no token')).toEqual({ outcome: 'not-mine' });
    expect(state.reviews).toEqual([]);
  });
});
