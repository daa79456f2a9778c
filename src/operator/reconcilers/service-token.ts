import { isManagedByRest } from '../../access/manager/views.ts';
import type { Secret, ServiceToken } from '../../resources/kinds.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { expiryOf } from '../../access/subjects.ts';
import { hashSecretName, readHashSecret, type TokenHashes } from '../../access/service-token.ts';
import { Backreferences } from '../backreferences.ts';
import { READY, type Outcome } from '../outcome.ts';
import type { Action, Plan, StatusOf } from '../plan.ts';
import type { ReconcileContext, Reconciler, Subject } from '../reconciler.ts';
import { isOwnedBy, ownerName, readMarks, secretNotOwned } from '../token-secret.ts';
import { issueToken, type Issue } from './token-issue.ts';

/** How long the previous token stays valid after a rotation. */
export const DEFAULT_GRACE_MS = 24 * 3_600_000;
/** The REST interface creates the hash Secret of a ServiceToken within this time. */
const REST_GRACE_MS = 60_000;

export interface ServiceTokenObserved extends Subject<'ServiceToken'> {
  /**
   * Last expiry of the RoleAssignments with the token as a subject, by name or access key, in milliseconds since the epoch: -Infinity for none,
   * Infinity for one that does not expire.
   */
  readonly assignedUntil: number;
  /** The Secret with the hashes, which may belong to another object. */
  readonly hashSecret: Secret | undefined;
  /** The Secret named by spec.secretName, if the store shows it. */
  readonly tokenSecret: Secret | undefined;
  /** Secrets of a deleted ServiceToken of this name. */
  readonly orphans: readonly Secret[];
}

export interface TokenRules {
  /** How long the previous token stays valid after a rotation, in milliseconds. */
  readonly graceMs: number;
  /** Whether the Secret belongs to the ServiceToken. */
  readonly owns: (secret: Secret, token: ServiceToken) => boolean;
}

/** Creates and rotates the tokens of ServiceTokens, and reports their state. */
export function serviceTokenReconciler(
  options: Partial<TokenRules> = {},
): Reconciler<'ServiceToken', ServiceTokenObserved> {
  const rules: TokenRules = { graceMs: DEFAULT_GRACE_MS, owns: isOwnedBy, ...options };
  const assignmentsBySubject = new Backreferences();
  const tokensByAccessKey = new Backreferences();
  const tokensBySecret = new Backreferences();
  return {
    kind: 'ServiceToken',
    onOwnEvent({ type, object }) {
      const { metadata, spec, status } = object;
      const deleted = type === 'deleted';
      tokensByAccessKey.set(metadata.name, deleted || !status?.accessKey ? [] : [status.accessKey]);
      tokensBySecret.set(metadata.name, deleted || !spec.secretName ? [] : [spec.secretName]);
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
    observe: (store, name) => observe(store, name, assignmentsBySubject, rules),
    reconcile: (observed, context) => reconcile(observed, context, rules),
  };
}

function observe(
  store: ResourceStore,
  name: string,
  assignments: Backreferences,
  rules: TokenRules,
): ServiceTokenObserved {
  const object = store.get('ServiceToken', name);
  const hashSecret = store.get('Secret', hashSecretName(name));
  const accessKey = hashSecret && readHashSecret(hashSecret)?.accessKey;
  const isOrphan = (secret: Secret | undefined): secret is Secret =>
    secret !== undefined && ownerName(secret) === name && !(object && rules.owns(secret, object));
  const tokenSecret = object?.spec.secretName ? store.get('Secret', object.spec.secretName) : undefined;
  // Without the ServiceToken the name of its token Secret is unknown, so all Secrets are searched.
  const orphans = object ? [hashSecret, tokenSecret].filter(isOrphan) : store.list('Secret').filter(isOrphan);
  return {
    object,
    assignedUntil: lastExpiry(store, assignments, accessKey === undefined ? [name] : [name, accessKey]),
    hashSecret: isOrphan(hashSecret) ? undefined : hashSecret,
    tokenSecret: isOrphan(tokenSecret) ? undefined : tokenSecret,
    orphans,
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
  if (!object) return { actions: cleanUp };
  const { now } = context;
  if (isAbandoned(observed, now)) {
    const { name, uid } = object.metadata;
    return { actions: [...cleanUp, { do: 'delete', kind: 'ServiceToken', name, uid }] };
  }
  const expiresInMs = object.spec.expiresAt ? Date.parse(object.spec.expiresAt) - now : Infinity;
  const expired = expiresInMs <= 0;
  const assignedForMs = observed.assignedUntil - now;
  const assigned = assignedForMs > 0;
  const problem = ownershipProblem(object, observed, rules);
  const issue: Issue =
    problem || expired ? existingToken(observed, rules) : issueToken({ ...observed, object }, context, rules.graceMs);
  const { hashes } = issue;
  const state = expired ? 'Expired' : assigned && hashes ? 'Active' : 'Unassigned';
  const outcome = expired ? EXPIRED : (problem ?? tokenOutcome(object, hashes, assigned, now));
  const { rotatedAt } = issue.marks;
  return {
    actions: [...cleanUp, ...issue.actions],
    status: {
      outcome,
      fields: {
        state,
        ...(hashes ? { accessKey: hashes.accessKey } : {}),
        ...(rotatedAt ? { rotatedAt } : {}),
        ...observedRotation(object, hashes),
      },
    },
    ...requeue([expiresInMs, assignedForMs], hashes, object, now),
  };
}

/**
 * Whether a gateway ended between the two writes of `POST /service-tokens`. Its caller has received no response, so no one has the token, and it is lost:
 * the secret key was only in the memory of that gateway.
 */
function isAbandoned({ object, hashSecret }: ServiceTokenObserved, now: number): boolean {
  if (!object || hashSecret || object.spec.secretName !== undefined) return false;
  return isManagedByRest(object.metadata) && ageMs(object, now) >= REST_GRACE_MS;
}

const EXPIRED: Outcome = {
  class: 'stalled',
  reason: 'Expired',
  message: 'the token has expired: set a later spec.expiresAt, or delete the ServiceToken',
};

/** A rotation request is fulfilled once a token exists. */
function observedRotation(object: ServiceToken, hashes: TokenHashes | undefined): { observedRotateAt?: string } {
  const wanted = object.metadata.annotations?.[ANNOTATIONS.rotateAt];
  const observed = hashes ? wanted : object.status?.observedRotateAt;
  return observed === undefined ? {} : { observedRotateAt: observed.slice(0, 128) };
}

/** No action; describes the existing token. */
function existingToken({ hashSecret, tokenSecret, object }: ServiceTokenObserved, rules: TokenRules): Issue {
  const owned = hashSecret && object && rules.owns(hashSecret, object) ? readHashSecret(hashSecret) : undefined;
  return { actions: [], hashes: owned, marks: readMarks(tokenSecret) };
}

function ownershipProblem(
  object: ServiceToken,
  observed: ServiceTokenObserved,
  rules: TokenRules,
): Outcome | undefined {
  const { secretName } = object.spec;
  const hashName = hashSecretName(object.metadata.name);
  if (secretName === hashName) {
    const message = `spec.secretName must not be \`${hashName}\`, the Secret with the hash of the token: create a ServiceToken with another spec.secretName`;
    return { class: 'stalled', reason: 'InvalidSecretName', message };
  }
  const foreign = [observed.tokenSecret, observed.hashSecret].find((secret) => secret && !rules.owns(secret, object));
  return foreign && secretNotOwned(foreign.metadata.name);
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

/** The next time-based change: expiry of the token or of its last assignment, end of the rotation's grace period, or end of the time for the REST interface. */
function requeue(
  expiries: readonly number[],
  hashes: TokenHashes | undefined,
  object: ServiceToken,
  now: number,
): { requeueAfterMs?: number } {
  const times = [...expiries];
  if (hashes?.previousExpiresAt) times.push(Date.parse(hashes.previousExpiresAt) - now);
  if (!hashes) times.push(REST_GRACE_MS - ageMs(object, now));
  const next = times.filter((ms) => ms > 0 && Number.isFinite(ms)).sort((a, b) => a - b)[0];
  return next === undefined ? {} : { requeueAfterMs: next };
}

function ageMs(object: ServiceToken, now: number): number {
  const created = object.metadata.creationTimestamp;
  return created ? now - Date.parse(created) : 0;
}
