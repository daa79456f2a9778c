import { SignJWT, UnsecuredJWT, decodeJwt, importJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OidcIssuer, signingKey, type IssuerUser } from '../../support/oidc-issuer.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

const WHOAMI = '/api/v1/rbac-manager/whoami';
const ANN: IssuerUser = { email: 'ann@example.com', verified: true, groups: ['devs'] };

let issuer: OidcIssuer;
let other: OidcIssuer;
let service: Standalone;

beforeAll(async () => {
  issuer = await OidcIssuer.start([await signingKey('first')]);
  other = await OidcIssuer.start([await signingKey('first')]);
  service = await startStandalone({
    'oidc-issuer': issuer.url,
    'oidc-audiences': 'olap-warden',
    'oidc-condition-claims': 'tenant,level,https://example.com/regions',
    'max-failed-attempts': 1000,
  });
});
afterAll(async () => {
  await service.stop();
  await issuer.stop();
  await other.stop();
});

async function whoAmI(token: string): Promise<{ status: number; body: { message?: string; srn?: string } }> {
  const answer = await service.call('GET', WHOAMI, undefined, { authorization: `Bearer ${token}` });
  return { status: answer.status, body: (await answer.json()) as { message?: string } };
}

describe('tokens of an OpenID Connect issuer', () => {
  it('are accepted with their verified e-mail, groups and domain', async () => {
    const { status, body } = await whoAmI(await issuer.token({ user: ANN }));
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({
      srn: 'srn2:user#ann@example.com',
      authenticator: 'oidc',
      subjects: [
        { subjectType: 'user-email', subject: 'ann@example.com' },
        { subjectType: 'group', subject: 'devs' },
        { subjectType: 'domain', subject: 'example.com' },
      ],
    });
  });

  it('have the claims of the setting for conditions, by bearer token and in a session of the dashboard', async () => {
    const claims = { tenant: 'acme', level: { no: 1 }, 'https://example.com/regions': ['eu', 'us'], other: 'x' };
    const token = await issuer.token({ user: { ...ANN, claims } });
    const authorization = `Bearer ${token}`;
    const opened = await service.call('POST', '/ui/session', undefined, { authorization });
    const [cookie = ''] = String(opened.headers.get('set-cookie')).split(';');
    const values = async (headers: Record<string, string>): Promise<unknown> => {
      const answer = await service.call('GET', WHOAMI, undefined, headers);
      return ((await answer.json()) as { values?: unknown }).values;
    };
    const expected = {
      'subject.email': ['ann@example.com'],
      'subject.user': ['ann@example.com'],
      'subject.domain': ['example.com'],
      'subject.groups': ['devs'],
      'subject.claims.tenant': ['acme'],
      'subject.claims.https://example.com/regions': ['eu', 'us'],
    };
    expect(await values({ authorization })).toEqual(expected);
    expect(await values({ authorization: '', cookie, 'x-olap-warden-ui': '1' })).toEqual(expected);
  });

  it('have the roles of their groups', async () => {
    const token = await issuer.token({ user: ANN });
    const authorization = `Bearer ${token}`;
    const roles = '/api/v1/rbac-manager/roles';
    expect((await service.call('POST', roles, { name: 'one' }, { authorization })).status).toBe(403);
    await service.call('POST', `${roles}/srn2:role%23rbac-admin/create-assignment`, {
      subject: 'devs',
      subjectType: 'group',
    });
    const created = await service.call('POST', roles, { name: 'one' }, { authorization });
    expect(await created.json()).toMatchObject({ createdBy: 'srn2:user#ann@example.com' });
  });

  it('are rejected, with the reason, when their groups cannot be read, so that no deny for a group is bypassed', async () => {
    for (const groups of [{ contractors: true }, [{ name: 'contractors' }], '["contractors"]', [['contractors']]])
      expect(await whoAmI(await issuer.token({ user: { ...ANN, groups } }))).toEqual({
        status: 401,
        body: expect.objectContaining({ message: expect.stringContaining('the claim `groups`') }),
      });
  });

  it('are rejected when they have expired, also while they are cached', async () => {
    const token = await issuer.token({ user: ANN, seconds: 1 });
    expect((await whoAmI(token)).status).toBe(200);
    // The clocks of issuer and gateway may differ by five seconds.
    await expect.poll(async () => (await whoAmI(token)).status, { interval: 500 }).toBe(401);
    expect((await whoAmI(token)).body.message).toBe('the token has expired');
  });

  it('are rejected for another audience, another issuer, and an unverified e-mail address', async () => {
    expect(await whoAmI(await issuer.token({ user: ANN, audience: 'other' }))).toMatchObject({
      status: 401,
      body: { message: 'the token is for another audience: it must have `olap-warden`' },
    });
    expect((await whoAmI(await other.token({ user: ANN }))).status).toBe(401);
    expect(await whoAmI(await issuer.token({ user: { ...ANN, verified: false } }))).toMatchObject({
      status: 401,
      body: { message: 'the e-mail address of the token is not verified: `email_verified` must be true' },
    });
    expect((await whoAmI(await issuer.token())).status).toBe(401);
  });

  it('are rejected without a signature, and with that of another key with the same id', async () => {
    const claims = decodeJwt(await issuer.token({ user: ANN }));
    expect((await whoAmI(new UnsecuredJWT(claims).encode())).status).toBe(401);
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'first' })
      .sign(await importJWK(await signingKey('first'), 'RS256'));
    expect((await whoAmI(forged)).body.message).toBe('the signature of the token is invalid');
  });

  it('are accepted with a new key of the issuer, and rejected with an unknown key', async () => {
    const second = await signingKey('second');
    const old = await issuer.token({ user: ANN });
    const early = await new SignJWT(decodeJwt(old))
      .setProtectedHeader({ alg: 'RS256', kid: 'second' })
      .sign(await importJWK(second, 'RS256'));
    expect((await whoAmI(early)).body.message).toBe('the token is signed with a key that the issuer does not have');
    await issuer.rotate([second]);
    // For an unknown key the gateway requests the keys again, but not for every such token.
    await expect
      .poll(async () => (await whoAmI(await issuer.token({ user: ANN }))).status, { interval: 500 })
      .toBe(200);
  });

  it('cannot be checked while the issuer is unavailable: 503, not 401', async () => {
    const away = await startStandalone({ 'oidc-issuer': 'http://127.0.0.1:9', 'oidc-audiences': 'olap-warden' });
    const token = new UnsecuredJWT({ iss: 'http://127.0.0.1:9' }).encode();
    const signed = await new SignJWT({ iss: 'http://127.0.0.1:9', aud: 'olap-warden', sub: 'x' })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setExpirationTime('5m')
      .sign(await importJWK(await signingKey('k'), 'RS256'));
    const ask = async (bearer: string): Promise<Response> =>
      away.call('GET', WHOAMI, undefined, { authorization: `Bearer ${bearer}` });
    const answer = await ask(signed);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect((await ask(token)).status).toBe(401);
    await away.stop();
  });
});
