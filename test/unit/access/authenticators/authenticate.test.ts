import { describe, expect, it } from 'vitest';
import { authenticatorChain } from '../../../../src/access/authenticators/authenticate.ts';
import type {
  AuthenticationResult,
  Authenticator,
  Credential,
} from '../../../../src/access/authenticators/authenticator.ts';

const principal = {
  kind: 'user',
  srn: 'srn2:user#a',
  id: 'a',
  groups: [],
  domain: undefined,
  authenticator: 'x',
} as const;
const good: AuthenticationResult = { outcome: 'authenticated', principal };
const notMine: AuthenticationResult = { outcome: 'not-mine' };
const bad: AuthenticationResult = { outcome: 'rejected', message: 'expired' };
const away: AuthenticationResult = { outcome: 'unavailable', message: 'away' };

const fixed = (result: AuthenticationResult): Authenticator => ({ name: 'fixed', authenticate: async () => result });
const TOKEN: Credential = { scheme: 'bearer', token: 't' };
const ask = (results: AuthenticationResult[], credential: Credential = TOKEN): Promise<AuthenticationResult> =>
  authenticatorChain(results.map(fixed)).authenticate(credential);

describe('a chain of authenticators', () => {
  it.each([
    ['the first that knows the credential decides', [notMine, good, bad], good],
    ['a refusal is final', [bad, good], bad],
    ['an authority that is away does not keep the others from vouching', [away, good], good],
    ['a credential that no authenticator accepts is not rejected while one is unavailable', [away, bad], away],
    ['nor is one that has the form of no other authenticator', [away, notMine], away],
  ])('%s', async (_, results, expected) => {
    expect(await ask(results as AuthenticationResult[])).toEqual(expected);
  });

  it('rejects an unknown kind of credential', async () => {
    expect(await ask([notMine])).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('has no form'),
    });
    expect(await ask([], { scheme: 'basic', username: 'a', password: 'b' })).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('access key'),
    });
  });
});
