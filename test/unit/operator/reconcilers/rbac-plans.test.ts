import { describe, expect, it } from 'vitest';
import { pruneExpired, reportExpiry } from '../../../../src/operator/reconcilers/assignment-expiry.ts';
import { roleReconciler } from '../../../../src/operator/reconcilers/role.ts';
import { role, roleAssignment } from '../../../builders/resources.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (ms: number): string => new Date(NOW + ms).toISOString().replace('.000Z', 'Z');
const assigned = (...expiriesMs: (number | undefined)[]) =>
  roleAssignment('team', {
    subjects: expiriesMs.map((ms, index) => ({
      type: 'user-email',
      name: `u${index}`,
      ...(ms === undefined ? {} : { expiresAt: at(ms) }),
    })),
  });

describe('the report of the expiries of an assignment changes', () => {
  it.each<[string, number | undefined, number, readonly (number | undefined)[]]>([
    ['never without one', undefined, 30 * DAY, [undefined]],
    ['a day before the expiry', 2 * DAY, 30 * DAY, [3 * DAY]],
    ['at the expiry, when it was announced', HOUR, 30 * DAY, [HOUR]],
    ['at the expiry, when it is announced now', DAY, 30 * DAY, [DAY]],
    ['when the subject is removed', 29 * DAY, 30 * DAY, [-DAY]],
    ['when the subject is removed, after an expiry now', 30 * DAY, 30 * DAY, [0]],
    ['never after an expiry, when subjects are not removed', undefined, 0, [-DAY]],
    ['at the first of several times', HOUR, 30 * DAY, [3 * DAY, HOUR, undefined, 2 * HOUR]],
  ])('%s', (_what, changesInMs, pruneAfterMs, expiries) => {
    expect(reportExpiry(assigned(...expiries), NOW, pruneAfterMs).changesInMs).toBe(changesInMs);
  });
});

it('an Event names the first of several expiries', () => {
  const { events } = reportExpiry(assigned(2 * HOUR, HOUR, 3 * HOUR, -HOUR, -DAY), NOW, 30 * DAY);
  expect(events.map(({ message }) => message)).toEqual([
    `subjects \`user-email:u0\`, \`user-email:u1\`, \`user-email:u2\` lose role \`analysts\` within 24 hours, the first at ${at(HOUR)}`,
    'subjects `user-email:u3`, `user-email:u4` no longer have role `analysts`: the assignment has expired',
  ]);
});

it('removes a subject in the millisecond in which its time is over', () => {
  const object = assigned(-DAY, undefined);
  expect(pruneExpired(object, NOW - 1, DAY)).toBeUndefined();
  expect(pruneExpired(object, NOW, DAY)).toMatchObject([
    { do: 'update', object: { spec: { subjects: [{ name: 'u1' }] } } },
    { do: 'event', reason: 'ExpiredSubjectsRemoved' },
  ]);
});

describe('a Role', () => {
  const context = { now: NOW, stateAgeMs: 0, newTokenKeys: () => ({ accessKey: '', secretKey: '' }) };
  const reconcile = (expiries: readonly number[], invalid: readonly string[] = []) =>
    roleReconciler().reconcile({ object: role('r'), missing: [], invalid, expiries, referencedBy: [] }, context);

  it('is reconciled at the next expiry of a subject', () => {
    expect(reconcile([NOW + 9_000, NOW + 5_000, NOW, Infinity])).toMatchObject({
      requeueAfterMs: 5_000,
      status: { fields: { subjectCount: 3 } },
    });
    expect(reconcile([Infinity, NOW])).not.toHaveProperty('requeueAfterMs');
  });

  it('names one invalid policy, or several', () => {
    const message = (...names: string[]) => reconcile([], names).status?.outcome.message;
    expect(message('a')).toBe('policy `a` is invalid, so the role denies everything: see the status of that policy');
    expect(message('a', 'b')).toBe(
      'policies `a`, `b` are invalid, so the role denies everything: see the status of those policies',
    );
  });
});
