import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ServiceToken } from '../resources/kinds.ts';
import { MAX_PREVIOUS_HASHES, type PreviousHash, type ServiceTokenStatus } from '../resources/service-token.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
export const ACCESS_KEY_LENGTH = 16;
export const SECRET_KEY_LENGTH = 32;
const TOKEN_PREFIX = 'svc-';
const TOKEN_FORM = new RegExp(`^svc-([a-z0-9]{${ACCESS_KEY_LENGTH}})-([a-z0-9]{${SECRET_KEY_LENGTH}})$`);

/** Both parts of a service token. `secretKey` is a credential: it is returned once and never stored. */
export interface TokenKeys {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** @param random returns cryptographically secure bytes */
export function generateTokenKeys(random: (size: number) => Uint8Array = randomBytes): TokenKeys {
  return { accessKey: randomText(ACCESS_KEY_LENGTH, random), secretKey: randomText(SECRET_KEY_LENGTH, random) };
}

/** Rejects bytes from 252: 256 is not a multiple of 36, so a plain modulo would be biased. */
function randomText(length: number, random: (size: number) => Uint8Array): string {
  const limit = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(length - text.length)) {
      if (byte < limit) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

/** `svc-<accessKey>-<secretKey>`: a credential. */
export function formatBearerToken(keys: TokenKeys): string {
  return `${TOKEN_PREFIX}${keys.accessKey}-${keys.secretKey}`;
}

/** Whether the text begins like a service token, valid or not. */
export function looksLikeServiceToken(text: string): boolean {
  return text.startsWith(TOKEN_PREFIX);
}

/** The parts of a bearer token; undefined if it is malformed. */
export function parseBearerToken(text: string): TokenKeys | undefined {
  const match = TOKEN_FORM.exec(text);
  return match ? { accessKey: match[1]!, secretKey: match[2]! } : undefined;
}

/**
 * `sha256:<hex>`. A slow hash is not needed: unlike a password, a secret key is random with 36³² values (165 bits) and cannot be
 * guessed from its hash, and a slow hash would delay every request.
 */
export function hashSecretKey(secretKey: string): string {
  return `sha256:${hash('sha256', secretKey)}`;
}

/** Matches no secret key. It is compared if the access key is unknown, so that both cases take the same time. */
export const DUMMY_HASH = `sha256:${'0'.repeat(64)}`;

/** Constant-time comparison. A stored hash in another format never matches. */
export function secretKeyMatches(secretKey: string, storedHash: string): boolean {
  return hashesEqual(bytesOfHash(hashSecretKey(secretKey)), bytesOfHash(storedHash));
}

/** The bytes of a hash in text form, for `hashesEqual`. */
export function bytesOfHash(hash: string): Buffer {
  return Buffer.from(hash, 'latin1');
}

/** Constant-time comparison of two hashes. */
export function hashesEqual(one: Buffer, other: Buffer): boolean {
  // Both are hashes, so the length reveals nothing about the secret.
  return one.length === other.length && timingSafeEqual(one, other);
}

/** The hashes of a token's secret keys, which the status of its ServiceToken contains. */
export interface TokenHashes {
  readonly accessKey: string;
  readonly secretHash: string;
  /** Secret keys that rotations replaced. */
  readonly previousHashes: readonly PreviousHash[];
}

/**
 * The hashes in the status; undefined if there is no token yet. A ServiceToken that is deleted and created again has no status, so that the old
 * secret key is invalid.
 */
export function hashesOf({ status }: ServiceToken): TokenHashes | undefined {
  const { accessKey, secretHash, previousHashes = [] } = status ?? {};
  if (!accessKey || !secretHash) return undefined;
  return { accessKey, secretHash, previousHashes };
}

/** The fields of the status for hashesOf(). */
export function hashFields({ accessKey, secretHash, previousHashes }: TokenHashes): Partial<ServiceTokenStatus> {
  return { accessKey, secretHash, ...(previousHashes.length === 0 ? {} : { previousHashes: [...previousHashes] }) };
}

/** How long a secret key that a rotation replaces is accepted, where the rotation says nothing else. */
export const DEFAULT_GRACE_MS = 24 * 3_600_000;

/** Previous secret keys that are still accepted, the one that ends first at the beginning. */
export function acceptedPrevious(hashes: TokenHashes | undefined, now: number): PreviousHash[] {
  return [...(hashes?.previousHashes ?? [])]
    .filter(({ validUntil }) => Date.parse(validUntil) > now)
    .sort((a, b) => Date.parse(a.validUntil) - Date.parse(b.validUntil));
}

/**
 * The hashes with another secret key.
 * @param formerUntil time until which the former secret key is accepted, RFC 3339; undefined if it ends at once
 */
export function withSecretKey(
  hashes: TokenHashes,
  secretKey: string,
  { now, formerUntil }: { readonly now: number; readonly formerUntil: string | undefined },
): TokenHashes {
  const former = formerUntil === undefined ? [] : [{ hash: hashes.secretHash, validUntil: formerUntil }];
  const previousHashes = [...acceptedPrevious(hashes, now), ...former].slice(-MAX_PREVIOUS_HASHES);
  return { accessKey: hashes.accessKey, secretHash: hashSecretKey(secretKey), previousHashes };
}
