import {
  buildHashSecret,
  hashSecretKey,
  readHashSecret,
  type TokenHashes,
  type TokenKeys,
} from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { toKubernetesTime } from '../outcome.ts';
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

/** What is to be done about a token, and how it stands once that is done. */
export interface Issue {
  readonly actions: readonly Action[];
  /** Undefined while there is no token. */
  readonly hashes: TokenHashes | undefined;
  readonly marks: TokenMarks;
}

interface Observed {
  readonly object: ServiceToken;
  readonly hashSecret: Secret | undefined;
  readonly tokenSecret: Secret | undefined;
}

/**
 * Makes the token where there is none, replaces it where a rotation is asked for, and keeps the hash in step with the Secret.
 *
 * The Secret with the token is the truth, and every step can be cut off after any write:
 * a first token is written before its hash, so the hash can be made from it later;
 * a rotation writes the hash before the token, so what the Secret holds works at every moment, as the hash before or the present one.
 */
export function issueToken(observed: Observed, context: ReconcileContext, graceMs: number): Issue {
  const { object, hashSecret, tokenSecret } = observed;
  const { secretName } = object.spec;
  const hashes = hashSecret && readHashSecret(hashSecret);
  if (!secretName) return withoutSecret(observed, hashes, context.now);
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  const keys = tokenSecret && readTokenSecret(tokenSecret);
  if (!tokenSecret || !keys) return firstToken(observed, secretName, hashes, { context, graceMs, rotateAt });
  if (rotationIsDue(object, tokenSecret, rotateAt)) {
    return rotate(observed, tokenSecret, keys, { context, graceMs, rotateAt });
  }
  const wanted = hashesInStep(keys, hashes, context.now, graceMs);
  return { actions: writeHash(object, hashSecret, hashes, wanted), hashes: wanted, marks: readMarks(tokenSecret) };
}

function rotationIsDue(object: ServiceToken, tokenSecret: Secret, rotateAt: string | undefined): boolean {
  const done = [object.status?.observedRotateAt, readMarks(tokenSecret).rotateAt];
  return rotateAt !== undefined && !done.includes(rotateAt);
}

/** What the hashes have to be for the token that the Secret holds. */
function hashesInStep(keys: TokenKeys, hashes: TokenHashes | undefined, now: Date, graceMs: number): TokenHashes {
  const wanted = hashesOf(keys);
  if (!hashes) return wanted;
  const inStep = hashes.accessKey === wanted.accessKey && hashes.secretHash === wanted.secretHash;
  return inStep ? withoutExpired(hashes, now) : { ...wanted, ...previous(hashes.secretHash, now, graceMs) };
}

interface Drawing {
  readonly context: ReconcileContext;
  readonly graceMs: number;
  readonly rotateAt: string | undefined;
}

/** Also where somebody has deleted or damaged the Secret: then the token that is lost works on for the grace period. */
function firstToken(
  { object, hashSecret, tokenSecret }: Observed,
  secretName: string,
  hashes: TokenHashes | undefined,
  { context, graceMs, rotateAt }: Drawing,
): Issue {
  const keys = context.newTokenKeys();
  const kept: TokenKeys = hashes ? { ...keys, accessKey: hashes.accessKey } : keys;
  const wanted = hashes ? { ...hashesOf(kept), ...previous(hashes.secretHash, context.now, graceMs) } : hashesOf(kept);
  const marks = { rotateAt, rotatedAt: hashes ? toKubernetesTime(context.now) : undefined };
  const write: Action = tokenSecret
    ? { do: 'update', kind: 'Secret', object: withToken(tokenSecret, kept, marks) }
    : {
        do: 'create',
        kind: 'Secret',
        object: buildTokenSecret(object, secretName, kept, marks),
        ifExists: secretNotOwned(secretName),
      };
  const told: Action = {
    do: 'event',
    type: 'Normal',
    reason: 'TokenCreated',
    message: `a token with the access key \`${kept.accessKey}\` was written to Secret \`${secretName}\``,
  };
  return { actions: [write, ...writeHash(object, hashSecret, hashes, wanted), told], hashes: wanted, marks };
}

function rotate(
  { object, hashSecret }: Observed,
  tokenSecret: Secret,
  current: TokenKeys,
  { context, graceMs, rotateAt }: Drawing,
): Issue {
  const keys = { accessKey: current.accessKey, secretKey: context.newTokenKeys().secretKey };
  const wanted = { ...hashesOf(keys), ...previous(hashSecretKey(current.secretKey), context.now, graceMs) };
  const marks = { rotateAt, rotatedAt: toKubernetesTime(context.now) };
  const hashes = hashSecret && readHashSecret(hashSecret);
  const told: Action = {
    do: 'event',
    type: 'Normal',
    reason: 'TokenRotated',
    message: `a new token was written to Secret \`${tokenSecret.metadata.name}\`; the one before works until ${wanted.previousExpiresAt}`,
  };
  return {
    actions: [
      ...writeHash(object, hashSecret, hashes, wanted),
      { do: 'update', kind: 'Secret', object: withToken(tokenSecret, keys, marks) },
      told,
    ],
    hashes: wanted,
    marks,
  };
}

/** A token made by REST: its secret was shown once and lies nowhere. */
function withoutSecret({ object, hashSecret }: Observed, hashes: TokenHashes | undefined, now: Date): Issue {
  if (!hashes) return { actions: [], hashes: undefined, marks: readMarks(undefined) };
  const wanted = withoutExpired(hashes, now);
  const actions = writeHash(object, hashSecret, hashes, wanted);
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  if (rotateAt !== undefined && rotateAt !== object.status?.observedRotateAt) {
    actions.push({
      do: 'event',
      type: 'Warning',
      reason: 'CannotRotate',
      message: 'spec.secretName does not say where to write a new token: make another ServiceToken instead',
    });
  }
  return { actions, hashes: wanted, marks: { rotateAt, rotatedAt: object.status?.rotatedAt } };
}

function hashesOf(keys: TokenKeys): TokenHashes {
  return { accessKey: keys.accessKey, secretHash: hashSecretKey(keys.secretKey) };
}

function previous(hash: string, now: Date, graceMs: number): { previousHash: string; previousExpiresAt: string } {
  return { previousHash: hash, previousExpiresAt: toKubernetesTime(new Date(now.getTime() + graceMs)) };
}

function withoutExpired(hashes: TokenHashes, now: Date): TokenHashes {
  const { accessKey, secretHash, previousHash, previousExpiresAt } = hashes;
  if (!previousHash || !previousExpiresAt || Date.parse(previousExpiresAt) <= now.getTime())
    return { accessKey, secretHash };
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
