import { expect, it } from 'vitest';
import { unverifiedClaims } from '../../../../src/access/authenticators/result-cache.ts';
import { emailDomain } from '../../../../src/access/subjects.ts';

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

it('the claims of a token are an object in the second of three parts', () => {
  const claims = { iss: 'x', exp: 5 };
  expect(unverifiedClaims(`a.${encoded(claims)}.c`)).toEqual(claims);
  expect(unverifiedClaims(`.${encoded({})}.`)).toEqual({});
  for (const text of ['', 'a', `a.${encoded(claims)}`, `a.${encoded(claims)}.c.d`, `a.${encoded(claims)}.c.`])
    expect(unverifiedClaims(text)).toBeUndefined();
});

it.each([null, [], [{ iss: 'x' }], 'text', 5, true])('%j is not an object of claims', (value) => {
  expect(unverifiedClaims(`a.${encoded(value)}.c`)).toBeUndefined();
});

it('a part that is not JSON has no claims', () => {
  expect(unverifiedClaims('a.e30x.c')).toBeUndefined();
  expect(unverifiedClaims('a.!.c')).toBeUndefined();
});

it.each([
  ['ada@Example.com', 'example.com'],
  ['ada@a.b.Example', 'a.b.example'],
  ['ada@localhost', 'localhost'],
  ['ada@example', undefined],
  ['ada@example.', undefined],
  ['a@b@example.com', undefined],
  ['ada lovelace@example.com', undefined],
  ['@example.com', undefined],
  ['example.com', undefined],
])('the domain of %s is %s', (text, domain) => expect(emailDomain(text)).toBe(domain));
