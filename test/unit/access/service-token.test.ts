import { describe, expect, it } from 'vitest';
import {
  DUMMY_HASH,
  formatBearerToken,
  generateTokenKeys,
  hashesOf,
  hashFields,
  hashSecretKey,
  parseBearerToken,
  secretKeyMatches,
} from '../../../src/access/service-token.ts';
import { validateResource } from '../../../src/resources/validate.ts';
import { serviceToken, stored } from '../../builders/resources.ts';

describe('token keys', () => {
  it('have the documented form, and can be parsed from a bearer token', () => {
    const keys = generateTokenKeys();
    expect(keys.accessKey).toMatch(/^[a-z0-9]{16}$/);
    expect(keys.secretKey).toMatch(/^[a-z0-9]{32}$/);
    expect(parseBearerToken(formatBearerToken(keys))).toEqual(keys);
    expect(generateTokenKeys()).not.toEqual(keys);
  });

  it('are uniformly distributed: bytes that would cause a bias are discarded', () => {
    let next = 0;
    const everyByte = (size: number): Uint8Array => Uint8Array.from({ length: size }, () => next++ % 256);
    const counts = new Map<string, number>();
    // 21 keys of 48 characters are 1,008 = 4 × 252 accepted bytes: each letter is produced by exactly seven of 252 values.
    for (let index = 0; index < 21; index++) {
      const { accessKey, secretKey } = generateTokenKeys(everyByte);
      for (const letter of accessKey + secretKey) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect(counts.size).toBe(36);
    expect(new Set(counts.values())).toEqual(new Set([28]));
  });
});

describe('the hashes of a service token', () => {
  it('match only their secret', () => {
    const secret = 'a'.repeat(32);
    expect(hashSecretKey(secret)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(secretKeyMatches(secret, hashSecretKey(secret))).toBe(true);
    expect(secretKeyMatches('b'.repeat(32), hashSecretKey(secret))).toBe(false);
    for (const stored of [DUMMY_HASH, '', secret, `sha1:${'0'.repeat(40)}`]) {
      expect(secretKeyMatches(secret, stored)).toBe(false);
    }
  });

  it('are in the status, which has no secret key; a token without both fields has none', () => {
    const hashes = {
      accessKey: 'abcdefghij012345',
      secretHash: hashSecretKey('x'),
      previousHashes: [{ hash: hashSecretKey('y'), validUntil: '2026-01-01T00:00:00Z' }],
    };
    const token = { ...serviceToken('ci', {}, stored()), status: hashFields(hashes) };
    expect(validateResource('ServiceToken', token)).toMatchObject({ ok: true });
    expect(hashesOf(token)).toEqual(hashes);
    const { accessKey, secretHash } = hashes;
    expect(hashesOf({ ...token, status: { accessKey, secretHash } })).toEqual({ ...hashes, previousHashes: [] });
    for (const status of [{}, { accessKey }, { secretHash }]) expect(hashesOf({ ...token, status })).toBeUndefined();
    for (const broken of ['x', 'sha256:x', `sha1:${'0'.repeat(40)}`, 's'.repeat(32)])
      expect(validateResource('ServiceToken', { ...token, status: { secretHash: broken } })).toMatchObject({
        ok: false,
      });
  });
});
