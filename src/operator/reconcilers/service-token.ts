import { isManagedByRest } from '../../access/manager/views.ts';
import { DEFAULT_GRACE_MS, hashFields, type TokenHashes } from '../../access/service-token.ts';
import { expiryOf } from '../../access/subjects.ts';
import type { RoleAssignment, ServiceToken } from '../../resources/kinds.ts';
import { endOf } from '../../resources/time.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { Backreferences } from './backreferences.ts';
import type { Outcome } from '../controller/outcome.ts';
import type { Action, Plan, PlannedStatus, StatusOf } from '../controller/plan.ts';
import type { ReconcileContext, Reconciler, ReconciledObject } from '../controller/reconciler.ts';
import { assignedCondition, obstacleOf, tokenOutcome } from './service-token-outcome.ts';
import { isOwnedBy, ownerName } from '../tokens/token-secret.ts';
import { EXPIRY_NOTICE_MS } from './assignment-expiry.ts';
import { halfDeleted, unassign } from '../tokens/half-deleted.ts';
import { existingToken, isRotationDue, issueToken, type Issue } from '../tokens/token-issue.ts';
import { observeSecrets, type ObservedSecrets, type SecretOwnership } from '../tokens/token-secrets.ts';

/** The REST interface writes the hash of a ServiceToken within this time. */
const REST_GRACE_MS = 60_000;
/** Interval at which a name that somebody else's Secret has is tried again, because a Kubernetes store does not watch Secrets. */
const RETRY_MS = 60_000;
/** The same for a new ServiceToken: the garbage collector may not have deleted the Secret of an earlier one yet. */
const FIRST_RETRY_MS = 5_000;

export interface ServiceTokenObserved extends ReconciledObject<'ServiceToken'>, ObservedSecrets {
  /**
   * Last expiry of the RoleAssignments with the token as a subject, by name or access key, in milliseconds since the epoch: -Infinity for none,
   * Infinity for one that does not expire.
   */
  readonly assignedUntil: number;
  /** The RoleAssignments with the token as a subject, by name or access key. */
  readonly assignments: readonly RoleAssignment[];
}

export interface TokenRules extends SecretOwnership {
  /** How long the previous token stays valid after a rotation, in milliseconds. */
  readonly graceMs: number;
}

/** Creates and rotates the tokens of ServiceTokens, and reports their state. */
export function serviceTokenReconciler(
  options: Partial<TokenRules> = {},
): Reconciler<'ServiceToken', ServiceTokenObserved> {
  const rules: TokenRules = { graceMs: DEFAULT_GRACE_MS, owns: isOwnedBy, ...options };
  const assignmentsBySubject = new Backreferences();
  const tokensByAccessKey = new Backreferences();
  const tokensBySecret = new Backreferences();
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
      const isTaken = (accessKey: string): boolean => isOfAnotherToken(store, accessKey, name);
      const secrets = await observeSecrets(store, { name, object, rules, isTaken, signal });
      const accessKey = secrets.hashes?.accessKey;
      const names = accessKey === undefined ? [name] : [name, accessKey];
      const assignments = assignmentsOf(store, assignmentsBySubject, names);
      return {
        ...secrets,
        object,
        assignedUntil: lastExpiry(assignments, names),
        assignments,
      };
    },
    temporaryState: (observed) => unfinished(observed) ?? halfDeleted(observed) ?? replacing(observed),
    reconcile: (observed, context) => reconcile(observed, context, rules),
  };
}

function assignmentsOf(
  store: ResourceStore,
  bySubject: Backreferences,
  tokenNames: readonly string[],
): readonly RoleAssignment[] {
  const names = new Set(tokenNames.flatMap((name) => [...bySubject.ownersOf(name)]));
  return [...names].map((name) => store.get('RoleAssignment', name)).filter((found) => found !== undefined);
}

function lastExpiry(assignments: readonly RoleAssignment[], names: readonly string[]): number {
  let last = -Infinity;
  for (const subject of assignments.flatMap(({ spec }) => spec.subjects)) {
    if (subject.type === 'service-token' && names.includes(subject.name)) last = Math.max(last, expiryOf(subject));
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
  const lifetime = lifetimeOf(object, observed, context);
  if (lifetime.abandonedInMs <= 0) {
    const { name, uid, resourceVersion } = object.metadata;
    const assigned = halfDeleted(observed) === undefined ? [] : unassign(observed);
    return { actions: [...cleanUp, ...assigned, { do: 'delete', kind: 'ServiceToken', name, uid, resourceVersion }] };
  }
  const obstacle = obstacleOf(object, observed);
  const usable = obstacle === undefined && lifetime.expiresInMs > 0;
  const issue = usable
    ? issueToken(
        { object, hashes: observed.hashes, exists: observed.tokenSecret !== undefined },
        context,
        rules.graceMs,
      )
    : existingToken(object, observed.hashes);
  const statusWith = (issued: Issue): PlannedStatus<StatusOf<'ServiceToken'>> => {
    const overdue = ageMs(object, now) >= REST_GRACE_MS;
    return statusOf(
      { ...observed, object },
      issued,
      lifetime,
      tokenOutcome(object, issued, { ...lifetime, obstacle, overdue }),
    );
  };
  const status = statusWith(issue);
  const actions = [...cleanUp, ...issue.actions];
  if (issue.replaces) {
    // At once, and with pauses that double while a finalizer keeps the Secret.
    return { actions, statusIfRefused: status, requeueAfterMs: Math.min(context.stateAgeMs, RETRY_MS) };
  }
  return {
    ...(issue.hashesFirst ? { statusBefore: status } : {}),
    // A token that was never written has no hash. One that is lost has ended nevertheless.
    ...(observed.hashes ? {} : { statusIfRefused: statusWith(existingToken(object, undefined)) }),
    // The Secret of version 0.1 has the hash of a token that no longer exists.
    actions: [...actions, ...(issue.hashesFirst ? deleteLegacy(observed) : [])],
    status,
    ...requeue(lifetime, issue.hashes, object, { now, obstructed: obstacle !== undefined }),
  };
}

/** Milliseconds, not positive if it is over. */
interface Lifetime {
  /** Milliseconds until spec.expiresAt. */
  readonly expiresInMs: number;
  /** Milliseconds until the token has no role. */
  readonly assignedForMs: number;
  /** Milliseconds until a token that a gateway began to create or to delete counts as abandoned; Infinity for any other. */
  readonly abandonedInMs: number;
}

function lifetimeOf(
  { spec }: ServiceToken,
  observed: ServiceTokenObserved,
  { now, stateAgeMs }: ReconcileContext,
): Lifetime {
  const expiresInMs = endOf(spec.expiresAt) - now;
  return {
    expiresInMs,
    assignedForMs: observed.assignedUntil - now,
    abandonedInMs:
      (unfinished(observed) ?? halfDeleted(observed)) === undefined ? Infinity : REST_GRACE_MS - stateAgeMs,
  };
}

function statusOf(
  { object, legacy }: ServiceTokenObserved & { readonly object: ServiceToken },
  issue: Issue,
  { expiresInMs, assignedForMs }: Lifetime,
  outcome: Outcome,
): PlannedStatus<StatusOf<'ServiceToken'>> {
  const { hashes, rotatedAt, observedRotateAt } = issue;
  const state = assignedForMs > 0 && hashes ? 'Active' : 'Unassigned';
  // The access key without a hash marks a token of version 0.1.
  const accessKey = legacy === 'unreadable' ? object.status?.accessKey : undefined;
  return {
    outcome,
    conditions: [assignedCondition(assignedForMs > 0)],
    fields: {
      state: expiresInMs > 0 ? state : 'Expired',
      ...(hashes ? hashFields(hashes) : {}),
      ...(accessKey === undefined ? {} : { accessKey }),
      ...(rotatedAt === undefined ? {} : { rotatedAt }),
      ...(observedRotateAt === undefined ? {} : { observedRotateAt }),
    },
  };
}

function deleteLegacy({ legacy }: ServiceTokenObserved): Action[] {
  if (legacy === undefined || legacy === 'unreadable') return [];
  return [{ do: 'delete', kind: 'Secret', name: legacy.metadata.name, uid: legacy.metadata.uid }];
}

/**
 * The uid of a ServiceToken between the two writes of `POST /service-tokens`. If the gateway ended there, its caller has received no response, so no one has
 * the token, and it is lost: the secret key was only in the memory of that gateway.
 */
function unfinished({ object, hashes, legacy }: ServiceTokenObserved): string | undefined {
  if (!object || hashes || legacy === 'unreadable' || object.spec.secretName !== undefined) return undefined;
  return isManagedByRest(object.metadata) ? object.metadata.uid : undefined;
}

/** A requested rotation whose Secret is still there. */
function replacing({ object, tokenSecret }: ServiceTokenObserved): string | undefined {
  if (!object || tokenSecret === undefined || !isRotationDue(object)) return undefined;
  return `rotation of ${object.metadata.uid}`;
}

/**
 * The time until the next change that needs a reconciliation: the expiry of the token or the notice before it, the end of its last assignment, of a previous
 * token or of the time for the REST interface, or the next attempt where somebody else must act.
 */
function requeue(
  lifetime: Lifetime,
  hashes: TokenHashes | undefined,
  object: ServiceToken,
  { now, obstructed }: { readonly now: number; readonly obstructed: boolean },
): { requeueAfterMs?: number } {
  const { expiresInMs, assignedForMs, abandonedInMs } = lifetime;
  const times = [expiresInMs, expiresInMs - EXPIRY_NOTICE_MS, assignedForMs, abandonedInMs];
  if (obstructed && expiresInMs > 0) times.push(ageMs(object, now) < REST_GRACE_MS ? FIRST_RETRY_MS : RETRY_MS);
  for (const { validUntil } of hashes?.previousHashes ?? []) times.push(Date.parse(validUntil) - now);
  if (!hashes) times.push(REST_GRACE_MS - ageMs(object, now));
  const next = times.filter((ms) => ms > 0 && Number.isFinite(ms)).sort((a, b) => a - b)[0];
  return next === undefined ? {} : { requeueAfterMs: next };
}

function ageMs(object: ServiceToken, now: number): number {
  const created = object.metadata.creationTimestamp;
  return created ? now - Date.parse(created) : 0;
}
