import { managedBy } from '../../access/manager/views.ts';
import { expiryOf } from '../../access/subjects.ts';
import type { RoleAssignment } from '../../resources/kinds.ts';
import type { RoleAssignmentStatus, Subject, SubjectExpiry } from '../../resources/role-assignment.ts';
import { endOf, kubernetesTime, parseTime } from '../../resources/time.ts';
import { listNames } from './list-names.ts';
import { READY, type Outcome } from '../controller/outcome.ts';
import type { Action, RecordEvent } from '../controller/plan.ts';

/** How long before its expiry a subject is reported, in milliseconds. */
export const EXPIRY_NOTICE_MS = 24 * 3_600_000;
/** How long an expired subject stays in the object, in milliseconds. */
export const DEFAULT_PRUNE_AFTER_MS = 30 * 24 * 3_600_000;

export interface ExpiryReport {
  readonly fields: Pick<RoleAssignmentStatus, 'subjectCount' | 'nextExpiry' | 'expiries'>;
  /** One for each state that subjects have reached since the last status. */
  readonly events: readonly RecordEvent[];
  /** Milliseconds until the report changes; undefined if it never does. */
  readonly changesInMs: number | undefined;
}

/**
 * The expiry of the subjects at `now`. Level-triggered: a subject that the status already has in its state causes no further Event.
 * @param now milliseconds since the epoch
 * @param pruneAfterMs 0: expired subjects are not removed
 */
export function reportExpiry({ spec, status }: RoleAssignment, now: number, pruneAfterMs: number): ExpiryReport {
  const reported = new Set(status?.expiries?.map(keyOf));
  const expiries: SubjectExpiry[] = [];
  const due: number[] = [];
  let nextExpiry = Infinity;
  let active = 0;
  for (const subject of spec.subjects) {
    const expiry = expiryOf(subject);
    if (expiry > now) active++;
    if (subject.expiresAt === undefined) continue;
    if (expiry > now) nextExpiry = Math.min(nextExpiry, expiry);
    due.push(expiry - EXPIRY_NOTICE_MS, expiry, expiry + pruneAfterMs);
    if (expiry - EXPIRY_NOTICE_MS > now) continue;
    const { type, name, expiresAt } = subject;
    expiries.push({ type, name, expiresAt: expiresAt.slice(0, 64), state: expiry > now ? 'Expiring' : 'Expired' });
  }
  const changesAt = due.reduce((next, at) => (at > now ? Math.min(next, at) : next), Infinity);
  return {
    fields: {
      subjectCount: active,
      ...(nextExpiry === Infinity ? {} : { nextExpiry: kubernetesTime(nextExpiry) }),
      ...(expiries.length === 0 ? {} : { expiries }),
    },
    events: eventsOf(
      spec.role,
      expiries.filter((entry) => !reported.has(keyOf(entry))),
    ),
    changesInMs: changesAt === Infinity ? undefined : changesAt - now,
  };
}

/** The subjects that expired at least `pruneAfterMs` ago. A time that cannot be read removes nothing. */
function overdueOf({ spec }: RoleAssignment, now: number, pruneAfterMs: number): readonly Subject[] {
  if (pruneAfterMs <= 0) return [];
  return spec.subjects.filter(({ expiresAt }) => {
    const expiry = expiresAt === undefined ? undefined : parseTime(expiresAt);
    return expiry !== undefined && expiry + pruneAfterMs <= now;
  });
}

/** The condition of an object with overdue subjects that others manage: they would write again what is removed. */
export function keptExpired(object: RoleAssignment, now: number, pruneAfterMs: number): Outcome | undefined {
  const { managedBy: managers } = managedBy(object.metadata);
  const overdue = managers && overdueOf(object, now, pruneAfterMs);
  if (!overdue || overdue.length === 0) return undefined;
  const others = listNames('field manager', 'field managers', managers);
  const message = `the role exists; expired ${namesOf(overdue)} stay because ${others} also manage this object: remove them at its source`;
  return { ...READY, reason: 'ExpiredSubjectsKept', message };
}

/**
 * Removes the overdue subjects of an object that only olap-warden manages, and the object with its last subject. Both writes are conditional on the
 * object's version: a subject that was renewed meanwhile is kept.
 * @returns undefined if there is nothing to remove
 */
export function pruneExpired(object: RoleAssignment, now: number, pruneAfterMs: number): Action[] | undefined {
  const { spec, metadata } = object;
  const overdue = overdueOf(object, now, pruneAfterMs);
  if (overdue.length === 0 || managedBy(metadata).managedBy !== undefined) return undefined;
  const subjects = spec.subjects.filter((subject) => !overdue.includes(subject));
  const { name, uid, resourceVersion } = metadata;
  const write: Action =
    subjects.length === 0
      ? { do: 'delete', kind: 'RoleAssignment', name, uid, resourceVersion }
      : { do: 'update', kind: 'RoleAssignment', object: { ...object, spec: { ...spec, subjects } } };
  return [write, eventOf('ExpiredSubjectsRemoved', `removed expired ${namesOf(overdue)} from role \`${spec.role}\``)];
}

/** What is wrong with the expiry times; undefined if all can be read. */
export function unreadableExpiry({ spec }: RoleAssignment): Outcome | undefined {
  const unreadable = spec.subjects.filter(
    ({ expiresAt }) => expiresAt !== undefined && parseTime(expiresAt) === undefined,
  );
  if (unreadable.length === 0) return undefined;
  const [{ expiresAt = '' }] = unreadable as [Subject];
  return {
    class: 'stalled',
    reason: INVALID_EXPIRY,
    message: `${namesOf(unreadable)} cannot use role \`${spec.role}\`: ${invalidTime(expiresAt)}`,
  };
}

/** Reason of the condition of an object with a time that cannot be read. */
export const INVALID_EXPIRY = 'InvalidExpiry';

export function invalidTime(text: string): string {
  return `\`expiresAt\` is \`${text.slice(0, 80)}\`, which is not a time with a zone, such as \`2030-12-31T23:59:59Z\``;
}

function eventsOf(role: string, entries: readonly SubjectExpiry[]): RecordEvent[] {
  const expiring = entries.filter(({ state }) => state === 'Expiring');
  const expired = entries.filter(({ state }) => state === 'Expired');
  const events: RecordEvent[] = [];
  if (expiring.length > 0) {
    const first = expiring.toSorted((a, b) => endOf(a.expiresAt) - endOf(b.expiresAt))[0]!;
    const when = `${expiring.length > 1 ? 'the first ' : ''}at ${first.expiresAt}`;
    const verb = expiring.length > 1 ? 'lose' : 'loses';
    events.push(
      eventOf('AssignmentExpiring', `${namesOf(expiring)} ${verb} role \`${role}\` within 24 hours, ${when}`),
    );
  }
  if (expired.length > 0) {
    const verb = expired.length > 1 ? 'no longer have' : 'no longer has';
    events.push(
      eventOf('AssignmentExpired', `${namesOf(expired)} ${verb} role \`${role}\`: the assignment has expired`),
    );
  }
  return events;
}

function eventOf(reason: string, message: string): RecordEvent {
  return { do: 'event', type: 'Normal', reason, message };
}

function namesOf(subjects: readonly Pick<Subject, 'type' | 'name'>[]): string {
  return listNames(
    'subject',
    'subjects',
    subjects.map(({ type, name }) => `${type}:${name}`),
  );
}

function keyOf({ type, name, expiresAt, state }: SubjectExpiry): string {
  return JSON.stringify([type, name, expiresAt, state]);
}
