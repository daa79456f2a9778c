import type { Logger } from 'pino';
import { markAssignment } from '../../access/manager/administrators.ts';
import { exactly } from '../../access/manager/editor.ts';
import { holdsAfter, LASTING_MS } from '../../access/manager/lasting.ts';
import { managedBy } from '../../access/manager/views.ts';
import { sameSubject } from '../../access/subjects.ts';
import type { OwnedResource } from '../../operator/reconcilers/predefined.ts';
import { systemClock } from '../../platform/clock.ts';
import type { RoleAssignment } from '../../resources/kinds.ts';
import { ANNOTATIONS, LABELS, PLATFORM_AUTHOR } from '../../resources/meta.ts';
import { SUBJECT_TYPES, type Subject } from '../../resources/role-assignment.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { ADMINISTRATOR_ROLE, MANAGED_BY, newAssignment } from './first-administrator.ts';

/** Name of the RoleAssignment made from the setting `admin-subject`, separate from assignments by users or the chart. */
export const BY_SETTING = 'administrators-by-setting';

/**
 * What ensureAdministrators() has done. `done`: the setting is in effect. `last`: the setting is empty, and the assignment is kept because no other
 * subject has the role for at least 24 hours. `changed`: the setting is empty, and the assignment is kept because others have changed it.
 * `foreign`: the setting is not in effect, because the name belongs to an assignment of another role.
 */
export type AdministratorsOutcome = 'done' | 'last' | 'changed' | 'foreign';

/** Parses a subject such as `user-email:you@example.com`. @param text a valid value of the setting `admin-subject` */
export function parseSubject(text: string): Subject {
  const colon = text.indexOf(':');
  const type = SUBJECT_TYPES.find((name) => name === text.slice(0, colon));
  if (type === undefined)
    throw new TypeError(`invalid subject \`${text}\`: it must look like \`user-email:you@example.com\``);
  return { type, name: text.slice(colon + 1) };
}

const WARNINGS = {
  last: '`admin-subject` is empty, but no other subject has the role `system-admin` for at least 24 hours: keeping the assignment',
  changed:
    '`admin-subject` is empty, but others have changed the assignment: keeping it; delete it if its subjects are to lose the role `system-admin`',
  foreign: '`admin-subject` is not in effect: the assignment has another role; delete it',
} as const satisfies Record<Exclude<AdministratorsOutcome, 'done'>, string>;

/** The assignment of the role `system-admin` to the subjects. */
export function administratorsBySetting(subjects: readonly Subject[], log: Logger): OwnedResource {
  let before: AdministratorsOutcome = 'done';
  return {
    kind: 'RoleAssignment',
    name: BY_SETTING,
    async ensure(store, signal) {
      const outcome = await ensureAdministrators(store, subjects, signal);
      if (outcome !== 'done' && outcome !== before) log.warn({ assignment: BY_SETTING }, WARNINGS[outcome]);
      before = outcome;
    },
  };
}

/**
 * Assigns the role to exactly the subjects of the setting, by the assignment `administrators-by-setting`. An assignment of that name that others
 * have created only gets the missing subjects. Without subjects, the operator deletes only what it has written itself, and never the last
 * lasting assignment of the role. Idempotent.
 * @throws {StoreError}
 */
export async function ensureAdministrators(
  store: ResourceStore,
  subjects: readonly Subject[],
  signal: AbortSignal,
): Promise<AdministratorsOutcome> {
  const assignments = await store.readAll('RoleAssignment', { signal });
  const found = assignments.find(({ metadata }) => metadata.name === BY_SETTING);
  if (subjects.length === 0) return found ? withdraw(store, found, assignments, signal) : 'done';
  if (!found) {
    const spec = { role: ADMINISTRATOR_ROLE, subjects: [...subjects] };
    await store.create('RoleAssignment', newAssignment(BY_SETTING, spec), { signal });
    return 'done';
  }
  if (found.spec.role !== ADMINISTRATOR_ROLE) return 'foreign';
  const kept = isCreatedByOperator(found)
    ? []
    : found.spec.subjects.filter((own) => !subjects.some((subject) => sameSubject(own, subject)));
  const wanted = [...subjects, ...kept];
  if (!sameSubjects(found.spec.subjects, wanted))
    await store.update('RoleAssignment', { ...found, spec: { ...found.spec, subjects: wanted } }, { signal });
  return 'done';
}

/** Deletes the assignment of an earlier setting. */
async function withdraw(
  store: ResourceStore,
  found: RoleAssignment,
  assignments: readonly RoleAssignment[],
  signal: AbortSignal,
): Promise<AdministratorsOutcome> {
  if (!isCreatedByOperator(found)) return 'done';
  if (!isUnchanged(found)) return 'changed';
  const other = await lastingAdministrator(store, found, assignments, signal);
  if (!other) return 'last';
  // If another administrator is removed at the same time, either that write or this deletion conflicts: see Administrators.
  await markAssignment(store, other, { signal });
  await store.delete('RoleAssignment', BY_SETTING, { ...exactly(found), signal });
  return 'done';
}

/** Another assignment by which a subject has the role for at least 24 hours. */
async function lastingAdministrator(
  store: ResourceStore,
  found: RoleAssignment,
  assignments: readonly RoleAssignment[],
  signal: AbortSignal,
): Promise<RoleAssignment | undefined> {
  const until = systemClock.now() + LASTING_MS;
  const tokens = new Map(
    (await store.readAll('ServiceToken', { signal })).map((token) => [token.metadata.name, token]),
  );
  for (const other of assignments) {
    const { metadata, spec } = other;
    if (metadata.name === found.metadata.name || spec.role !== ADMINISTRATOR_ROLE) continue;
    if (metadata.deletionTimestamp !== undefined) continue;
    for (const subject of spec.subjects) {
      if (await holdsAfter(subject, until, (name) => Promise.resolve(tokens.get(name)))) return other;
    }
  }
  return undefined;
}

/** The label alone is not enough: anybody can set it, and assignments of the REST interface have it, too. */
function isCreatedByOperator({ metadata }: RoleAssignment): boolean {
  return (
    metadata.labels?.[LABELS.managedBy] === MANAGED_BY &&
    metadata.annotations?.[ANNOTATIONS.createdBy] === PLATFORM_AUTHOR
  );
}

/** Whether only the operator has written the assignment. The managed fields tell it where no admission policy records authors. */
function isUnchanged({ metadata, spec }: RoleAssignment): boolean {
  return (
    spec.role === ADMINISTRATOR_ROLE &&
    metadata.annotations?.[ANNOTATIONS.lastUpdatedBy] === PLATFORM_AUTHOR &&
    managedBy(metadata).managedBy === undefined
  );
}

function sameSubjects(a: readonly Subject[], b: readonly Subject[]): boolean {
  return (
    a.length === b.length &&
    a.every((one) => b.some((other) => sameSubject(one, other) && one.expiresAt === other.expiresAt))
  );
}
