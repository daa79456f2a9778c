import { describe, expect, it } from 'vitest';
import { DEFAULT_GRACE_MS, hashSecretKey, type TokenHashes } from '../../../../src/access/service-token.ts';
import {
  serviceTokenReconciler,
  type ServiceTokenObserved,
} from '../../../../src/operator/reconcilers/service-token.ts';
import type { ServiceToken } from '../../../../src/resources/kinds.ts';
import type { ServiceTokenSpec } from '../../../../src/resources/service-token.ts';
import {
  secret,
  serviceToken,
  withAnnotations,
  withHashes,
  withMeta,
  withStatus,
} from '../../../builders/resources.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const at = (ms: number): string => new Date(NOW + ms).toISOString().replace('.000Z', 'Z');
const KEYS = { accessKey: 'a'.repeat(16), secretKey: 's'.repeat(32) };
const NEW_KEYS = { accessKey: 'n'.repeat(16), secretKey: 'n'.repeat(32) };
const ROTATE = 'olapwarden.io/rotate-at';

const hash = (letter: string): string => hashSecretKey(letter.repeat(32));
const previous = (letter: string, validForMs: number) => ({ hash: hash(letter), validUntil: at(validForMs) });
const hashes = (previousHashes: TokenHashes['previousHashes'] = [], secretHash = hash('s')): TokenHashes => ({
  accessKey: KEYS.accessKey,
  secretHash,
  previousHashes,
});

function planOf(more: Partial<ServiceTokenObserved>, graceMs = DEFAULT_GRACE_MS, stateAgeMs = 0) {
  const observed: ServiceTokenObserved = {
    object: serviceToken('job'),
    hashes: hashes(),
    tokenSecret: undefined,
    legacy: undefined,
    orphans: [],
    assignedUntil: Infinity,
    assignments: [],
    ...more,
  };
  const context = { now: NOW, stateAgeMs, newTokenKeys: () => NEW_KEYS };
  return serviceTokenReconciler({ graceMs }).reconcile(observed, context);
}

const withSecret = (more: Partial<ServiceTokenObserved> = {}, spec: ServiceTokenSpec = {}) => ({
  object: withHashes({ accessKey: KEYS.accessKey })(serviceToken('job', { secretName: 'job-token', ...spec })),
  tokenSecret: 'present' as const,
  ...more,
});
const rotating = (
  value: string,
  status: Partial<NonNullable<ServiceToken['status']>> = {},
  spec: ServiceTokenSpec = {},
) => serviceToken('job', spec, withAnnotations<ServiceToken>({ [ROTATE]: value }), withStatus(status));

describe('the next reconciliation of a token', () => {
  it.each<[string, number | undefined, Partial<ServiceTokenObserved>]>([
    ['from REST without an end', undefined, {}],
    ['with a Secret', undefined, withSecret()],
    [
      'whose Secret belongs to somebody else',
      60 * SECOND,
      {
        object: serviceToken('job', { secretName: 'job-token' }, withMeta({ creationTimestamp: at(-HOUR) })),
        tokenSecret: 'foreign',
      },
    ],
    [
      'that was made a moment ago, whose Secret belongs to somebody else',
      5 * SECOND,
      {
        object: serviceToken('job', { secretName: 'job-token' }, withMeta({ creationTimestamp: at(-SECOND) })),
        tokenSecret: 'present',
        hashes: undefined,
      },
    ],
    ['with an assignment that ends', 5 * SECOND, { assignedUntil: NOW + 5 * SECOND }],
    ['with an assignment that has ended', undefined, { assignedUntil: NOW }],
    ['that expires in two days', DAY, { object: serviceToken('job', { expiresAt: at(2 * DAY) }) }],
    ['that expires in an hour', HOUR, { object: serviceToken('job', { expiresAt: at(HOUR) }) }],
    ['that expires now', undefined, withSecret({}, { expiresAt: at(0) })],
    ['with a previous token', 7 * SECOND, { hashes: hashes([previous('p', 7 * SECOND)]) }],
    [
      'of which a previous token ends before the assignment',
      7 * SECOND,
      { assignedUntil: NOW + 9 * SECOND, hashes: hashes([previous('p', 7 * SECOND)]) },
    ],
    [
      'without a hash, for which the REST interface has 40 s left',
      40 * SECOND,
      { hashes: undefined, object: serviceToken('job', {}, withMeta({ creationTimestamp: at(-20 * SECOND) })) },
    ],
  ])('%s', (_what, requeueAfterMs, observed) => {
    expect(planOf(observed).requeueAfterMs).toBe(requeueAfterMs);
  });

  it('of a deleted object deletes its Secrets if the store shows them', () => {
    const orphan = secret('job-token', {}, withMeta({ uid: 'u' }));
    expect(planOf({ object: undefined })).toEqual({ actions: [] });
    expect(planOf({ object: undefined, orphans: [orphan] })).toEqual({
      actions: [{ do: 'delete', kind: 'Secret', name: 'job-token', uid: 'u' }],
    });
  });

  it.each([
    [0, 0],
    [40, 40],
    [DAY, 60 * SECOND],
  ])('of a rotation whose Secret has been there for %i ms after its deletion is in %i ms', (stateAgeMs, pause) => {
    const object = rotating('two', { observedRotateAt: 'one', accessKey: KEYS.accessKey, secretHash: hash('s') });
    const { actions, status, requeueAfterMs } = planOf(
      { object: { ...object, spec: { secretName: 'job-token' } }, tokenSecret: 'present' },
      HOUR,
      stateAgeMs,
    );
    expect(actions).toMatchObject([{ do: 'delete', kind: 'Secret', name: 'job-token' }]);
    expect([status, requeueAfterMs]).toEqual([undefined, pause]);
  });
});

describe('the state of a token', () => {
  it.each<[string, string, string, Partial<ServiceTokenObserved>]>([
    ['with a role', 'Active', 'Active', {}],
    ['whose role ends now', 'Unassigned', 'Unassigned', { assignedUntil: NOW }],
    ['24 hours before its end', 'Active', 'Expiring', { object: serviceToken('job', { expiresAt: at(DAY) }) }],
    ['a second earlier', 'Active', 'Active', { object: serviceToken('job', { expiresAt: at(DAY + SECOND) }) }],
    [
      'without a role, 24 hours before its end',
      'Unassigned',
      'Unassigned',
      { assignedUntil: -Infinity, object: serviceToken('job', { expiresAt: at(DAY) }) },
    ],
  ])('%s', (_what, state, reason, observed) => {
    const { status } = planOf(observed);
    expect([status?.fields.state, status?.outcome.reason]).toEqual([state, reason]);
  });
});

describe('the Secret of a token', () => {
  it('is created after the hashes are in the status; the tokens before it stay valid as their Events said', () => {
    const status = { observedRotateAt: 'one', rotatedAt: at(-DAY), accessKey: KEYS.accessKey, secretHash: hash('s') };
    const object = rotating('two', status, { secretName: 'job-token' });
    const plan = planOf({ object, hashes: hashes([previous('p', HOUR)]) }, 2 * HOUR);
    const fields = {
      accessKey: KEYS.accessKey,
      secretHash: hash('n'),
      previousHashes: [previous('p', HOUR), previous('s', 2 * HOUR)],
      observedRotateAt: 'two',
      rotatedAt: at(0),
    };
    expect(plan.statusBefore?.fields).toMatchObject(fields);
    expect(plan.status?.fields).toMatchObject(fields);
    expect(plan.actions.map((action) => action.do)).toEqual(['create', 'event']);
  });

  it('that is gone ends its token, and none before it', () => {
    const object = withHashes({ accessKey: KEYS.accessKey })(serviceToken('job', { secretName: 'job-token' }));
    const plan = planOf({ object, hashes: hashes([previous('p', HOUR)]) });
    expect(plan.statusBefore?.fields).toMatchObject({
      secretHash: hash('n'),
      previousHashes: [previous('p', HOUR)],
    });
    expect(plan.actions).toMatchObject([{ do: 'create' }, { do: 'event', reason: 'TokenCreated' }]);
  });
});

describe('a token from REST', () => {
  it('has its previous tokens in the order of their ends', () => {
    const [first, second] = [previous('p', HOUR), previous('q', 2 * HOUR)];
    expect(planOf({ hashes: hashes([second, previous('x', 0), first]) }).status?.fields.previousHashes).toEqual([
      first,
      second,
    ]);
  });

  it('reports once that it cannot be rotated', () => {
    const reasons = (object: ServiceToken) =>
      planOf({ object }).actions.map((action) => action.do === 'event' && action.reason);
    expect(reasons(rotating('now'))).toEqual(['CannotRotate']);
    expect(reasons(rotating('now', { observedRotateAt: 'before' }))).toEqual(['CannotRotate']);
    expect(reasons(rotating('now', { observedRotateAt: 'now' }))).toEqual([]);
    expect(reasons(serviceToken('job'))).toEqual([]);
  });
});
