import { hash } from 'node:crypto';
import type { TokenHashes } from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { LABELS, NAME_MAX_LENGTH } from '../../resources/meta.ts';
import { LEGACY_HASH_PART } from '../../store/secret-label.ts';

/** Name of the Secret in which version 0.1 stored the hashes of a token. */
export function legacyHashName(tokenName: string): string {
  const name = `${tokenName}-hash`;
  if (name.length <= NAME_MAX_LENGTH) return name;
  return `${tokenName.slice(0, 180)}.${hash('sha256', tokenName)}`;
}

/**
 * The hashes in a Secret of version 0.1; undefined for any other Secret. The caller checks that it belongs to the ServiceToken.
 *
 * A token without spec.secretName was created through REST, which named the object after its access key.
 */
export function readLegacyHashes(secret: Secret, token: ServiceToken): TokenHashes | undefined {
  if (secret.metadata.labels?.[LABELS.part] !== LEGACY_HASH_PART) return undefined;
  const value = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
  const [accessKey, secretHash] = [value('accessKey'), value('secretHash')];
  if (!accessKey || !secretHash) return undefined;
  if (token.spec.secretName === undefined && accessKey !== token.metadata.name) return undefined;
  const previous = { hash: value('previousHash'), validUntil: value('previousExpiresAt') };
  return { accessKey, secretHash, previousHashes: previous.hash && previous.validUntil ? [previous] : [] };
}
