import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countDecisions } from '../../../../src/api/server/metrics.ts';
import type { CallerDirectory } from '../../../../src/api/ui/caller-view.ts';
import { ui } from '../../../../src/api/ui/index.ts';
import { authorizerBy, TEST_TOKEN, testApp } from '../../../support/app.ts';

let app: FastifyInstance;
let folder: string;
const label = { environment: 'test', cluster: 'pinot', colour: 'red', contact: undefined };
const directory: CallerDirectory = {
  grantsOf: () => ({ namePatterns: (action) => (action === 'CreateRole' ? ['team-*'] : []) }),
  nameOf: () => 'Ada',
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-ui-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>page</title>');
  await writeFile(join(folder, 'assets', 'main-ABC.js'), 'export {};');
  await writeFile(join(folder, 'assets', 'main-ABC.js.br'), 'compressed by br');
  await writeFile(join(folder, 'assets', 'main-ABC.js.gz'), 'compressed by gzip');
  app = await testApp({
    register: async (scope) => {
      await ui(scope, { folder, oidc: undefined, label, directory });
      scope.get('/who', async (request) => ({ srn: request.principal.srn }));
    },
  });
});
afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

const NO_CREDENTIAL = { authorization: '' };
const cookie = async (): Promise<string> => `olap-warden-session=${await app.sessions.seal(TEST_TOKEN)}`;

describe('the dashboard', () => {
  it.each(['/ui', '/ui/', '/ui/health?status=FAIL', '/ui/access'])(
    'serves its page at %s without a credential, with a strict security policy',
    async (url) => {
      const answer = await app.inject({ url, headers: NO_CREDENTIAL });
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toContain('<title>page</title>');
      expect(answer.headers['content-security-policy']).toContain("script-src 'self'");
      expect(answer.headers['content-security-policy']).not.toContain('unsafe');
    },
  );

  it('redirects from / to the dashboard', async () => {
    const answer = await app.inject({ url: '/', headers: NO_CREDENTIAL });
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/ui/']);
  });

  it('serves its assets without a credential, with unlimited caching', async () => {
    const answer = await app.inject({ url: '/ui/assets/main-ABC.js', headers: NO_CREDENTIAL });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toContain('javascript');
    expect(answer.headers['cache-control']).toContain('immutable');
    expect((await app.inject({ url: '/ui/assets/absent.js', headers: NO_CREDENTIAL })).statusCode).toBe(404);
    expect(
      (await app.inject({ url: '/ui/assets/..%2findex.html', headers: NO_CREDENTIAL })).statusCode,
    ).toBeGreaterThanOrEqual(400);
  });

  it.each(['br', 'gzip'])('serves the %s file that the build made of an asset', async (encoding) => {
    const headers = { ...NO_CREDENTIAL, 'accept-encoding': encoding };
    const answer = await app.inject({ url: '/ui/assets/main-ABC.js', headers });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers.vary).toContain('accept-encoding');
    expect(answer.body).toBe(`compressed by ${encoding}`);
    const known = { ...headers, 'if-none-match': String(answer.headers.etag) };
    const again = await app.inject({ url: '/ui/assets/main-ABC.js', headers: known });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    // Another variant is other bytes.
    const plain = await app.inject({ url: '/ui/assets/main-ABC.js', headers: { ...known, 'accept-encoding': '' } });
    expect([plain.statusCode, plain.body]).toEqual([200, 'export {};']);
  });

  it('opens a session with a cookie that scripts cannot read, and ends it', async () => {
    const opened = await app.inject({ method: 'POST', url: '/ui/session' });
    expect(opened.statusCode).toBe(204);
    expect(opened.headers['set-cookie']).toMatch(
      /^olap-warden-session=v1:[\w-]{8}:[\w-]+; Path=\/; HttpOnly; SameSite=Strict$/u,
    );
    expect(opened.headers['set-cookie']).not.toContain(TEST_TOKEN);
    const ended = await app.inject({ method: 'DELETE', url: '/ui/session', headers: NO_CREDENTIAL });
    expect(ended.headers['set-cookie']).toContain('Max-Age=0');
  });

  it('accepts no copy of the cookie after a sign-out, and other sessions of the same token', async () => {
    const [ended, other] = [await cookie(), await cookie()];
    const headers = (one: string) => ({ authorization: '', cookie: one, 'x-olap-warden-ui': '1' });
    const who = async (one: string) => (await app.inject({ url: '/who', headers: headers(one) })).statusCode;
    expect([await who(ended), await who(other)]).toEqual([200, 200]);
    await app.inject({ method: 'DELETE', url: '/ui/session', headers: headers(ended) });
    expect([await who(ended), await who(other)]).toEqual([401, 200]);
  });

  it('opens no session for an invalid token', async () => {
    const refused = await app.inject({
      method: 'POST',
      url: '/ui/session',
      headers: { authorization: 'Bearer nonsense' },
    });
    expect(refused.statusCode).toBe(401);
    expect(refused.headers['set-cookie']).toBeUndefined();
  });

  it('accepts the cookie together with the header that only its own pages send', async () => {
    const answer = await app.inject({
      url: '/who',
      headers: { authorization: '', cookie: `a=b; ${await cookie()}`, 'x-olap-warden-ui': '1' },
    });
    expect(answer.json()).toEqual({ srn: 'srn2:user#alice@example.com' });
  });

  it.each([
    ['without the header', {}],
    ['from another site', { 'x-olap-warden-ui': '1', 'sec-fetch-site': 'cross-site' }],
    ['of a sibling site', { 'x-olap-warden-ui': '1', 'sec-fetch-site': 'same-site' }],
  ])('rejects the cookie %s', async (_case, headers) => {
    const answer = await app.inject({
      url: '/who',
      headers: { authorization: '', cookie: await cookie(), ...headers },
    });
    expect(answer.statusCode).toBe(401);
  });

  it.each(['%E0%A4%A', TEST_TOKEN, ''])('rejects the cookie %j, and asks to sign in again', async (value) => {
    const headers = { authorization: '', cookie: `olap-warden-session=${value}`, 'x-olap-warden-ui': '1' };
    const answer = await app.inject({ url: '/who', headers });
    expect(answer.statusCode).toBe(401);
    expect(answer.json<{ message: string }>().message).toContain('sign in again');
  });

  it('does not accept the session as a bearer token or a password', async () => {
    const session = await app.sessions.seal(TEST_TOKEN);
    const basic = Buffer.from(`user:${session}`).toString('base64');
    for (const authorization of [`Bearer ${session}`, `Basic ${basic}`])
      expect((await app.inject({ url: '/who', headers: { authorization } })).statusCode).toBe(401);
  });

  it('does not count the cookies of an earlier key as failed logins', async () => {
    const headers = { authorization: '', cookie: 'olap-warden-session=v1:earlier0:AAAA', 'x-olap-warden-ui': '1' };
    for (let call = 0; call < 30; call++) expect((await app.inject({ url: '/who', headers })).statusCode).toBe(401);
  });

  it('returns the permitted actions on the cluster, without a denial in the audit log or a counted decision', async () => {
    const denied: string[] = [];
    const registry = new Registry();
    const counted = countDecisions(
      registry,
      authorizerBy((_principal, action) => action === 'GetHealth'),
    );
    const audit = {
      denied: (_request: unknown, action: string) => denied.push(action),
      written: () => undefined,
      requireWritable: () => undefined,
      login: () => undefined,
    };
    const narrow = await testApp({
      authorizer: counted,
      register: (scope) => ui(scope, { folder, oidc: undefined, label, directory }),
      parts: { audit },
    });
    const answer = await narrow.inject('/ui/session');
    await narrow.close();
    const shown = { environment: 'test', cluster: 'pinot', colour: 'red', contact: null };
    const caller = { caller: 'Ada', access: { CreateRole: ['team-*'] } };
    expect(answer.json()).toEqual({ ...shown, ...caller, clusterActions: ['GetHealth'] });
    expect(denied).toEqual([]);
    expect(await registry.metrics()).not.toMatch(/decisions_total\{.*\} [1-9]/);
    expect((await app.inject({ url: '/ui/session', headers: NO_CREDENTIAL })).statusCode).toBe(401);
  });

  it('reports that no identity provider is configured', async () => {
    expect((await app.inject({ url: '/ui/session/methods', headers: NO_CREDENTIAL })).json()).toEqual({ oidc: null });
    const body = { code: 'c', codeVerifier: 'v'.repeat(43), nonce: 'n', redirectUri: 'http://localhost/ui/signed-in' };
    const answer = await app.inject({ method: 'POST', url: '/ui/session/oidc', headers: NO_CREDENTIAL, payload: body });
    expect(answer.statusCode).toBe(404);
  });
});
