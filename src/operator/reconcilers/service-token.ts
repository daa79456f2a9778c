import { isManagedByRest } from '../../access/manager/views.ts';
import { hashFields, type TokenHashes } from '../../access/service-token.ts';
import { expiryOf } from '../../access/subjects.ts';
import type { ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { Backreferences } from './backreferences.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import type { Action, Plan, PlannedStatus, StatusOf } from '../controller/plan.ts';
import type { ReconcileContext, Reconciler, ReconciledObject } from '../controller/reconciler.ts';
import { isOwnedBy, ownerName, readMarks, readTokenSecret, secretNotOwned } from '../tokens/token-secret.ts';
import { EXPIRY_NOTICE_MS } from './assignment-expiry.ts';
import { issueToken, type Issue } from '../tokens/token-issue.ts';
import { observeSecrets, type ObservedSecrets, type SecretOwnership } from '../tokens/token-secrets.ts';

/** How long the previous token stays valid after a rotation. */
export const DEFAULT_GRACE_MS = 24 * 3_600_000;
/** The REST interface writes the hash of a ServiceToken within this time. */
const REST_GRACE_MS = 60_000;
/** Interval at which the Secret of a token is read, because a Kubernetes store does not watch Secrets. */
const SECRET_CHECK_MS = 10_000;
/** Least time between two of these reads on average, which makes the interval longer with more than 100 tokens. */
const READ_SPACING_MS = 100;

export interface ServiceTokenObserved extends ReconciledObject<'ServiceToken'>, ObservedSecrets {
  /**
   * Last expiry of the RoleAssignments with the token as a subject, by name or access key, in milliseconds since the epoch: -Infinity for none,
   * Infinity for one that does not expire.
   */
  readonly assignedUntil: number;
  /** The number of all ServiceTokens. */
  readonly tokenCount: number;
  /** Whether the access key in the Secret is that of another token, or is named by an assignment already. */
  readonly keyTaken: boolean;
}

export interface TokenRules extends SecretOwnership {
  /** How long the previous token stays valid after a rotation, in milliseconds. */
  readonly graceMs: number;
  /** Whether the status of a token can be lost while its Secret stays, as in a folder of manifests without its state. */
  readonly statusCanBeLost: boolean;
}

/** Creates and rotates the tokens of ServiceTokens, and reports their state. */
export function serviceTokenReconciler(
  options: Partial<TokenRules> = {},
): Reconciler<'ServiceToken', ServiceTokenObserved> {
  const rules: TokenRules = { graceMs: DEFAULT_GRACE_MS, owns: isOwnedBy, statusCanBeLost: false, ...options };
  const assignmentsBySubject = new Backreferences();
  const tokensByAccessKey = new Backreferences();
  const tokensBySecret = new Backreferences();
  /** Names of the Secrets of deleted ServiceTokens, until their Secrets are deleted. */
  const deletedSecrets = new Map<string, string>();
  const isOfAnotherToken = (store: ResourceStore, accessKey: string, name: string): boolean =>
    (accessKey !== name && store.get('ServiceToken', accessKey) !== undefined) ||
    [...tokensByAccessKey.ownersOf(accessKey)].some((owner) => owner !== name);
  return {
    kind: 'ServiceToken',
    onOwnEvent({ type, object }) {
      const { metadata, spec, status } = object;
      const deleted = type === 'deleted';
      tokensByAccessKey.set(metadata.name, deleted || !status?.accessKey ? [] : [status.accessKey]);
      tokensBySecret.set(metadata.name, deleted || !spec.secretName ? [] : [spec.secretName]);
      if (deleted && spec.secretName) deletedSecrets.set(metadata.name, spec.secretName);
      else deletedSecrets.delete(metadata.name);
    },
    watches: [
      {
        kind: 'Secret',
        keysOf({ object }) {
          const owner = ownerName(object);
          return [...(owner ? [owner] : []), ...tokensBySecret.ownersOf(object.metadata.name)];
        },
      },
      {
        kind: 'RoleAssignment',
        keysOf({ type, object, previous }) {
          const names = (of: typeof object): string[] =>
            of.spec.subjects.filter((subject) => subject.type === 'service-token').map((subject) => subject.name);
          assignmentsBySubject.set(object.metadata.name, type === 'deleted' ? [] : names(object));
          const affected = [...names(object), ...(previous ? names(previous) : [])];
          return affected.concat(affected.flatMap((name) => Array.from(tokensByAccessKey.ownersOf(name))));
        },
      },
    ],
    async observe(store, name, signal) {
      const object = store.get('ServiceToken', name);
      const secretName = object ? object.spec.secretName : deletedSecrets.get(name);
      const isTaken = (accessKey: string): boolean => isOfAnotherToken(store, accessKey, name);
      const secrets = await observeSecrets(store, { name, object, secretName, rules, isTaken, signal });
      // If no Secret is left to delete, the name is not needed again.
      if (secrets.orphans.length === 0) deletedSecrets.delete(name);
      const accessKey = secrets.hashes?.accessKey;
      const inSecret = secrets.tokenSecret && readTokenSecret(secrets.tokenSecret)?.accessKey;
      return {
        ...secrets,
        // The author of the Secret chooses this key. A key that olap-warden has just made is not named by any assignment.
        keyTaken:
          inSecret !== undefined &&
          (isTaken(inSecret) || (!rules.statusCanBeLost && assignmentsBySubject.ownersOf(inSecret).size > 0)),
        object,
        assignedUntil: lastExpiry(store, assignmentsBySubject, accessKey === undefined ? [name] : [name, accessKey]),
        tokenCount: store.list('ServiceToken').length,
      };
    },
    temporaryState: unfinished,
    reconcile: (observed, context) => reconcile(observed, context, rules),
  };
}

function lastExpiry(store: ResourceStore, assignments: Backreferences, names: readonly string[]): number {
  let last = -Infinity;
  for (const assignment of names.flatMap((name) => [...assignments.ownersOf(name)])) {
    for (const subject of store.get('RoleAssignment', assignment)?.spec.subjects ?? []) {
      if (subject.type === 'service-token' && names.includes(subject.name)) last = Math.max(last, expiryOf(subject));
    }
  }
  return last;
}

function reconcile(
  observed: ServiceTokenObserved,
  context: ReconcileContext,
  rules: TokenRules,
): Plan<StatusOf<'ServiceToken'>> {
  const { object, orphans } = observed;
  const cleanUp = orphans.map(({ metadata }): Action => {
    return { do: 'delete', kind: 'Secret', name: metadata.name, uid: metadata.uid };
  });
  // The names of the Secrets are kept until none is left.
  if (!object) return { actions: cleanUp, ...(cleanUp.length > 0 ? { requeueAfterMs: SECRET_CHECK_MS } : {}) };
  const { now } = context;
  const lifetime = lifetimeOf(object, observed, context);
  if (lifetime.abandonedInMs <= 0) {
    const { name, uid, resourceVersion } = object.metadata;
    return { actions: [...cleanUp, { do: 'delete', kind: 'ServiceToken', name, uid, resourceVersion }] };
  }
  const usable = observed.foreign === undefined && lifetime.expiresInMs > 0;
  const issue = usable ? issueToken({ ...observed, object }, context, rules.graceMs) : existingToken(observed);
  const statusWith = (issued: Issue): PlannedStatus<StatusOf<'ServiceToken'>> =>
    statusOf(object, issued, lifetime, { foreign: observed.foreign, now });
  const status = statusWith(issue);
  return {
    ...(issue.hashesFirst ? { statusBefore: beforeRotation(status, object) } : {}),
    ...(issue.refused ? { statusIfRefused: beforeRotation(statusWith({ ...issue, ...issue.refused }), object) } : {}),
    // The Secret of version 0.1 has the hash of a token that no longer exists.
    actions: [...cleanUp, ...issue.actions, ...(issue.hashesFirst ? deleteLegacy(observed) : [])],
    status,
    ...requeue(lifetime, issue.hashes, object, now),
  };
}

/** Milliseconds, not positive if it is over. */
interface Lifetime {
  /** Milliseconds until spec.expiresAt. */
  readonly expiresInMs: number;
  /** Milliseconds until the token has no role. */
  readonly assignedForMs: number;
  /** Milliseconds until its Secret is read again. */
  readonly checkMs: number;
  /** Milliseconds until a token without a hash counts as abandoned; Infinity for any other. */
  readonly abandonedInMs: number;
}

function lifetimeOf(
  { spec }: ServiceToken,
  observed: ServiceTokenObserved,
  { now, stateAgeMs }: ReconcileContext,
): Lifetime {
  const expiresInMs = spec.expiresAt ? Date.parse(spec.expiresAt) - now : Infinity;
  const checked = spec.secretName !== undefined && expiresInMs > 0;
  const checkMs = Math.max(SECRET_CHECK_MS, observed.tokenCount * READ_SPACING_MS);
  return {
    expiresInMs,
    assignedForMs: observed.assignedUntil - now,
    checkMs: checked ? checkMs : Infinity,
    abandonedInMs: unfinished(observed) === undefined ? Infinity : REST_GRACE_MS - stateAgeMs,
  };
}

function statusOf(
  object: ServiceToken,
  issue: Issue,
  lifetime: Lifetime,
  { foreign, now }: { readonly foreign: string | undefined; readonly now: number },
): PlannedStatus<StatusOf<'ServiceToken'>> {
  const { hashes, note } = issue;
  const assigned = lifetime.assignedForMs > 0;
  const outcome = foreign === undefined ? tokenOutcome(object, hashes, assigned, now) : secretNotOwned(foreign);
  const expiring = outcome.class === 'ready' && lifetime.expiresInMs <= EXPIRY_NOTICE_MS;
  const named = expiring ? expiringSoon(object) : outcome;
  const noted = note === undefined ? named : { ...named, message: `${named.message}; ${note}` };
  const expired = lifetime.expiresInMs <= 0;
  const state = assigned && hashes ? 'Active' : 'Unassigned';
  return {
    outcome: expired ? EXPIRED : noted,
    fields: {
      state: expired ? 'Expired' : state,
      ...(hashes ? hashFields(hashes) : {}),
      ...rotation(object, issue),
    },
  };
}

/** The planned status without the rotation, which has not happened before the Secret is written. */
function beforeRotation(
  status: PlannedStatus<StatusOf<'ServiceToken'>>,
  object: ServiceToken,
): PlannedStatus<StatusOf<'ServiceToken'>> {
  const { rotatedAt: _rotatedAt, observedRotateAt: _observedRotateAt, ...fields } = status.fields;
  const { rotatedAt, observedRotateAt } = object.status ?? {};
  return {
    ...status,
    fields: { ...fields, ...(rotatedAt ? { rotatedAt } : {}), ...(observedRotateAt ? { observedRotateAt } : {}) },
  };
}

function deleteLegacy({ legacy }: ServiceTokenObserved): Action[] {
  return legacy ? [{ do: 'delete', kind: 'Secret', name: legacy.metadata.name, uid: legacy.metadata.uid }] : [];
}

/**
 * The uid of a ServiceToken between the two writes of `POST /service-tokens`. If the gateway ended there, its caller has received no response, so no one has
 * the token, and it is lost: the secret key was only in the memory of that gateway.
 */
function unfinished({ object, hashes }: ServiceTokenObserved): string | undefined {
  if (!object || hashes || object.spec.secretName !== undefined) return undefined;
  return isManagedByRest(object.metadata) ? object.metadata.uid : undefined;
}

const EXPIRED: Outcome = {
  class: 'stalled',
  reason: 'Expired',
  message: 'the token has expired: set a later spec.expiresAt, or delete the ServiceToken',
};

/** The condition of a token that is still accepted. The change of the reason is recorded as an Event. */
function expiringSoon({ spec }: ServiceToken): Outcome {
  const message = `the token is valid and has a role; it expires at ${spec.expiresAt}, within 24 hours: set a later spec.expiresAt if it is still needed`;
  return { ...READY, reason: 'Expiring', message };
}

/** A rotation request is fulfilled once a token exists, unless the rotation waits. */
function rotation(
  object: ServiceToken,
  { hashes, marks, note }: Issue,
): { rotatedAt?: string; observedRotateAt?: string } {
  const wanted = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  const observed = hashes && note === undefined ? wanted : object.status?.observedRotateAt;
  return {
    ...(marks.rotatedAt ? { rotatedAt: marks.rotatedAt } : {}),
    ...(observed === undefined ? {} : { observedRotateAt: observed.slice(0, 128) }),
  };
}

/** No action; describes the existing token. */
function existingToken({ hashes, tokenSecret }: ServiceTokenObserved): Issue {
  return { actions: [], hashes, marks: readMarks(tokenSecret) };
}

function tokenOutcome(object: ServiceToken, hashes: TokenHashes | undefined, assigned: boolean, now: number): Outcome {
  if (!hashes) {
    const overdue = ageMs(object, now) >= REST_GRACE_MS;
    return {
      class: overdue ? 'stalled' : 'waiting',
      reason: 'NoSecretName',
      message:
        'no token was created because spec.secretName is not set: delete this ServiceToken and create one with spec.secretName',
    };
  }
  if (assigned) return { ...READY, reason: 'Active', message: 'the token is valid and has a role' };
  return {
    class: 'waiting',
    reason: 'Unassigned',
    message: `the token has no role and is not accepted: create a RoleAssignment with the subject {type: service-token, name: ${object.metadata.name}}`,
  };
}

/**
 * The time until the next change that needs a reconciliation: the expiry of the token or the notice before it, the end of its last assignment, of a previous
 * token or of the time for the REST interface, or the next read of the Secret.
 */
function requeue(
  lifetime: Lifetime,
  hashes: TokenHashes | undefined,
  object: ServiceToken,
  now: number,
): { requeueAfterMs?: number } {
  const { expiresInMs, assignedForMs, checkMs, abandonedInMs } = lifetime;
  const times = [expiresInMs, expiresInMs - EXPIRY_NOTICE_MS, assignedForMs, checkMs, abandonedInMs];
  for (const { validUntil } of hashes?.previousHashes ?? []) times.push(Date.parse(validUntil) - now);
  if (!hashes) times.push(REST_GRACE_MS - ageMs(object, now));
  const next = times.filter((ms) => ms > 0 && Number.isFinite(ms)).sort((a, b) => a - b)[0];
  return next === undefined ? {} : { requeueAfterMs: next };
}

function ageMs(object: ServiceToken, now: number): number {
  const created = object.metadata.creationTimestamp;
  return created ? now - Date.parse(created) : 0;
}
