import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standalone } from '../../src/app/standalone.ts';
import { startStandalone, startTestService, type Standalone, type TestService } from '../support/service.ts';
import { seeded } from '../support/seed.ts';
import { until } from '../support/until.ts';

// Sessions of the dashboard: two gateways with the same session keys, as behind one address, and what a copy of the cookie is worth.

let folder: string;
let one: Standalone;
let other: TestService;
let session: string;
const random = seeded();
const token = random.bytes(32).toString('base64url');

/** The page itself is not needed, so the dashboard need not have been built. */
const common = () => ({ 'ui-folder': join(folder, 'ui'), 'token-file': join(folder, 'tokens.jsonl') });
const shared = () => ({ ...common(), 'ui-session-key-file': join(folder, 'keys') });
const writeTokens = (...tokens: string[]): Promise<void> => {
  const lines = tokens.map((text) => ({ sha256: createHash('sha256').update(text).digest('hex'), user: 'ann' }));
  return writeFile(join(folder, 'tokens.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'));
};

async function signIn(url: string, credential: string): Promise<string> {
  const opened = await fetch(`${url}/ui/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}` },
  });
  expect(opened.status).toBe(204);
  return /olap-warden-session=([^;]+)/u.exec(opened.headers.get('set-cookie') ?? '')?.[1] ?? '';
}
const whoami = async (url: string, headers: Record<string, string>): Promise<number> =>
  (await fetch(`${url}/api/v1/rbac-manager/whoami`, { headers })).status;
const withCookie = (value: string): Record<string, string> => ({
  cookie: `olap-warden-session=${value}`,
  'x-olap-warden-ui': '1',
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-sessions-'));
  await writeFile(join(folder, 'keys'), `${random.bytes(32).toString('base64url')}\n`);
  await mkdir(join(folder, 'ui', 'assets'), { recursive: true });
  await writeFile(join(folder, 'ui', 'index.html'), '<!doctype html><title>page</title>');
  await writeTokens(token);
  one = await startStandalone(shared());
  other = await startTestService(standalone, {
    ...shared(),
    'data-dir': join(folder, 'other'),
    controllers: 'http://127.0.0.1:9',
    'trust-proxy': '127.0.0.1',
  });
  session = await signIn(one.url, token);
});
afterAll(async () => {
  await one?.stop();
  await other?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a session', () => {
  it('is accepted by each gateway with the same keys', async () => {
    expect(await whoami(one.url, withCookie(session))).toBe(200);
    expect(await whoami(other.url, withCookie(session))).toBe(200);
  });

  it('does not reveal the token, and is no bearer token or password', async () => {
    const bytes = Buffer.from(session.split(':')[2] ?? '', 'base64url');
    for (const text of [session, bytes.toString('latin1')]) expect(text).not.toContain(token);
    const basic = Buffer.from(`ann:${session}`).toString('base64');
    for (const authorization of [`Bearer ${session}`, `Basic ${basic}`])
      expect(await whoami(one.url, { authorization })).toBe(401);
  });

  it('is accepted only with the header of the own pages, and not from another site', async () => {
    expect(await whoami(one.url, { cookie: `olap-warden-session=${session}` })).toBe(401);
    expect(await whoami(one.url, { ...withCookie(session), 'sec-fetch-site': 'cross-site' })).toBe(401);
  });

  // Of the control plane and of the data plane, which read the protocol each on its own.
  it.each(['/api/v1/rbac-manager/whoami', '/query/sql'])(
    'over HTTPS has a cookie that only its own host can set, at %s',
    async (path) => {
      const status = async (name: string, forwarded: string): Promise<number> => {
        const headers = {
          cookie: `${name}olap-warden-session=${session}`,
          'x-olap-warden-ui': '1',
          'x-forwarded-proto': forwarded,
        };
        return (await fetch(`${other.url}${path}`, { headers })).status;
      };
      // From a proxy closer to the client comes what stands before the comma.
      for (const [name, forwarded] of [
        ['', 'https'],
        ['', 'http, https'],
        ['__Host-', ''],
        ['__Host-', 'HTTPS'],
        ['__Host-', 'http'],
        ['__Host-', 'https, http'],
      ] as const)
        expect(await status(name, forwarded), `${name} ${forwarded}`).toBe(401);
      for (const [name, forwarded] of [
        ['__Host-', 'https'],
        ['__Host-', 'http, https'],
        ['', 'http'],
        ['', ''],
      ] as const)
        expect(await status(name, forwarded), `${name} ${forwarded}`).not.toBe(401);
      // `one` trusts no proxy.
      const untrusted = { ...withCookie(session), 'x-forwarded-proto': 'https' };
      expect((await fetch(`${one.url}${path}`, { headers: untrusted })).status).not.toBe(401);
    },
  );

  it('over HTTPS is opened with that cookie', async () => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-proto': 'https' };
    const opened = await fetch(`${other.url}/ui/session`, { method: 'POST', headers });
    expect(opened.headers.get('set-cookie')).toMatch(
      /^__Host-olap-warden-session=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/u,
    );
  });

  it('survives a restart in standalone, whose key only its owner can read', async () => {
    const dataDir = join(folder, 'alone');
    const start = (): Promise<TestService> =>
      startTestService(standalone, {
        'data-dir': dataDir,
        ...common(),
        controllers: 'http://127.0.0.1:9',
      });
    const before = await start();
    const cookie = await signIn(before.url, token);
    expect(await whoami(one.url, withCookie(cookie))).toBe(401);
    await before.stop();
    expect((await stat(join(dataDir, 'session-key'))).mode & 0o777).toBe(0o600);
    const after = await start();
    expect(await whoami(after.url, withCookie(cookie))).toBe(200);
    await after.stop();
  });

  it('that was signed out is accepted by no gateway, and not after a restart', async () => {
    const data = { ...shared(), 'data-dir': join(folder, 'third'), controllers: 'http://127.0.0.1:9' };
    const third = await startTestService(standalone, data);
    const copies = [await signIn(one.url, token), await signIn(one.url, token)];
    const [copy = '', kept = ''] = copies;
    for (const { url } of [other, third]) expect(await whoami(url, withCookie(copy))).toBe(200);
    const ended = await fetch(`${one.url}/ui/session`, { method: 'DELETE', headers: withCookie(copy) });
    expect(ended.status).toBe(204);
    for (const { url } of [one, other, third])
      await until('the session ends', async () => (await whoami(url, withCookie(copy))) === 401);
    await third.stop();
    const restarted = await startTestService(standalone, data);
    expect(await whoami(restarted.url, withCookie(copy))).toBe(401);
    for (const { url } of [one, other, restarted]) expect(await whoami(url, withCookie(kept))).toBe(200);
    await restarted.stop();
    // Neither the session nor the token is in the list.
    const list = await readFile(join(folder, 'keys.ended'), 'utf8');
    expect(list).toMatch(/^[\w-]{22} [\w-]{8} \d+\n$/u);
  });

  it('ends with its token at every gateway', async () => {
    await writeTokens(random.bytes(32).toString('base64url'));
    await until('the session ends at one gateway', async () => (await whoami(one.url, withCookie(session))) === 401);
    await until('the session ends at the other', async () => (await whoami(other.url, withCookie(session))) === 401);
  });
});
