import {
  buildHashSecret,
  hashSecretKey,
  readHashSecret,
  type TokenHashes,
  type TokenKeys,
} from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { kubernetesTime } from '../../resources/time.ts';
import type { Action } from '../plan.ts';
import type { ReconcileContext } from '../reconciler.ts';
import {
  buildTokenSecret,
  readMarks,
  readTokenSecret,
  secretNotOwned,
  withToken,
  type TokenMarks,
} from '../token-secret.ts';

/** Actions for a token, and its state after them. */
export interface Issue {
  readonly actions: readonly Action[];
  /** Undefined if there is no token. */
  readonly hashes: TokenHashes | undefined;
  readonly marks: TokenMarks;
}

interface Observed {
  readonly object: ServiceToken;
  readonly hashSecret: Secret | undefined;
  readonly tokenSecret: Secret | undefined;
}

/**
 * Creates the token if there is none, replaces it if a rotation is requested, and updates the hash to match the token Secret.
 *
 * The token Secret is authoritative, and a crash is possible after each write. A first token is written before its hash, so that the hash can be
 * computed from it later. A rotation writes the hash before the token, so that the token in the Secret is valid at any time, by its current or
 * its previous hash.
 */
export function issueToken(observed: Observed, context: ReconcileContext, graceMs: number): Issue {
  const { object, hashSecret, tokenSecret } = observed;
  const { secretName } = object.spec;
  const hashes = hashSecret && readHashSecret(hashSecret);
  if (!secretName) return withoutSecret(observed, hashes, context.now);
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  const keys = tokenSecret && readTokenSecret(tokenSecret);
  if (!tokenSecret || !keys) return firstToken(observed, secretName, hashes, { context, graceMs, rotateAt });
  if (isRotationDue(object, tokenSecret, rotateAt)) {
    return rotate(observed, tokenSecret, keys, { context, graceMs, rotateAt });
  }
  const wanted = matchingHashes(keys, hashes, context.now, graceMs);
  return { actions: writeHash(object, hashSecret, hashes, wanted), hashes: wanted, marks: readMarks(tokenSecret) };
}

function isRotationDue(object: ServiceToken, tokenSecret: Secret, rotateAt: string | undefined): boolean {
  const done = [object.status?.observedRotateAt, readMarks(tokenSecret).rotateAt];
  return rotateAt !== undefined && !done.includes(rotateAt);
}

/** The hashes that match the token in the Secret. */
function matchingHashes(keys: TokenKeys, hashes: TokenHashes | undefined, now: number, graceMs: number): TokenHashes {
  const wanted = hashesOf(keys);
  if (!hashes) return wanted;
  const matches = hashes.accessKey === wanted.accessKey && hashes.secretHash === wanted.secretHash;
  return matches ? withoutExpired(hashes, now) : { ...wanted, ...previous(hashes.secretHash, now, graceMs) };
}

interface IssueContext {
  readonly context: ReconcileContext;
  readonly graceMs: number;
  readonly rotateAt: string | undefined;
}

/** Also after the Secret was deleted or damaged: the lost token then stays valid for the grace period. */
function firstToken(
  { object, hashSecret, tokenSecret }: Observed,
  secretName: string,
  hashes: TokenHashes | undefined,
  { context, graceMs, rotateAt }: IssueContext,
): Issue {
  const keys = context.newTokenKeys();
  const issued: TokenKeys = hashes ? { ...keys, accessKey: hashes.accessKey } : keys;
  const wanted = hashes
    ? { ...hashesOf(issued), ...previous(hashes.secretHash, context.now, graceMs) }
    : hashesOf(issued);
  const marks = { rotateAt, rotatedAt: hashes ? kubernetesTime(context.now) : undefined };
  const write: Action = tokenSecret
    ? { do: 'update', kind: 'Secret', object: withToken(tokenSecret, issued, marks) }
    : {
        do: 'create',
        kind: 'Secret',
        object: buildTokenSecret(object, secretName, issued, marks),
        ifExists: secretNotOwned(secretName),
      };
  const event: Action = {
    do: 'event',
    type: 'Normal',
    reason: 'TokenCreated',
    message: `a token with the access key \`${issued.accessKey}\` was written to Secret \`${secretName}\``,
  };
  return { actions: [write, ...writeHash(object, hashSecret, hashes, wanted), event], hashes: wanted, marks };
}

function rotate(
  { object, hashSecret }: Observed,
  tokenSecret: Secret,
  current: TokenKeys,
  { context, graceMs, rotateAt }: IssueContext,
): Issue {
  const keys = { accessKey: current.accessKey, secretKey: context.newTokenKeys().secretKey };
  const wanted = { ...hashesOf(keys), ...previous(hashSecretKey(current.secretKey), context.now, graceMs) };
  const marks = { rotateAt, rotatedAt: kubernetesTime(context.now) };
  const hashes = hashSecret && readHashSecret(hashSecret);
  const event: Action = {
    do: 'event',
    type: 'Normal',
    reason: 'TokenRotated',
    message: `a new token was written to Secret \`${tokenSecret.metadata.name}\`; the previous token is valid until ${wanted.previousExpiresAt}`,
  };
  return {
    actions: [
      ...writeHash(object, hashSecret, hashes, wanted),
      { do: 'update', kind: 'Secret', object: withToken(tokenSecret, keys, marks) },
      event,
    ],
    hashes: wanted,
    marks,
  };
}

/** A token that was created through REST: its secret key is not stored. */
function withoutSecret({ object, hashSecret }: Observed, hashes: TokenHashes | undefined, now: number): Issue {
  if (!hashes) return { actions: [], hashes: undefined, marks: readMarks(undefined) };
  const wanted = withoutExpired(hashes, now);
  const actions = writeHash(object, hashSecret, hashes, wanted);
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  if (rotateAt !== undefined && rotateAt !== object.status?.observedRotateAt) {
    actions.push({
      do: 'event',
      type: 'Warning',
      reason: 'CannotRotate',
      message: 'the token cannot be rotated because spec.secretName is not set: create another ServiceToken instead',
    });
  }
  return { actions, hashes: wanted, marks: { rotateAt, rotatedAt: object.status?.rotatedAt } };
}

function hashesOf(keys: TokenKeys): TokenHashes {
  return { accessKey: keys.accessKey, secretHash: hashSecretKey(keys.secretKey) };
}

function previous(hash: string, now: number, graceMs: number): { previousHash: string; previousExpiresAt: string } {
  return { previousHash: hash, previousExpiresAt: kubernetesTime(now + graceMs) };
}

function withoutExpired(hashes: TokenHashes, now: number): TokenHashes {
  const { accessKey, secretHash, previousHash, previousExpiresAt } = hashes;
  if (!previousHash || !previousExpiresAt || Date.parse(previousExpiresAt) <= now) return { accessKey, secretHash };
  return { accessKey, secretHash, previousHash, previousExpiresAt };
}

function writeHash(
  object: ServiceToken,
  secret: Secret | undefined,
  current: TokenHashes | undefined,
  wanted: TokenHashes,
): Action[] {
  const built = buildHashSecret(object, wanted);
  if (!secret) {
    return [{ do: 'create', kind: 'Secret', object: built, ifExists: secretNotOwned(built.metadata.name) }];
  }
  const same =
    current?.accessKey === wanted.accessKey &&
    current.secretHash === wanted.secretHash &&
    current.previousHash === wanted.previousHash &&
    current.previousExpiresAt === wanted.previousExpiresAt;
  if (same || !built.data) return [];
  return [{ do: 'update', kind: 'Secret', object: { ...secret, data: built.data } }];
}
