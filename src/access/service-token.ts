import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secret, ServiceToken } from '../resources/kinds.ts';
import { API_VERSION, LABELS, NAME_MAX_LENGTH, type OwnerReference } from '../resources/meta.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
export const ACCESS_KEY_LENGTH = 16;
export const SECRET_KEY_LENGTH = 32;
const TOKEN_PREFIX = 'svc-';
const TOKEN_FORM = new RegExp(`^svc-([a-z0-9]{${ACCESS_KEY_LENGTH}})-([a-z0-9]{${SECRET_KEY_LENGTH}})$`);

/** Value of the label `olapwarden.io/part` on Secrets with hashes; Secrets with tokens have another value. */
export const HASH_SECRET_PART = 'service-token';

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
  return secretHashMatches(hashSecretKey(secretKey), storedHash);
}

/** Like `secretKeyMatches`, for a hashed key. */
export function secretHashMatches(secretHash: string, storedHash: string): boolean {
  const actual = Buffer.from(secretHash, 'latin1');
  const expected = Buffer.from(storedHash, 'latin1');
  // Both are hashes, so the length reveals nothing about the secret.
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Content of a token's hash Secret, decoded. */
export interface TokenHashes {
  readonly accessKey: string;
  readonly secretHash: string;
  /** After a rotation: hash of the previous secret, valid until `previousExpiresAt` (RFC 3339). */
  readonly previousHash?: string;
  readonly previousExpiresAt?: string;
}

/** Hashes with the ServiceToken that they belong to. */
export interface OwnedHashes extends TokenHashes {
  readonly tokenName: string;
  readonly tokenUid: string;
}

/** Name of a token's hash Secret; a name that is too long is truncated and made unique with a hash. */
export function hashSecretName(tokenName: string): string {
  const name = `${tokenName}-hash`;
  if (name.length <= NAME_MAX_LENGTH) return name;
  return `${tokenName.slice(0, 180)}.${createHash('sha256').update(tokenName).digest('hex')}`;
}

/**
 * The Secret with a token's hashes, owned by the ServiceToken so that Kubernetes deletes both together.
 * @param owner a stored ServiceToken (it has a uid)
 */
export function buildHashSecret(owner: ServiceToken, hashes: TokenHashes): Secret {
  const reference: OwnerReference = {
    apiVersion: API_VERSION,
    kind: 'ServiceToken',
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
  };
  const data: Record<string, string> = { accessKey: hashes.accessKey, secretHash: hashes.secretHash };
  if (hashes.previousHash) data['previousHash'] = hashes.previousHash;
  if (hashes.previousExpiresAt) data['previousExpiresAt'] = hashes.previousExpiresAt;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: hashSecretName(owner.metadata.name),
      labels: { [LABELS.part]: HASH_SECRET_PART, [LABELS.managedBy]: 'olap-warden' },
      ownerReferences: [reference],
    },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, encode(value)])),
  };
}

/** Parses a hash Secret; undefined for other Secrets and invalid ones. */
export function readHashSecret(secret: Secret): OwnedHashes | undefined {
  if (secret.metadata.labels?.[LABELS.part] !== HASH_SECRET_PART) return undefined;
  const owner = secret.metadata.ownerReferences?.find(({ kind }) => kind === 'ServiceToken');
  if (!owner) return undefined;
  const accessKey = decode(secret.data?.['accessKey']);
  const secretHash = decode(secret.data?.['secretHash']);
  if (!accessKey || !secretHash) return undefined;
  const previousHash = decode(secret.data?.['previousHash']);
  const previousExpiresAt = decode(secret.data?.['previousExpiresAt']);
  return {
    tokenName: owner.name,
    tokenUid: owner.uid,
    accessKey,
    secretHash,
    ...(previousHash ? { previousHash } : {}),
    ...(previousExpiresAt ? { previousExpiresAt } : {}),
  };
}

function encode(value: string): string {
  return Buffer.from(value).toString('base64');
}

function decode(value: string | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}
