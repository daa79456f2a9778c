import { hashesOf, type TokenHashes } from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
import { legacyHashName, readLegacyHashes } from './legacy-hash.ts';
import { ownerName } from './token-secret.ts';
import { isRotationDue } from './token-issue.ts';

export interface SecretOwnership {
  /** Whether the Secret belongs to the ServiceToken. */
  readonly owns: (secret: Secret, token: ServiceToken) => boolean;
}

/** The Secrets of a ServiceToken, and the hashes of its token. */
export interface ObservedSecrets {
  /** It is in the status, or else in the Secret of version 0.1. */
  readonly hashes: TokenHashes | undefined;
  /** The Secret named by spec.secretName, if it belongs to the ServiceToken. */
  readonly tokenSecret: Secret | undefined;
  /** Name of that Secret if it does not belong to the ServiceToken. */
  readonly foreign: string | undefined;
  /** The Secret in which version 0.1 stored the hashes. It is only read if the hashes are missing or about to change. */
  readonly legacy: Secret | undefined;
  /** Secrets of a deleted ServiceToken of this name. */
  readonly orphans: readonly Secret[];
}

interface WantedSecret {
  /** The name of the ServiceToken. */
  readonly name: string;
  readonly object: ServiceToken | undefined;
  /** The name of the Secret with the token. */
  readonly secretName: string | undefined;
  readonly rules: SecretOwnership;
  /** Whether the access key is that of another ServiceToken. */
  readonly isTaken: (accessKey: string) => boolean;
  readonly signal: AbortSignal;
}

type FoundSecret = Secret | 'foreign' | undefined;

/** Reads the Secrets by their names. @throws {StoreError} forbidden, unavailable */
export async function observeSecrets(store: ResourceStore, wanted: WantedSecret): Promise<ObservedSecrets> {
  const { name, object, secretName, signal } = wanted;
  const legacyName = legacyHashName(name);
  const named = secretName === undefined ? undefined : await readSecret(store, secretName, signal);
  if (!object) {
    const legacy = await readSecret(store, legacyName, signal);
    // A folder of manifests has a view of its Secrets, also of those whose ServiceToken was deleted while no operator ran.
    const others = store.list('Secret').filter((secret) => ![secretName, legacyName].includes(secret.metadata.name));
    return { ...NONE, orphans: orphansIn([named, legacy, ...others], wanted) };
  }
  const tokenSecret = ownedIn(named, wanted);
  const hashes = hashesOf(object);
  const changes = secretName !== undefined && (!tokenSecret || isRotationDue(object, tokenSecret));
  const read =
    (hashes && !changes) || legacyName === secretName ? undefined : await readSecret(store, legacyName, signal);
  const legacy = ownedIn(read, wanted);
  const orphans = orphansIn([named, read], wanted);
  return {
    hashes: hashes ?? (legacy && migratedHashes(legacy, object, wanted)),
    tokenSecret,
    foreign:
      named !== undefined && !tokenSecret && orphans.every((orphan) => orphan !== named) ? secretName : undefined,
    legacy,
    orphans,
  };
}

const NONE = { hashes: undefined, tokenSecret: undefined, foreign: undefined, legacy: undefined };

/**
 * The hashes of version 0.1, unless the author of the Secret has chosen the access key of another token. The access key of a token from REST is the
 * name of its object, which nobody can choose for it.
 */
function migratedHashes(legacy: Secret, object: ServiceToken, { isTaken }: WantedSecret): TokenHashes | undefined {
  const hashes = readLegacyHashes(legacy, object);
  const chosen = object.spec.secretName !== undefined;
  return hashes && chosen && isTaken(hashes.accessKey) ? undefined : hashes;
}

/** The Secret if it belongs to the ServiceToken. */
function ownedIn(found: FoundSecret, { object, rules }: WantedSecret): Secret | undefined {
  return found !== undefined && found !== 'foreign' && object && rules.owns(found, object) ? found : undefined;
}

/** Those that belonged to a ServiceToken of the name. */
function orphansIn(found: readonly FoundSecret[], wanted: WantedSecret): Secret[] {
  return found
    .filter((secret) => secret !== undefined && secret !== 'foreign')
    .filter((secret) => ownerName(secret) === wanted.name && !ownedIn(secret, wanted));
}

async function readSecret(store: ResourceStore, name: string, signal: AbortSignal): Promise<FoundSecret> {
  try {
    return await store.read('Secret', name, { signal });
  } catch (error) {
    if (error instanceof StoreError && error.code === 'invalid') return 'foreign';
    throw error;
  }
}
