import type { NewCondition } from '../../resources/conditions.ts';
import type { ServiceToken } from '../../resources/kinds.ts';
import { parseTime } from '../../resources/time.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import { legacyHashName } from '../tokens/legacy-hash.ts';
import type { Issue } from '../tokens/token-issue.ts';
import { secretNotOwned } from '../tokens/token-secret.ts';
import type { ObservedSecrets } from '../tokens/token-secrets.ts';
import { EXPIRY_NOTICE_MS, INVALID_EXPIRY, invalidTime } from './assignment-expiry.ts';

/** Reason of a token that is accepted. */
const ACTIVE = 'Active';

interface TokenState {
  /** Milliseconds until spec.expiresAt. */
  readonly expiresInMs: number;
  /** Milliseconds until the token has no role. */
  readonly assignedForMs: number;
  readonly obstacle: Outcome | undefined;
  /** Whether the REST interface should have written the hash by now. */
  readonly overdue: boolean;
}

/** Why no token can be created or replaced until somebody else acts. */
export function obstacleOf(
  { metadata, spec }: ServiceToken,
  { hashes, tokenSecret, legacy }: ObservedSecrets,
): Outcome | undefined {
  const { expiresAt, secretName } = spec;
  if (expiresAt !== undefined && parseTime(expiresAt) === undefined)
    return { class: 'stalled', reason: INVALID_EXPIRY, message: `the token is rejected: ${invalidTime(expiresAt)}` };
  if (legacy === 'unreadable') return hashUnreadable(metadata.name);
  // The operator creates no Secret before the status has the hash.
  if (secretName !== undefined && (tokenSecret === 'foreign' || (tokenSecret === 'present' && !hashes)))
    return secretNotOwned(secretName);
  return undefined;
}

/** Whether the token has a role. Not having one is no fault: nothing is waited for, and `kubectl wait` for Ready ends. */
export function assignedCondition(assigned: boolean): NewCondition {
  return assigned
    ? { type: 'Assigned', status: 'True', reason: 'Assigned', message: 'a role is assigned to the token' }
    : { type: 'Assigned', status: 'False', reason: 'Unassigned', message: 'no role is assigned to the token' };
}

/** The condition of a token. */
export function tokenOutcome(object: ServiceToken, { hashes, note }: Issue, state: TokenState): Outcome {
  const { expiresInMs, assignedForMs, obstacle, overdue } = state;
  if (obstacle?.reason === INVALID_EXPIRY) return obstacle;
  if (!(expiresInMs > 0)) return EXPIRED;
  const outcome = obstacle ?? stateOutcome(object, hashes !== undefined, { assigned: assignedForMs > 0, overdue });
  const expiring = outcome.reason === ACTIVE && expiresInMs <= EXPIRY_NOTICE_MS;
  const named = expiring ? expiringSoon(object) : outcome;
  return note === undefined ? named : { ...named, message: `${named.message}; ${note}` };
}

function stateOutcome(
  object: ServiceToken,
  hasHash: boolean,
  { assigned, overdue }: { readonly assigned: boolean; readonly overdue: boolean },
): Outcome {
  if (!hasHash) {
    return {
      class: overdue ? 'stalled' : 'waiting',
      reason: 'NoSecretName',
      message:
        'no token was created because spec.secretName is not set: delete this ServiceToken and create one with spec.secretName',
    };
  }
  if (assigned) return { ...READY, reason: ACTIVE, message: 'the token is valid and has a role' };
  return {
    ...READY,
    reason: 'Unassigned',
    message: `the token has no role and is not accepted: create a RoleAssignment with the subject {type: service-token, name: ${object.metadata.name}}`,
  };
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

function hashUnreadable(name: string): Outcome {
  return {
    class: 'stalled',
    reason: 'HashNotReadable',
    message: `the hash of this token is in Secret \`${legacyHashName(name)}\` of version 0.1, which the operator may not read, so the token is rejected: grant it the verb get on this Secret, as docs/versions.md shows`,
  };
}
