import {
  acceptedPrevious,
  hashesOf,
  hashSecretKey,
  type TokenHashes,
  type TokenKeys,
  withSecretKey,
} from '../../access/service-token.ts';
import type { ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { MAX_PREVIOUS_HASHES } from '../../resources/service-token.ts';
import { kubernetesTime } from '../../resources/time.ts';
import type { Action } from '../controller/plan.ts';
import type { ReconcileContext } from '../controller/reconciler.ts';
import { buildTokenSecret, secretNotOwned } from './token-secret.ts';

/** Actions for a token, and its state after them. */
export interface Issue {
  readonly actions: readonly Action[];
  /** Undefined if there is no token. */
  readonly hashes: TokenHashes | undefined;
  /** Whether the status must have the hashes before the actions, which create the Secret. */
  readonly hashesFirst?: true;
  /** Whether the Secret is only deleted, so that the next reconciliation can create it with another token. */
  readonly replaces?: true;
  /** Time of the last token that replaced another one, RFC 3339. */
  readonly rotatedAt: string | undefined;
  /** The last request for a rotation that is fulfilled or refused. */
  readonly observedRotateAt: string | undefined;
  /** Added to the message of the status. */
  readonly note?: string;
}

interface Observed {
  readonly object: ServiceToken;
  readonly hashes: TokenHashes | undefined;
  /** Whether the Secret exists. */
  readonly exists: boolean;
}

/**
 * Creates the token if there is none or if its Secret is gone, and replaces it if a rotation is requested.
 *
 * The operator can create and delete a Secret, and neither read nor change one, and a crash is possible after each write. A rotation therefore takes
 * two reconciliations: the first deletes the Secret, and the second, which finds none, writes the hash to the status and then creates the Secret. A
 * Secret that exists always has a token whose hash is in the status. A token that was written to the status only ends by the next one.
 */
export function issueToken(observed: Observed, context: ReconcileContext, graceMs: number): Issue {
  const { object, hashes, exists } = observed;
  const { secretName } = object.spec;
  if (!secretName) return withoutSecret(object, hashes, context.now);
  if (!exists) return newToken({ ...observed, secretName }, context, graceMs);
  const current = { ...existingToken(object, hashes), hashes: hashes && pruned(hashes, context.now) };
  // A Secret whose hashes are not in the status yet must stay. A status that was lost does not tell whether the rotation was made: it counts as made.
  if (!object.status)
    return { ...current, observedRotateAt: recorded(object.metadata.annotations?.[ANNOTATIONS.rotateAt]) };
  if (!hashesOf(object) || !isRotationDue(object)) return current;
  const accepted = acceptedPrevious(hashes, context.now);
  const [oldest] = accepted;
  if (oldest && accepted.length >= MAX_PREVIOUS_HASHES) {
    const note = `the rotation waits until ${oldest.validUntil}, because ${MAX_PREVIOUS_HASHES} previous tokens are still valid; to end all of them now, delete this ServiceToken and create it again`;
    return { ...current, note };
  }
  return { ...current, actions: [{ do: 'delete', kind: 'Secret', name: secretName, uid: undefined }], replaces: true };
}

/** No action; describes the existing token. */
export function existingToken({ status }: ServiceToken, hashes: TokenHashes | undefined): Issue {
  const { rotatedAt, observedRotateAt } = status ?? {};
  return { actions: [], hashes, rotatedAt, observedRotateAt };
}

/** Whether the annotation requests a rotation that the status has not recorded. */
export function isRotationDue({ metadata, status }: ServiceToken): boolean {
  const rotateAt = metadata.annotations?.[ANNOTATIONS.rotateAt];
  return rotateAt !== undefined && recorded(rotateAt) !== status?.observedRotateAt;
}

/** As much of the annotation as the status has space for. */
function recorded(rotateAt: string): string;
function recorded(rotateAt: string | undefined): string | undefined;
function recorded(rotateAt: string | undefined): string | undefined {
  return rotateAt?.slice(0, 128);
}

/**
 * A first token, or another one. The one before it stays valid for the grace period if a rotation was requested; otherwise its Secret was lost, and it
 * ends at once. Those before that stay valid until the times that their Events named.
 */
function newToken(
  { object, hashes, secretName }: Observed & { readonly secretName: string },
  context: ReconcileContext,
  graceMs: number,
): Issue {
  const { now } = context;
  const keys = context.newTokenKeys();
  const issued: TokenKeys = hashes ? { ...keys, accessKey: hashes.accessKey } : keys;
  const formerUntil = hashes && isRotationDue(object) ? kubernetesTime(now + graceMs) : undefined;
  const create: Action = {
    do: 'create',
    kind: 'Secret',
    object: buildTokenSecret(object, secretName, issued),
    ifExists: secretNotOwned(secretName),
  };
  const event =
    formerUntil === undefined
      ? creationEvent(secretName, issued.accessKey, hashes !== undefined)
      : rotationEvent(secretName, formerUntil);
  return {
    actions: [create, event],
    hashes: hashes
      ? withSecretKey(hashes, issued.secretKey, { now, formerUntil })
      : { accessKey: issued.accessKey, secretHash: hashSecretKey(issued.secretKey), previousHashes: [] },
    hashesFirst: true,
    rotatedAt: hashes ? kubernetesTime(now) : object.status?.rotatedAt,
    observedRotateAt: recorded(object.metadata.annotations?.[ANNOTATIONS.rotateAt]),
  };
}

function rotationEvent(secretName: string, validUntil: string): Action {
  const message = `a new token was written to Secret \`${secretName}\`; the previous token is valid until ${validUntil}`;
  return { do: 'event', type: 'Normal', reason: 'TokenRotated', message };
}

function creationEvent(secretName: string, accessKey: string, again: boolean): Action {
  const ended = again ? '; the token before it is no longer valid, because its Secret was deleted' : '';
  const message = `a token with the access key \`${accessKey}\` was written to Secret \`${secretName}\`${ended}`;
  return { do: 'event', type: 'Normal', reason: 'TokenCreated', message };
}

/** A token that was created through REST, which alone returns its secret key. */
function withoutSecret(object: ServiceToken, hashes: TokenHashes | undefined, now: number): Issue {
  if (!hashes) return existingToken(object, hashes);
  const cannotRotate: Action = {
    do: 'event',
    type: 'Warning',
    reason: 'CannotRotate',
    message:
      'the operator cannot rotate the token because spec.secretName is not set: rotate it by `POST /service-tokens/{tokenSrn}/rotate`, which returns the new token',
  };
  return {
    ...existingToken(object, pruned(hashes, now)),
    actions: isRotationDue(object) ? [cannotRotate] : [],
    observedRotateAt: recorded(object.metadata.annotations?.[ANNOTATIONS.rotateAt]),
  };
}

/** The hashes without the previous ones that have expired. */
function pruned(hashes: TokenHashes, now: number): TokenHashes {
  return { ...hashes, previousHashes: acceptedPrevious(hashes, now) };
}
