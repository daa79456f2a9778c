import { Writable } from 'node:stream';
import { Type } from 'typebox';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { Authenticator } from '../../../src/access/authenticators/authenticator.ts';
import { roleResource } from '../../../src/access/policy/srn.ts';
import { EngineError } from '../../../src/pinot/types.ts';
import { requireAllowed } from '../../../src/api/server/context.ts';
import { ErrorBody, HttpError } from '../../../src/api/server/errors.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { StoreError } from '../../../src/store/resource-store.ts';
import { denyAll, testApp, TEST_TOKEN, type TestAppOptions } from '../../support/app.ts';

const NOW = new Date('2026-01-02T03:04:05.000Z');
let app: FastifyInstance;
afterEach(() => app?.close());

async function routes(scope: FastifyInstance): Promise<void> {
  scope.get<{ Params: { srn: string } }>(
    '/things/:srn',
    { schema: { operationId: 'getThing', response: { 200: Type.Object({ srn: Type.String() }), 404: ErrorBody } } },
    async (request) => ({ srn: request.params.srn }),
  );
  scope.post(
    '/things',
    {
      schema: {
        operationId: 'makeThing',
        body: Type.Object(
          { name: Type.String({ maxLength: 5, description: 'how it is called' }), size: Type.Optional(Type.Integer()) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ ok: Type.Boolean() }), 400: ErrorBody },
      },
    },
    async () => ({ ok: true }),
  );
  scope.get(
    '/count',
    { schema: { querystring: Type.Object({ numRows: Type.Optional(Type.Integer({ minimum: 1 })) }) } },
    async (request) => request.query,
  );
  scope.get('/open', { config: { public: true } }, async () => ({ open: true }));
  scope.get('/guarded', async (request) => {
    requireAllowed(request, 'GetRole', roleResource('r'));
    return {};
  });
  scope.get<{ Params: { what: string } }>('/fail/:what', async (request) => {
    throw FAILURES[request.params.what] ?? new Error('secret detail');
  });
}

const FAILURES: Record<string, Error> = {
  http: new HttpError(418, 'a teapot', { headers: { 'x-pot': 'tea' } }),
  conflict: new StoreError('conflict', 'role `a` was changed meanwhile'),
  away: new StoreError('unavailable', 'the Kubernetes API is away', { retryAfterMs: 2500 }),
  engine: new EngineError('timeout', 'the controller did not answer within 10 s'),
};

const start = (options: Partial<TestAppOptions> = {}): Promise<FastifyInstance> =>
  testApp({
    register: routes,
    ...options,
    parts: { clock: { ...systemClock, now: () => NOW.getTime() }, ...options.parts },
  });

describe('the response to an error', () => {
  it.each([
    [{ url: '/nowhere?secret=1' }, 404, 'there is no `GET /nowhere`', '/nowhere'],
    [
      { method: 'POST', url: '/things', payload: {} },
      400,
      '`name` in the body: is required: how it is called',
      '/things',
    ],
    [
      { method: 'POST', url: '/things', payload: { name: 'abcdefg' } },
      400,
      '`name` in the body: is too long: the maximum is 5 characters, it has 7',
      '/things',
    ],
    [
      { method: 'POST', url: '/things', payload: { name: 'a', sise: 1 } },
      400,
      '`sise` in the body: unknown field; did you mean `size`?',
      '/things',
    ],
    [
      { method: 'POST', url: '/things', payload: { name: 'a', size: '1' } },
      400,
      '`size` in the body: `1` is a string, but must be an integer',
      '/things',
    ],
    [{ url: '/count?numRows=0' }, 400, '`numRows` in the query string: `0` is too small: the minimum is 1', '/count'],
    [
      { method: 'POST', url: '/things', payload: 'x', headers: { 'content-type': 'text/csv' } },
      415,
      'the content type `text/csv` is not supported here: send `application/json`',
      '/things',
    ],
    [
      {
        method: 'POST',
        url: '/things',
        payload: `"${'x'.repeat(200)}"`,
        headers: { 'content-type': 'application/json' },
      },
      413,
      'the body is too large: at most 100 bytes are allowed',
      '/things',
    ],
    [{ method: 'PATCH', url: '/things', payload: {} }, 405, '`PATCH` is not allowed here: use POST', '/things'],
    [{ url: '/fail/http' }, 418, 'a teapot', '/fail/http'],
    [{ url: '/fail/conflict' }, 409, 'role `a` was changed meanwhile', '/fail/conflict'],
    [{ url: '/fail/engine' }, 504, 'the controller did not answer within 10 s', '/fail/engine'],
  ])('%o is %i with the Error body', async (request, status, message, path) => {
    app = await start({ parts: { limits: { bodyBytes: 100 } } });
    const answer = await app.inject(request as object);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toEqual({ timestamp: NOW.toISOString(), status, error: expect.any(String), message, path });
  });

  it.each([
    ['a key twice', '{"name":"a","n\\u0061me":"b"}', {}, 'duplicate key `name`'],
    ['nested too deeply', `${'['.repeat(5000)}${']'.repeat(5000)}`, {}, 'nested too deeply'],
    ['a byte order mark', '\ufeff{"name":"a"}', {}, 'unexpected U+FEFF'],
    [
      'another charset',
      '{"name":"a"}',
      { 'content-type': 'application/json; charset=shift_jis' },
      '`charset=shift_jis`',
    ],
    [
      'two charsets',
      '{"name":"a"}',
      { 'content-type': 'application/json; charset=utf-8; charset=gbk' },
      '`charset=gbk`',
    ],
    ['no body', '', {}, 'the body is empty: send a JSON document, or no `Content-Type`'],
  ])('rejects a JSON body with %s with 400', async (_name, payload, headers, message) => {
    app = await start();
    const type = { 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/things', payload, headers: { ...type, ...headers } });
    expect([answer.statusCode, answer.json().message]).toEqual([400, expect.stringContaining(message)]);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'application/json;charset="UTF-8";'])(
    'accepts a JSON body of type `%s`',
    async (type) => {
      app = await start();
      const headers = { 'content-type': type };
      const answer = await app.inject({ method: 'POST', url: '/things', payload: '{"name":"a"}', headers });
      expect([answer.statusCode, answer.json()]).toEqual([200, { ok: true }]);
    },
  );

  it('returns 405 with the allowed methods of a URL', async () => {
    app = await start();
    for (const method of ['DELETE', 'OPTIONS', 'TRACE', 'QUERY']) {
      const answer = await app.inject({ method: method as 'DELETE', url: '/count' });
      expect([method, answer.statusCode, answer.headers.allow]).toEqual([method, 405, 'GET, HEAD']);
    }
  });

  it('sends the Retry-After of the store', async () => {
    app = await start();
    const answer = await app.inject({ url: '/fail/away' });
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '3']);
  });

  it('logs the cause of an internal error and does not send it to the caller', async () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    app = await start({ parts: { logger: createLogger('info', sink) } });
    const answer = await app.inject({ url: '/fail/other?token=abc', headers: { 'x-request-id': 'r-1' } });
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('secret detail');
    expect(answer.headers['x-request-id']).toBe('r-1');
    const log = lines.join('');
    expect(log).toContain('secret detail');
    expect(log).toContain('r-1');
    expect(log).not.toContain(TEST_TOKEN);
    expect(log).not.toContain('token=abc');
  });
});

describe('a path', () => {
  it('decodes the `#` of an SRN', async () => {
    app = await start();
    const name = 'srn2:cluster#'.concat('a'.repeat(500), ':role#b');
    const answer = await app.inject({ url: `/things/${encodeURIComponent(name)}` });
    expect(answer.json()).toEqual({ srn: name });
    expect((await app.inject({ url: '/things/srn2:role%23a' })).json()).toEqual({ srn: 'srn2:role#a' });
  });
});

describe('the query string of the gateway’s own routes', () => {
  it('may contain only known parameters, each once', async () => {
    const register = async (scope: FastifyInstance): Promise<void> => {
      const querystring = Type.Object({ numRows: Type.Optional(Type.Integer()) });
      scope.get('/known', { schema: { operationId: 'known', querystring } }, async (request) => request.query);
      scope.get('/none', { schema: { operationId: 'none' } }, async () => ({}));
    };
    app = await testApp({ register });
    expect((await app.inject('/known?numRows=1')).json()).toEqual({ numRows: 1 });
    const unknown = await app.inject('/known?numRow=1');
    expect([unknown.statusCode, unknown.json().message]).toEqual([400, expect.stringContaining('`numRows`')]);
    expect((await app.inject('/known?numRows=1&numRows=2')).statusCode).toBe(400);
    expect((await app.inject('/none?x=1')).statusCode).toBe(400);
  });
});

describe('authentication', () => {
  it('requires a credential, except on public routes and unknown paths', async () => {
    app = await start();
    const none = { authorization: '' };
    const answer = await app.inject({ url: '/count', headers: none });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toEqual([
      'Bearer realm="olap-warden"',
      'Basic realm="olap-warden", charset="UTF-8"',
    ]);
    expect((await app.inject({ url: '/open', headers: none })).statusCode).toBe(200);
    expect((await app.inject({ url: '/nowhere', headers: none })).statusCode).toBe(404);
  });

  it('does not open the browser’s password dialog over the dashboard', async () => {
    app = await start();
    const answer = await app.inject({ url: '/count', headers: { authorization: '', 'x-olap-warden-ui': '1' } });
    expect(answer.headers['www-authenticate']).toEqual(['Bearer realm="olap-warden"']);
  });

  it('accepts the session of the dashboard as a bearer token', async () => {
    app = await start();
    const headers = {
      authorization: '',
      cookie: `olap-warden-session=${await app.sessions.seal(TEST_TOKEN)}`,
      'x-olap-warden-ui': '1',
    };
    expect((await app.inject({ url: '/count', headers })).statusCode).toBe(200);
    const forged = { ...headers, 'sec-fetch-site': 'cross-site' };
    expect((await app.inject({ url: '/count', headers: forged })).statusCode).toBe(401);
  });

  it('returns 503 when the authority is unavailable', async () => {
    const authenticator: Authenticator = {
      name: 'away',
      authenticate: async () => ({ outcome: 'unavailable', message: 'the issuer is away' }),
    };
    app = await start({ parts: { authenticator } });
    const answer = await app.inject({ url: '/count' });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
  });

  it('limits failed logins per address, but not a valid credential from the same address', async () => {
    let time = NOW.getTime();
    app = await start({
      parts: {
        clock: { ...systemClock, now: () => time },
        limits: { maxFailuresPerMinute: 3 },
      },
    });
    const bad = { url: '/count', headers: { authorization: 'Bearer wrong' } };
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await app.inject(bad)).statusCode);
    expect(statuses).toEqual([401, 401, 401]);
    const refused = await app.inject(bad);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '60']);
    expect((await app.inject({ url: '/count', remoteAddress: '10.0.0.9' })).statusCode).toBe(200);
    time += 60_000;
    await app.inject(bad);
    expect((await app.inject({ url: '/count' })).statusCode).toBe(200);
    for (let i = 0; i < 3; i++) await app.inject(bad);
    expect((await app.inject(bad)).statusCode).toBe(429);
    expect((await app.inject({ url: '/count' })).statusCode).toBe(200);
  });
});

describe('authorization', () => {
  it('denies with the reason, and writes an audit record', async () => {
    const records: unknown[] = [];
    app = await start({
      authorizer: denyAll,
      parts: {
        audit: {
          denied: (_request, action, _resource, decision) => records.push([action, decision.reason]),
          written: () => records.push('written'),
          requireWritable: () => undefined,
          login: () => undefined,
        },
      },
    });
    const answer = await app.inject({ url: '/guarded' });
    expect(answer.statusCode).toBe(403);
    expect(answer.json().message).toBe(
      '`srn2:user#alice@example.com` may not `GetRole` on `srn2:role#r`: no statement of its roles allows it',
    );
    expect(records).toEqual([['GetRole', 'implicitDeny']]);
  });
});

describe('security headers', () => {
  it.each([
    ['/things/one', undefined],
    ['/nowhere', undefined],
    ['/things/one', ''],
  ])('are in the response to %s with the credential %s', async (url, authorization) => {
    app = await start();
    const { headers } = await app.inject({ url, headers: authorization === undefined ? {} : { authorization } });
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(headers).not.toHaveProperty('strict-transport-security');
    expect(headers['x-request-id']).toBeTypeOf('string');
  });
});

describe('the documents of the gateway', () => {
  it('publishes an OpenAPI 3.1 document with one Error schema, and a page without a script', async () => {
    app = await start();
    const answer = await app.inject({ url: '/openapi.json', headers: { authorization: '' } });
    const document = answer.json();
    expect(document.openapi).toBe('3.1.0');
    expect(document.paths['/things/{srn}'].get.responses['404'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Error',
    });
    expect(document.components.schemas.Error.required).toContain('message');
    expect(document.paths['/openapi.json'].get.security).toEqual([]);
    expect(document.paths['/things'].post.responses).toHaveProperty('415');
    const page = await app.inject({ url: '/docs', headers: { authorization: '' } });
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.body).toContain('POST /things');
    expect(page.body).not.toMatch(/<script|https?:\/\//);
    expect((await app.inject({ url: '/docs/style.css' })).statusCode).toBe(200);
  });
});

describe('while the event loop is blocked', () => {
  it.each([
    [3_000, 503, '5'],
    [600_000, 200, undefined],
  ])('requests that wait longer than %i ms for their turn get %i', async (maxTurnWaitMs, status, retryAfter) => {
    let elapsed = 0;
    // Each look at the clock takes four seconds.
    const clock = { ...systemClock, monotonic: () => (elapsed += 4_000) };
    app = await start({ parts: { clock, limits: { maxTurnWaitMs } } });
    // The first one takes the whole turn.
    const [first, answer] = await Promise.all([app.inject({ url: '/open' }), app.inject({ url: '/open' })]);
    expect(first.statusCode).toBe(200);
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([status, retryAfter]);
    if (status === 503)
      expect(answer.json()).toMatchObject({ message: 'the gateway is overloaded: try again in a few seconds' });
  });
});
