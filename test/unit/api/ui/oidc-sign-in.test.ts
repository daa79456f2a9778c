import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { UnsecuredJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registerOidcSignIn, type OidcSignIn } from '../../../../src/api/ui/oidc-sign-in.ts';
import { ALICE, testApp } from '../../../support/app.ts';
import type { Authenticator } from '../../../../src/access/authenticators/authenticator.ts';
import { until } from '../../../support/until.ts';
import { seeded } from '../../../support/seed.ts';
import { once } from '../../../support/once.ts';

let app: FastifyInstance;
let provider: Server;
let answer: Record<string, unknown>;
let asked: { authorization: string | undefined; form: URLSearchParams } | undefined;

const NONCE = 'asked-for';
const idToken = (claims: Record<string, unknown>): string => new UnsecuredJWT(claims).encode();

let isForged: boolean;
/** Accepts the tokens of the provider, unless they are forged. */
const authenticator: Authenticator = {
  name: 'test',
  authenticate: async () =>
    isForged
      ? { outcome: 'rejected', message: 'the signature of the token is invalid' }
      : { outcome: 'authenticated', principal: ALICE },
};

beforeEach(async () => {
  isForged = false;
  asked = undefined;
  provider = createServer((incoming, outgoing) => {
    const issuer = `http://${incoming.headers.host}`;
    outgoing.setHeader('content-type', 'application/json');
    if (incoming.method === 'GET') {
      outgoing.end(JSON.stringify({ authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` }));
      return;
    }
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    incoming.on('end', () => {
      asked = { authorization: incoming.headers.authorization, form: new URLSearchParams(body) };
      outgoing.end(JSON.stringify(answer));
    });
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  await app.close();
  provider.close();
  provider.closeAllConnections();
});

type Answer = Awaited<ReturnType<FastifyInstance['inject']>>;

async function exchange(settings: Partial<OidcSignIn> = {}): Promise<Answer> {
  await open(settings);
  return send();
}

async function open(settings: Partial<OidcSignIn> = {}): Promise<void> {
  const oidc: OidcSignIn = {
    issuer: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    clientId: 'olap-warden',
    clientSecret: undefined,
    scope: 'openid email',
    token: 'id_token',
    ...settings,
  };
  app = await testApp({ register: async (scope) => registerOidcSignIn(scope, oidc), parts: { authenticator } });
}

function send(remoteAddress = '127.0.0.1'): Promise<Answer> {
  return app.inject({
    method: 'POST',
    url: '/ui/session/oidc',
    remoteAddress,
    payload: {
      code: 'a-code',
      codeVerifier: 'v'.repeat(43),
      nonce: NONCE,
      redirectUri: 'http://127.0.0.1/ui/signed-in',
    },
  });
}

/** What the session in the response has sealed. */
function sessionOf({ headers }: Awaited<ReturnType<typeof exchange>>): Promise<unknown> {
  const [, session = ''] = /^olap-warden-session=([^;]+);/u.exec(String(headers['set-cookie'])) ?? [];
  return app.sessions.open(session);
}

describe('the exchange of an authorization code', () => {
  it('opens a session with the ID token of this sign-in', async () => {
    answer = { id_token: idToken({ nonce: NONCE }) };
    const opened = await exchange();
    expect([opened.statusCode, opened.body]).toEqual([204, '']);
    expect(await sessionOf(opened)).toEqual({ token: answer['id_token'] });
    expect(Object.fromEntries(asked?.form ?? [])).toEqual({
      grant_type: 'authorization_code',
      code: 'a-code',
      code_verifier: 'v'.repeat(43),
      redirect_uri: 'http://127.0.0.1/ui/signed-in',
      client_id: 'olap-warden',
    });
    expect(asked?.authorization).toBeUndefined();
  });

  it('opens no session with a token that the gateway does not accept', async () => {
    isForged = true;
    answer = { id_token: idToken({ nonce: NONCE }) };
    const refused = await exchange();
    expect([refused.statusCode, refused.json<{ message: string }>().message]).toEqual([
      401,
      'the signature of the token is invalid',
    ]);
    expect(refused.headers['set-cookie']).toBeUndefined();
  });

  it('sends the secret of a confidential client, each part encoded', async () => {
    answer = { id_token: idToken({ nonce: NONCE }) };
    await exchange({ clientSecret: 'p:w' });
    expect(asked?.authorization).toBe(`Basic ${Buffer.from('olap-warden:p%3Aw').toString('base64')}`);
  });

  it('reads no large body, which a client without a credential could send', async () => {
    await exchange();
    asked = undefined;
    const payload = { code: 'a'.repeat(16 * 1024) };
    const refused = await app.inject({ method: 'POST', url: '/ui/session/oidc', payload });
    expect([refused.statusCode, asked]).toEqual([413, undefined]);
  });

  it('opens no session with a token that does not fit into a cookie', async () => {
    const random = seeded();
    answer = { id_token: idToken({ nonce: NONCE, groups: Array.from({ length: 200 }, () => random.hex(36)) }) };
    const refused = await exchange();
    expect(refused.statusCode).toBe(413);
    expect(refused.json<{ message: string }>().message).toContain('longer than 4000 bytes');
    expect(refused.headers['set-cookie']).toBeUndefined();
  });

  it('opens no session with a token that could not be opened again', async () => {
    answer = { id_token: idToken({ nonce: NONCE, padding: 'x'.repeat(20_000) }) };
    expect((await exchange()).statusCode).toBe(413);
  });

  it.each([
    ['another nonce', () => idToken({ nonce: 'of another sign-in' }), 'its `nonce` differs'],
    ['no nonce', () => idToken({ sub: 'ann' }), 'its `nonce` differs'],
    ['no JWT', () => 'opaque', 'that is not a JWT'],
    ['no ID token', () => undefined, 'sent no `id_token`'],
  ])('opens no session for %s', async (_case, token, message) => {
    answer = { id_token: token() };
    const refused = await exchange();
    expect(refused.statusCode).toBe(401);
    expect(refused.json<{ message: string }>().message).toContain(message);
    expect(refused.headers['set-cookie']).toBeUndefined();
  });

  it('checks the nonce of the ID token also when the session uses the access token', async () => {
    answer = { access_token: 'for-the-gateway', id_token: idToken({ nonce: 'of another sign-in' }) };
    expect((await exchange({ token: 'access_token' })).statusCode).toBe(401);
    await app.close();
    answer = { access_token: 'for-the-gateway', id_token: idToken({ nonce: NONCE }) };
    const opened = await exchange({ token: 'access_token' });
    expect(await sessionOf(opened)).toEqual({ token: 'for-the-gateway' });
  });
});

describe('callers without a credential', () => {
  it('cause one request for the endpoints of the provider at a time, and none at once after a failed one', async () => {
    const waiting: ServerResponse[] = [];
    provider.removeAllListeners('request');
    provider.on('request', (_incoming, outgoing: ServerResponse) => void waiting.push(outgoing));
    await open();
    const methods = (): Promise<Answer> => app.inject({ method: 'GET', url: '/ui/session/methods' });
    const all = Promise.all(Array.from({ length: 20 }, methods));
    await until('a request at the provider', () => waiting.length > 0);
    waiting[0]!.writeHead(500).end();
    expect((await all).map((one) => one.json<unknown>())).toEqual(Array.from({ length: 20 }, () => ({ oidc: null })));
    await methods();
    expect(waiting).toHaveLength(1);
  });

  it('occupy only some exchanges with a provider that does not respond', async () => {
    const waiting: ServerResponse[] = [];
    const [discovery] = provider.listeners('request') as ((
      incoming: IncomingMessage,
      outgoing: ServerResponse,
    ) => void)[];
    provider.removeAllListeners('request');
    provider.on('request', (incoming, outgoing: ServerResponse) => {
      if (incoming.method === 'GET') discovery!(incoming, outgoing);
      else waiting.push(outgoing);
    });
    await open();
    const all = Array.from({ length: 40 }, (_, i) => send(`192.0.2.${i}`));
    await until('32 exchanges at the provider', () => waiting.length === 32);
    for (const refused of await Promise.all(all.slice(32))) {
      expect(refused.statusCode).toBe(503);
      expect(refused.headers['retry-after']).toBe('1');
    }
    for (const one of waiting) one.end(JSON.stringify({ id_token: idToken({ nonce: NONCE }) }));
    for (const accepted of await Promise.all(all.slice(0, 32))) expect(accepted.statusCode).toBe(204);
    expect(waiting).toHaveLength(32);
  });

  it('get 429 when the provider has rejected many codes of their address, and the provider no more of them', async () => {
    let exchanged = 0;
    const [discovery] = provider.listeners('request') as ((
      incoming: IncomingMessage,
      outgoing: ServerResponse,
    ) => void)[];
    provider.removeAllListeners('request');
    provider.on('request', (incoming, outgoing: ServerResponse) => {
      if (incoming.method === 'GET') return discovery!(incoming, outgoing);
      exchanged++;
      outgoing.writeHead(400).end('{"error":"invalid_grant"}');
    });
    await open();
    for (let at = 0; at < 20; at++) expect((await send('192.0.2.1')).statusCode).toBe(401);
    const refused = await send('192.0.2.1');
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(exchanged).toBe(20);
    expect((await send('192.0.2.2')).statusCode).toBe(401);
  });
});
