import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { legacyHashName, readLegacyHashes } from '../../../../src/operator/tokens/legacy-hash.ts';
import { ownerName } from '../../../../src/operator/tokens/token-secret.ts';
import { legacyHashSecret, ownedBy, secret, serviceToken } from '../../../builders/resources.ts';

const TOKEN = serviceToken('job', { secretName: 'job-token' });
const VALUES = { accessKey: 'a'.repeat(16), secretHash: 'sha256:s' };

it('the name of a Secret of version 0.1 has at most 253 characters', () => {
  expect(legacyHashName('a'.repeat(248))).toBe(`${'a'.repeat(248)}-hash`);
  const long = 'a'.repeat(249);
  expect(legacyHashName(long)).toBe(`${'a'.repeat(180)}.${createHash('sha256').update(long).digest('hex')}`);
});

it.each([
  ['both', VALUES, { ...VALUES, previousHashes: [] }],
  ['no secret hash', { ...VALUES, secretHash: '' }, undefined],
  ['no access key', { ...VALUES, accessKey: '' }, undefined],
  ['a previous hash without its end', { ...VALUES, previousHash: 'p' }, { ...VALUES, previousHashes: [] }],
  ['the end of no previous hash', { ...VALUES, previousExpiresAt: 't' }, { ...VALUES, previousHashes: [] }],
  [
    'a previous hash',
    { ...VALUES, previousHash: 'p', previousExpiresAt: 't' },
    { ...VALUES, previousHashes: [{ hash: 'p', validUntil: 't' }] },
  ],
])('reads a Secret of version 0.1 with %s', (_what, values, expected) => {
  expect(readLegacyHashes(legacyHashSecret(TOKEN, values), TOKEN)).toEqual(expected);
});

it.each([
  ['olapwarden.io/v1', 'ServiceToken', 'job'],
  ['olapwarden.io/v1', 'Role', undefined],
  ['other.io/v1', 'ServiceToken', undefined],
])('the owner of a Secret is a %s %s: %s', (apiVersion, kind, expected) => {
  expect(ownerName(secret('s', {}, ownedBy({ apiVersion, kind, metadata: { name: 'job' } })))).toBe(expected);
});
