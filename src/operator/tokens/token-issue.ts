import { hashSecretKey, type TokenHashes, type TokenKeys } from '../../access/service-token.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { MAX_PREVIOUS_HASHES, type PreviousHash } from '../../resources/service-token.ts';
import { kubernetesTime } from '../../resources/time.ts';
import type { Action } from '../controller/plan.ts';
import type { ReconcileContext } from '../controller/reconciler.ts';
import {
  buildTokenSecret,
  readMarks,
  readTokenSecret,
  secretNotOwned,
  withToken,
  type TokenMarks,
} from './token-secret.ts';

/** Actions for a token, and its state after them. */
export interface Issue {
  readonly actions: readonly Action[];
  /** Undefined if there is no token. */
  readonly hashes: TokenHashes | undefined;
  /** Whether the hashes must be in the status before the actions. */
  readonly hashesFirst?: true;
  /** The hashes that are valid if the Secret could not be written. */
  readonly refused?: { readonly hashes: TokenHashes | undefined };
  readonly marks: TokenMarks;
  /** Added to the message of the status. */
  readonly note?: string;
}

interface Observed {
  readonly object: ServiceToken;
  readonly hashes: TokenHashes | undefined;
  readonly tokenSecret: Secret | undefined;
  readonly keyTaken: boolean;
}

interface IssueContext {
  readonly context: ReconcileContext;
  readonly graceMs: number;
  readonly rotateAt: string | undefined;
}

/**
 * Creates the token if there is none, replaces it if a rotation is requested, and updates the hash to match the token Secret.
 *
 * The token Secret is authoritative, and a crash is possible after each write. A first token is written before its hash, so that the hash can be
 * computed from it later. A rotation writes the hash before the token, so that the token in the Secret is valid at any time, by its current or
 * a previous hash.
 */
export function issueToken(observed: Observed, context: ReconcileContext, graceMs: number): Issue {
  const { object, hashes, tokenSecret, keyTaken } = observed;
  const { secretName } = object.spec;
  if (!secretName) return withoutSecret(observed, context.now);
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  const keys = tokenSecret && readTokenSecret(tokenSecret);
  // Another access key than before would be that of another token, and so is one that is taken when there is none before it.
  if (!tokenSecret || !keys || (hashes ? hashes.accessKey !== keys.accessKey : keyTaken))
    return newToken(observed, secretName, { context, graceMs, rotateAt });
  if (isRotationDue(object, tokenSecret)) return rotate(hashes, tokenSecret, keys, { context, graceMs, rotateAt });
  const wanted = matchingHashes(keys, hashes, context.now, graceMs);
  return { actions: [], hashes: wanted, marks: readMarks(tokenSecret) };
}

/** Whether the annotation requests a rotation that neither the status nor the Secret has recorded. */
export function isRotationDue(object: ServiceToken, tokenSecret: Secret | undefined): boolean {
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  const done = [object.status?.observedRotateAt, readMarks(tokenSecret).rotateAt];
  return rotateAt !== undefined && !done.includes(rotateAt);
}

/** The hashes that match the token in the Secret. If it was replaced by hand, the one before it is valid for the grace period. */
function matchingHashes(keys: TokenKeys, hashes: TokenHashes | undefined, now: number, graceMs: number): TokenHashes {
  const secretHash = hashSecretKey(keys.secretKey);
  if (!hashes || hashes.secretHash === secretHash)
    return { accessKey: keys.accessKey, secretHash, previousHashes: valid(hashes, now) };
  const replaced = { hash: hashes.secretHash, validUntil: kubernetesTime(now + graceMs) };
  const others = valid(hashes, now).filter(({ hash }) => hash !== secretHash && hash !== replaced.hash);
  return {
    accessKey: keys.accessKey,
    secretHash,
    previousHashes: [...others.slice(1 - MAX_PREVIOUS_HASHES), replaced],
  };
}

/**
 * A first token, or another one after the Secret was deleted or damaged. The lost token and the previous ones become invalid at once: its hash is
 * replaced before the new token is written.
 */
function newToken(
  { object, hashes, tokenSecret }: Observed,
  secretName: string,
  { context, rotateAt }: IssueContext,
): Issue {
  const keys = context.newTokenKeys();
  const issued: TokenKeys = hashes ? { ...keys, accessKey: hashes.accessKey } : keys;
  const marks = { rotateAt, rotatedAt: hashes ? kubernetesTime(context.now) : undefined };
  const write: Action = tokenSecret
    ? { do: 'update', kind: 'Secret', object: withToken(tokenSecret, issued, marks) }
    : {
        do: 'create',
        kind: 'Secret',
        object: buildTokenSecret(object, secretName, issued, marks),
        ifExists: secretNotOwned(secretName),
      };
  const ended = hashes ? '; the token before it is no longer valid, because its Secret was deleted or changed' : '';
  const event: Action = {
    do: 'event',
    type: 'Normal',
    reason: 'TokenCreated',
    message: `a token with the access key \`${issued.accessKey}\` was written to Secret \`${secretName}\`${ended}`,
  };
  const wanted = { accessKey: issued.accessKey, secretHash: hashSecretKey(issued.secretKey), previousHashes: [] };
  return {
    actions: [write, event],
    hashes: wanted,
    ...(hashes ? { hashesFirst: true as const } : {}),
    // The lost token has ended nevertheless.
    refused: { hashes: hashes && wanted },
    marks,
  };
}

/** The tokens before it stay valid until the times that their Events named. */
function rotate(
  hashes: TokenHashes | undefined,
  tokenSecret: Secret,
  current: TokenKeys,
  { context, graceMs, rotateAt }: IssueContext,
): Issue {
  const currentHash = hashSecretKey(current.secretKey);
  const previousHashes = valid(hashes, context.now).filter(({ hash }) => hash !== currentHash);
  const [oldest] = previousHashes;
  if (oldest && previousHashes.length >= MAX_PREVIOUS_HASHES) {
    const note = `the rotation waits until ${oldest.validUntil}, because ${MAX_PREVIOUS_HASHES} previous tokens are still valid; to end all of them now, delete Secret \`${tokenSecret.metadata.name}\``;
    return {
      actions: [],
      hashes: matchingHashes(current, hashes, context.now, graceMs),
      marks: readMarks(tokenSecret),
      note,
    };
  }
  const keys = { accessKey: current.accessKey, secretKey: context.newTokenKeys().secretKey };
  const validUntil = kubernetesTime(context.now + graceMs);
  const wanted: TokenHashes = {
    accessKey: keys.accessKey,
    secretHash: hashSecretKey(keys.secretKey),
    previousHashes: [...previousHashes, { hash: currentHash, validUntil }],
  };
  const marks = { rotateAt, rotatedAt: kubernetesTime(context.now) };
  const event: Action = {
    do: 'event',
    type: 'Normal',
    reason: 'TokenRotated',
    message: `a new token was written to Secret \`${tokenSecret.metadata.name}\`; the previous token is valid until ${validUntil}`,
  };
  return {
    actions: [{ do: 'update', kind: 'Secret', object: withToken(tokenSecret, keys, marks) }, event],
    hashes: wanted,
    hashesFirst: true,
    // The token in the Secret stays the current one, so that the rotation is still due.
    refused: { hashes: matchingHashes(current, hashes, context.now, graceMs) },
    marks,
  };
}

/** A token that was created through REST: its secret key is not stored. */
function withoutSecret({ object, hashes }: Observed, now: number): Issue {
  if (!hashes) return { actions: [], hashes: undefined, marks: readMarks(undefined) };
  const actions: Action[] = [];
  const rotateAt = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  if (rotateAt !== undefined && rotateAt !== object.status?.observedRotateAt) {
    actions.push({
      do: 'event',
      type: 'Warning',
      reason: 'CannotRotate',
      message: 'the token cannot be rotated because spec.secretName is not set: create another ServiceToken instead',
    });
  }
  return {
    actions,
    hashes: { ...hashes, previousHashes: valid(hashes, now) },
    marks: { rotateAt, rotatedAt: object.status?.rotatedAt },
  };
}

/** Previous hashes that have not expired, the one that expires first at the beginning. */
function valid(hashes: TokenHashes | undefined, now: number): PreviousHash[] {
  return [...(hashes?.previousHashes ?? [])]
    .filter(({ validUntil }) => Date.parse(validUntil) > now)
    .sort((a, b) => Date.parse(a.validUntil) - Date.parse(b.validUntil));
}
