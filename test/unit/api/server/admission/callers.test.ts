import { systemClock } from '../../../../../src/platform/clock.ts';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { HttpError } from '../../../../../src/api/server/errors.ts';
import type { Principal } from '../../../../../src/access/principal.ts';
import { Limits, parseLimits, type LimitsOptions } from '../../../../../src/api/server/admission/callers.ts';
import { listen } from '../../../../../src/api/server/server.ts';
import { ALICE, TEST_HEADERS, TEST_TOKEN, testApp } from '../../../../support/app.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';

let now = 0;
const limits = (options: Partial<LimitsOptions> = {}) =>
  new Limits({ rolesOf: () => [], clock: { ...systemClock, monotonic: () => now }, ...options });

/** Counts a request that runs no query. */
const countRequest = (counted: Limits, principal = ALICE): void =>
  counted.count({ principal }, undefined, () => undefined);

/** Counts a query. @returns ends it */
function beginQuery(counted: Limits): () => void {
  const ends: (() => void)[] = [];
  counted.count({ principal: ALICE }, 'pass', (call) => void ends.push(call));
  return () => {
    for (const end of ends) end();
  };
}

const retryAfter = (call: () => unknown): unknown => {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(HttpError);
    expect((error as HttpError).statusCode).toBe(429);
    return (error as HttpError).headers['retry-after'];
  }
  return undefined;
};

describe('the rate limit', () => {
  it('allows a burst of ten seconds, then the rate', () => {
    const counted = limits({ defaults: { requestsPerSecond: 2 } });
    for (let request = 0; request < 20; request++) countRequest(counted);
    expect(retryAfter(() => countRequest(counted))).toBe('1');
    now += 1000;
    countRequest(counted);
    countRequest(counted);
    expect(retryAfter(() => countRequest(counted))).toBe('1');
  });

  it('counts each caller separately, and none without a limit', () => {
    const counted = limits({ defaults: { requestsPerSecond: 0.1 } });
    countRequest(counted);
    expect(retryAfter(() => countRequest(counted))).toBe('10');
    countRequest(counted, { ...ALICE, srn: 'srn2:user#bob' });
    const free = limits({ defaults: { requestsPerSecond: 0 } });
    for (let request = 0; request < 100; request++) countRequest(free);
  });
});

describe('concurrent queries', () => {
  it('are counted until they end, once each', () => {
    const counted = limits({ defaults: { concurrentQueries: 2 } });
    const [first] = [beginQuery(counted), beginQuery(counted)];
    expect(retryAfter(() => beginQuery(counted))).toBe('1');
    first?.();
    first?.();
    const third = beginQuery(counted);
    expect(retryAfter(() => beginQuery(counted))).toBe('1');
    third();
  });
});

describe('a query whose client disconnects during authentication', () => {
  it('is no longer counted', async () => {
    const checked = Promise.withResolvers<void>();
    let asked = 0;
    const app = await testApp({
      register: async (scope) => void scope.all('/*', { config: { kind: 'other-query' } }, async () => 'answer'),
      parts: {
        callerLimits: limits({ defaults: { concurrentQueries: 1 } }),
        authenticator: {
          name: 'slow',
          authenticate: async () => {
            asked++;
            await checked.promise;
            return { outcome: 'authenticated', principal: ALICE };
          },
        },
      },
    });
    const port = await listen(app, '127.0.0.1', 0);
    const left = Promise.withResolvers<void>();
    app.server.prependListener('connection', (accepted: Socket) => accepted.once('close', () => left.resolve()));
    const socket = connect(port, '127.0.0.1');
    socket.write(`POST /timeseries/api HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TEST_TOKEN}\r\n\r\n`);
    await vi.waitFor(() => expect(asked).toBe(1), { timeout: WAIT_LIMIT_MS });
    socket.destroy();
    await left.promise;
    checked.resolve();
    expect((await app.inject({ method: 'POST', url: '/timeseries/api' })).statusCode).toBe(200);
    await app.close();
  });
});

describe('concurrent calls', () => {
  const RBAC = '/api/v1/rbac-manager/roles';

  it('to RBAC and health have the limit of a caller together, those to the controller have theirs', async () => {
    const running: { url: string; end: (answer: string) => void }[] = [];
    const app = await testApp({
      register: async (scope) => {
        const wait = ({ url }: { readonly url: string }) =>
          new Promise((resolve) => void running.push({ url, end: resolve }));
        for (const path of [RBAC, '/clusterHealth']) scope.get(path, { config: { kind: 'own' } }, wait);
        scope.get('/*', { config: { kind: 'controller' } }, wait);
      },
      parts: { callerLimits: limits({ defaults: { concurrentCalls: 2 } }) },
    });
    const call = (url: string) => app.inject({ method: 'GET', url, headers: TEST_HEADERS });
    const calls = [RBAC, '/clusterHealth', RBAC, '/tables', '/schemas', '/tables'].map(call);
    const expected = [RBAC, '/clusterHealth', '/tables', '/schemas'];
    await vi.waitFor(() => expect(running.map(({ url }) => url)).toEqual(expected), { timeout: WAIT_LIMIT_MS });
    running[0]?.end('done');
    await vi.waitFor(() => expect(running.at(-1)?.url).toBe(RBAC), { timeout: WAIT_LIMIT_MS });
    running[3]?.end('done');
    await vi.waitFor(() => expect(running.at(-1)?.url).toBe('/tables'), { timeout: WAIT_LIMIT_MS });
    for (const { end } of running) end('done');
    expect((await Promise.all(calls)).map(({ statusCode }) => statusCode)).toEqual(calls.map(() => 200));
    await app.close();
  });
});

describe('the limits of a caller', () => {
  it('are its own, otherwise the highest of its roles, otherwise the default', () => {
    const counted = limits({
      defaults: { concurrentQueries: 1, queryTimeoutMs: 5 },
      byRole: {
        a: { concurrentQueries: 3 },
        b: { concurrentQueries: 2, requestsPerSecond: 0 },
        c: { concurrentQueries: 99 },
      },
      byCaller: { [ALICE.id]: { queryTimeoutMs: 7 } },
      rolesOf: () => ['a', 'b'],
    });
    expect(counted.of(ALICE)).toMatchObject({ concurrentQueries: 3, requestsPerSecond: 0, queryTimeoutMs: 7 });
    expect(counted.of({ ...ALICE, id: 'bob' })).toMatchObject({
      concurrentQueries: 3,
      requestsPerSecond: 0,
      queryTimeoutMs: 5,
    });
  });
});

describe('limits of roles in a setting', () => {
  it('are parsed by role and limit', () => {
    const entries = [
      'a:max-concurrent-queries=3',
      'a:query-timeout-ms=500',
      'team:b:max-requests-per-second=0',
      'c:max-rows-per-query=7',
    ];
    expect(parseLimits(entries, 'role')).toEqual({
      a: { concurrentQueries: 3, queryTimeoutMs: 500 },
      'team:b': { requestsPerSecond: 0 },
      c: { rowsPerQuery: 7 },
    });
  });

  it.each([
    'a',
    'a:max-concurrent-queries',
    'a:max-concurrent-queries=-1',
    'a:toString=1',
    ':max-concurrent-queries=1',
  ])('are rejected as %s', (entry) => {
    expect(() => parseLimits([entry], 'role')).toThrow(`\`${entry}\` must be`);
  });

  it.each(['srn2:token#a', 'srn2:service-token', 'srn2:role#a'])('are rejected for a caller such as %s', (owner) => {
    expect(() => parseLimits([`${owner}:max-concurrent-queries=1`], 'caller')).toThrow('srn2:service-token#<name>');
  });

  it('of an SRN apply to one kind of caller, also where another one has the same name, and before those of the name', () => {
    const counted = limits({
      byCaller: parseLimits(
        [
          'srn2:service-token#etl:max-rows-per-query=0',
          'srn2:service-token#etl:max-concurrent-queries=500',
          'etl:max-rows-per-query=7',
        ],
        'caller',
      ),
    });
    const of = (kind: 'user' | 'service-token') =>
      counted.of({ ...ALICE, kind, id: 'etl', srn: `srn2:${kind}#etl` } satisfies Principal);
    expect(of('service-token')).toMatchObject({ concurrentQueries: 500, rowsPerQuery: 0 });
    expect(of('user')).toMatchObject({ concurrentQueries: 64, rowsPerQuery: 7 });
  });

  it('are rejected if one is repeated', () => {
    const entries = ['a:max-concurrent-queries=3', 'a:max-concurrent-queries=4'];
    expect(() => parseLimits(entries, 'role')).toThrow('given twice');
  });
});
