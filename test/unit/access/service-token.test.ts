import { describe, expect, it } from 'vitest';
import {
  buildHashSecret,
  DUMMY_HASH,
  formatBearerToken,
  generateTokenKeys,
  hashSecretKey,
  hashSecretName,
  parseBearerToken,
  readHashSecret,
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

describe('hashes', () => {
  it('match only their secret', () => {
    const secret = 'a'.repeat(32);
    expect(hashSecretKey(secret)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(secretKeyMatches(secret, hashSecretKey(secret))).toBe(true);
    expect(secretKeyMatches('b'.repeat(32), hashSecretKey(secret))).toBe(false);
    for (const stored of [DUMMY_HASH, '', secret, `sha1:${'0'.repeat(40)}`]) {
      expect(secretKeyMatches(secret, stored)).toBe(false);
    }
  });

  it('are in a Secret that is owned by the token and does not contain the secret key', () => {
    const token = serviceToken('ci', {}, stored({ uid: 'u1' }));
    const hashes = {
      accessKey: 'abcdefghij012345',
      secretHash: 'sha256:x',
      previousHash: 'sha256:y',
      previousExpiresAt: '2026-01-01T00:00:00Z',
    };
    const secret = buildHashSecret(token, hashes);
    expect(validateResource('Secret', secret)).toMatchObject({ ok: true });
    expect(secret.metadata.ownerReferences).toMatchObject([{ kind: 'ServiceToken', name: 'ci', uid: 'u1' }]);
    expect(readHashSecret(secret)).toEqual({ tokenName: 'ci', tokenUid: 'u1', ...hashes });
    const { labels: _, ...unlabelled } = secret.metadata;
    expect(readHashSecret({ ...secret, metadata: unlabelled })).toBeUndefined();
    expect(readHashSecret({ ...secret, data: { accessKey: 'eA==' } })).toBeUndefined();
  });

  it('have a Secret name for every token name', () => {
    expect(hashSecretName('ci')).toBe('ci-hash');
    const long = 'a'.repeat(253);
    expect(hashSecretName(long).length).toBeLessThanOrEqual(253);
    expect(hashSecretName(long)).not.toBe(hashSecretName(`${'a'.repeat(252)}b`));
  });
});
