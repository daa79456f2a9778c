import { hashesOf, hashSecretKey, type TokenHashes } from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
import { legacyHashName, readLegacyHashes } from './legacy-hash.ts';
import { ownerName, readTokenSecret } from './token-secret.ts';

export interface SecretOwnership {
  /** Whether the Secret belongs to the ServiceToken. */
  readonly owns: (secret: Secret, token: ServiceToken) => boolean;
}

/** The Secrets of a ServiceToken, and the hashes of its token. */
export interface ObservedSecrets {
  /** They are in the status, or else in the Secret of version 0.1, or in the token Secret if the store shows it. */
  readonly hashes: TokenHashes | undefined;
  /**
   * The Secret named by spec.secretName: `present` if there is one that may be deleted, `foreign` if it belongs to somebody else, undefined if there
   * is none. The operator does not read its content.
   */
  readonly tokenSecret: 'present' | 'foreign' | undefined;
  /** The Secret in which version 0.1 stored the hashes; `unreadable` if the operator may not read it. Kubernetes is asked only if the status has no hash. */
  readonly legacy: Secret | 'unreadable' | undefined;
  /** Secrets of a deleted ServiceToken of this name, if the store shows Secrets. In Kubernetes the garbage collector deletes them. */
  readonly orphans: readonly Secret[];
}

interface WantedSecrets {
  /** The name of the ServiceToken. */
  readonly name: string;
  readonly object: ServiceToken | undefined;
  readonly rules: SecretOwnership;
  /** Whether the access key is that of another ServiceToken. */
  readonly isTaken: (accessKey: string) => boolean;
  readonly signal: AbortSignal;
}

/** Looks for the Secrets by their names. @throws {StoreError} forbidden, unavailable */
export async function observeSecrets(store: ResourceStore, wanted: WantedSecrets): Promise<ObservedSecrets> {
  const { name, object, rules } = wanted;
  const orphans = store
    .list('Secret')
    .filter((secret) => ownerName(secret) === name && !(object && rules.owns(secret, object)));
  if (!object) return { hashes: undefined, tokenSecret: undefined, legacy: undefined, orphans };
  const legacy = await readLegacy(store, object, wanted);
  return {
    hashes: hashesOf(object) ?? migratedHashes(legacy, object, wanted) ?? hashesInSecret(store, object, wanted),
    tokenSecret: await presence(store, object, wanted),
    legacy,
    orphans,
  };
}

/**
 * Asks by a deletion that deletes nothing: the response has no content of the Secret, and admission policies apply to it, so that a foreign Secret
 * is refused.
 */
async function presence(
  store: ResourceStore,
  object: ServiceToken,
  { rules, signal }: WantedSecrets,
): Promise<ObservedSecrets['tokenSecret']> {
  const { secretName } = object.spec;
  if (secretName === undefined) return undefined;
  const shown = store.get('Secret', secretName);
  if (shown && !rules.owns(shown, object)) return ownerName(shown) === object.metadata.name ? undefined : 'foreign';
  try {
    await store.delete('Secret', secretName, { dryRun: true, signal });
    return 'present';
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.code === 'not-found') return undefined;
    if (error.code === 'invalid') return 'foreign';
    throw error;
  }
}

/** Version 0.1 wrote the access key to the status, and the hashes to a Secret. */
async function readLegacy(
  store: ResourceStore,
  object: ServiceToken,
  { rules, signal }: WantedSecrets,
): Promise<Secret | 'unreadable' | undefined> {
  const name = legacyHashName(object.metadata.name);
  const ofVersion01 = object.status?.accessKey !== undefined && object.status.secretHash === undefined;
  let found = store.get('Secret', name);
  try {
    if (!found && ofVersion01) found = await store.read('Secret', name, { signal });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'forbidden') throw error;
    return 'unreadable';
  }
  return found && rules.owns(found, object) ? found : undefined;
}

/**
 * The hashes of version 0.1, unless the author of the Secret has chosen the access key of another token. The access key of a token from REST is the
 * name of its object, which nobody can choose for it.
 */
function migratedHashes(
  legacy: Secret | 'unreadable' | undefined,
  object: ServiceToken,
  { isTaken }: WantedSecrets,
): TokenHashes | undefined {
  if (legacy === undefined || legacy === 'unreadable') return undefined;
  const hashes = readLegacyHashes(legacy, object);
  const chosen = object.spec.secretName !== undefined;
  return hashes && chosen && isTaken(hashes.accessKey) ? undefined : hashes;
}

/** In a folder of manifests the status can be lost while the Secret stays. */
function hashesInSecret(
  store: ResourceStore,
  object: ServiceToken,
  { rules, isTaken }: WantedSecrets,
): TokenHashes | undefined {
  const secret = object.spec.secretName === undefined ? undefined : store.get('Secret', object.spec.secretName);
  const keys = secret && rules.owns(secret, object) ? readTokenSecret(secret) : undefined;
  if (!keys || isTaken(keys.accessKey)) return undefined;
  return { accessKey: keys.accessKey, secretHash: hashSecretKey(keys.secretKey), previousHashes: [] };
}
