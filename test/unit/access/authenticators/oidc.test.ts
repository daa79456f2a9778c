import { exportJWK, generateKeyPair, SignJWT, createLocalJWKSet, UnsecuredJWT, type JWTPayload } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { OidcAuthenticator, type OidcAuthenticatorOptions } from '../../../../src/access/authenticators/oidc.ts';
import type { AuthenticationResult } from '../../../../src/access/authenticators/authenticator.ts';

const ISSUER = 'https://issuer.example.com';
const NOW = new Date('2026-01-01T00:00:00Z');
const seconds = NOW.getTime() / 1000;

let keyPair: Awaited<ReturnType<typeof generateKeyPair>>;
let otherPair: Awaited<ReturnType<typeof generateKeyPair>>;
let options: OidcAuthenticatorOptions;

beforeAll(async () => {
  keyPair = await generateKeyPair('ES256');
  otherPair = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(keyPair.publicKey)), kid: 'one', alg: 'ES256' };
  options = {
    issuer: ISSUER,
    audiences: ['olap-warden'],
    keys: createLocalJWKSet({ keys: [jwk] }),
    algorithms: ['ES256'],
    usernameClaim: 'email',
    groupsClaim: 'groups',
    clock: { now: () => NOW.getTime(), monotonic: () => NOW.getTime() },
  };
});

const CLAIMS: JWTPayload = {
  iss: ISSUER,
  aud: 'olap-warden',
  sub: 'u1',
  exp: seconds + 300,
  email: 'Ann@Example.com',
  email_verified: true,
  groups: ['devs'],
};

const sign = (claims: JWTPayload = CLAIMS, key = keyPair, kid = 'one'): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(key.privateKey);

const ask = (token: string, more: Partial<OidcAuthenticatorOptions> = {}): Promise<AuthenticationResult> =>
  new OidcAuthenticator({ ...options, ...more }).authenticate({ scheme: 'bearer', token });

const without = (claim: string): JWTPayload =>
  Object.fromEntries(Object.entries(CLAIMS).filter(([name]) => name !== claim));

describe('a token of an OpenID Connect issuer', () => {
  it.each([
    [`${ISSUER}/`, ISSUER],
    [ISSUER, `${ISSUER}/`],
  ])('of %s is rejected with both names where the setting is %s', async (iss, issuer) => {
    expect(await ask(await sign({ ...CLAIMS, iss }), { issuer })).toEqual({
      outcome: 'rejected',
      message: `the token is of the issuer \`${iss}\`, and this gateway accepts tokens of \`${issuer}\`: the setting \`oidc-issuer\` must be the same, also in the slash at its end`,
    });
    expect(await ask(await sign({ ...CLAIMS, iss: `${iss}x` }), { issuer })).toEqual({ outcome: 'not-mine' });
  });

  it.each([
    ['a header that is not JSON', 'x'],
    ['a header without an algorithm', Buffer.from('{}').toString('base64url')],
  ])('rejects a token with %s as malformed', async (_what, header) => {
    const [, payload, signature] = (await sign()).split('.');
    expect(await ask([header, payload, signature].join('.'))).toEqual({
      outcome: 'rejected',
      message: 'the token is malformed',
    });
  });

  it.each([
    ['devs', ['devs']],
    ['Domain Users', ['Domain Users']],
    [
      ['a', '[Team] b', 'cn=c,ou=d'],
      ['a', '[Team] b', 'cn=c,ou=d'],
    ],
    [[], []],
    [undefined, []],
    [Array.from({ length: 1000 }, (_, index) => `g${index}`), Array.from({ length: 1000 }, (_, index) => `g${index}`)],
  ])('has the groups of the claim, %#', async (groups, expected) => {
    expect(await ask(await sign({ ...CLAIMS, groups }))).toMatchObject({ principal: { groups: expected } });
  });

  // Denies for these groups would not apply to a user without groups.
  it.each([
    ['an object', { contractors: true }, 'is an object'],
    ['a list of objects', [{ name: 'contractors' }], 'contains an object'],
    ['a nested list', [['contractors']], 'contains a list'],
    ['a number', 5, 'is a number'],
    ['a list with a number', ['devs', 5], 'contains a number'],
    ['a list with null', ['devs', null], 'contains null'],
    ['null', null, 'is null'],
    ['an empty text', '', 'is an empty text'],
    ['a list with an empty text', ['devs', ' '], 'contains an empty text'],
    ['JSON in a text', '["contractors"]', 'is a text that is JSON'],
    ['JSON in a list', ['["contractors"]'], 'contains a text that is JSON'],
    ['several names in a text', 'staff,contractors', 'is one text with several names'],
    ['white space', ['contractors '], 'contains a text with control characters or with white space'],
    ['a control character', ['contr\u0000actors'], 'contains a text with control characters'],
    ['a long name', ['x'.repeat(1025)], 'contains a text of 1025 characters'],
    ['too many', Array.from({ length: 1001 }, (_, index) => `g${index}`), 'has 1001 names'],
  ])('rejects a token with groups that cannot be read: %s', async (_what, groups, problem) => {
    const token = await sign({ ...CLAIMS, groups });
    const rejected = await ask(token);
    expect(rejected).toEqual({
      outcome: 'rejected',
      message: expect.stringMatching(/^the claim `groups` .*: it must be a list of at most 1000 names$/),
    });
    expect(rejected).toMatchObject({ message: expect.stringContaining(problem) });
    const problems: string[] = [];
    const accepted = await ask(token, { onUnreadableGroups: (text) => problems.push(text) });
    expect(accepted).toMatchObject({ outcome: 'authenticated', principal: { groups: [] } });
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it('has the claims of the setting that conditions can use, and no others', async () => {
    const more = { tenant: 'acme', level: 3, regions: ['eu', 'us'], address: { city: 'x' }, secret: 'x' };
    const token = await sign({ ...CLAIMS, ...more });
    const conditionClaims = ['tenant', 'level', 'regions', 'address', 'absent', 'constructor'];
    expect(await ask(token, { conditionClaims })).toMatchObject({
      principal: {
        claims: {
          tenant: { values: ['acme'], isList: false },
          level: { values: [3], isList: false },
          regions: { values: ['eu', 'us'], isList: true },
        },
      },
    });
    const found = await ask(token, { conditionClaims });
    expect('principal' in found && Object.keys(found.principal.claims ?? {})).toEqual(['tenant', 'level', 'regions']);
    expect(await ask(token)).not.toHaveProperty('principal.claims');
  });

  it.each([
    [{ _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example.com' } } }],
    [{ hasgroups: true }],
    [{ hasgroups: 'true' }],
  ])('rejects a token without the groups that are elsewhere: %j', async (overage) => {
    const token = await sign({ ...without('groups'), ...overage });
    expect(await ask(token)).toEqual({ outcome: 'rejected', message: expect.stringContaining('too many') });
  });

  it.each([
    [{ email: 5 }, 'no e-mail address'],
    [{ email: 'ann@a@contractors.test' }, 'no e-mail address'],
    [{ email: ['ann@contractors.test'] }, 'no e-mail address'],
    [{ email_verified: 'true' }, '`email_verified` is a string'],
    [{ email_verified: 1 }, '`email_verified` is a number'],
    [{ _claim_names: { email: 'src1' } }, 'left the e-mail address out'],
  ])('rejects a token whose domain cannot be read: %j', async (claims, message) => {
    const token = await sign({ ...CLAIMS, ...claims });
    expect(await ask(token, { usernameClaim: 'sub' })).toEqual({
      outcome: 'rejected',
      message: expect.stringContaining(message),
    });
  });

  it('creates a principal from verified e-mail, groups and domain', async () => {
    expect(await ask(await sign())).toEqual({
      outcome: 'authenticated',
      principal: {
        kind: 'user',
        srn: 'srn2:user#Ann@Example.com',
        id: 'Ann@Example.com',
        groups: ['devs'],
        domain: 'example.com',
        authenticator: 'oidc',
      },
    });
  });

  it('sets the domain of a user by another claim only if the e-mail address is verified', async () => {
    const token = await sign({ ...CLAIMS, email_verified: false });
    expect(await ask(token, { usernameClaim: 'sub' })).toMatchObject({ principal: { id: 'u1', domain: undefined } });
    expect(await ask(await sign(), { usernameClaim: 'sub' })).toMatchObject({ principal: { domain: 'example.com' } });
  });

  it.each(['system:serviceaccount:olap:etl', 'System:Admin', 'system:', 'admin@localhost', 'Admin@LocalHost'])(
    'rejects the user name %s, which belongs to another authority',
    async (name) => {
      const claims = { ...CLAIMS, preferred_username: name };
      const message = expect.stringContaining('belongs to another authority');
      const asked = ask(await sign(claims), { usernameClaim: 'preferred_username' });
      expect(await asked).toEqual({ outcome: 'rejected', message });
      expect(await ask(await sign({ ...CLAIMS, email: name }))).toEqual({ outcome: 'rejected', message });
    },
  );

  it('leaves out groups that belong to another authority', async () => {
    const groups = ['system:masters', 'devs', 'SYSTEM:serviceaccounts', 'systems', 'eco:system:a'];
    expect(await ask(await sign({ ...CLAIMS, groups }))).toMatchObject({
      principal: { groups: ['devs', 'systems', 'eco:system:a'] },
    });
    expect(await ask(await sign({ ...CLAIMS, groups: 'system:masters' }))).toMatchObject({ principal: { groups: [] } });
  });

  it.each([
    ['expired', { exp: seconds - 6 }, 'the token has expired'],
    ['without an end', { exp: undefined }, 'invalid claim `exp`'],
    ['for another audience', { aud: 'other' }, 'it must have `olap-warden`'],
    ['not valid yet', { nbf: seconds + 60 }, 'invalid claim `nbf`'],
    ['without a verified address', { email_verified: false }, '`email_verified` must be true'],
    [
      'with an address that is said to be verified by a text',
      { email_verified: 'true' },
      '`email_verified` must be true',
    ],
    ['without an address', { email: undefined }, 'no claim `email`'],
    ['with an address that holds a line break', { email: 'a@b.c\nx' }, 'no claim `email`'],
  ])('rejects a token %s', async (_, claims, message) => {
    const merged = { ...CLAIMS, ...claims } as JWTPayload;
    const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
    expect(await ask(await sign(kept))).toEqual({ outcome: 'rejected', message: expect.stringContaining(message) });
  });

  it('rejects an unsigned token, one signed by another key, and one with an unknown key', async () => {
    const unsecured = new UnsecuredJWT(CLAIMS).encode();
    expect(await ask(unsecured)).toMatchObject({ outcome: 'rejected' });
    const forged = await sign(CLAIMS, otherPair);
    expect(await ask(forged)).toEqual({ outcome: 'rejected', message: 'the signature of the token is invalid' });
    const unknown = await sign(CLAIMS, otherPair, 'two');
    expect(await ask(unknown)).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('does not have'),
    });
  });

  it('rejects a token that is signed with a shared secret', async () => {
    const token = await new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(new TextEncoder().encode('x'.repeat(32)));
    expect(await ask(token)).toMatchObject({ outcome: 'rejected', message: expect.stringContaining('ES256') });
  });

  it('leaves tokens of other issuers to other authenticators', async () => {
    expect(await ask(await sign({ ...CLAIMS, iss: 'https://other' }))).toEqual({ outcome: 'not-mine' });
    expect(await ask(await sign(without('iss')))).toEqual({ outcome: 'not-mine' });
    expect(await ask('svc-abc')).toEqual({ outcome: 'not-mine' });
    expect(await ask('a.b.c')).toEqual({ outcome: 'not-mine' });
  });

  it('returns `unavailable`, not `rejected`, when the keys cannot be read', async () => {
    const reasons: unknown[] = [];
    const keys = (): never => {
      throw new TypeError('fetch failed');
    };
    const result = await ask(await sign(), { keys, onUnavailable: (error) => reasons.push(error) });
    expect(result.outcome).toBe('unavailable');
    expect(reasons).toHaveLength(1);
  });

  it('caches the verification of a token, but not beyond its expiry', async () => {
    let asked = 0;
    let time = NOW.getTime();
    const authenticator = new OidcAuthenticator({
      ...options,
      keys: (header, token) => {
        asked += 1;
        return options.keys(header, token);
      },
      clock: { now: () => time, monotonic: () => time },
    });
    const token = await sign({ ...CLAIMS, exp: seconds + 30 });
    const authenticate = () => authenticator.authenticate({ scheme: 'bearer', token });
    await authenticate();
    await authenticate();
    expect(asked).toBe(1);
    time += 40_000;
    expect((await authenticate()).outcome).toBe('rejected');
  });
});
