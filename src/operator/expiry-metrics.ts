import { Gauge, type Registry } from 'prom-client';
import { expiryOf } from '../access/subjects.ts';
import type { WallClock } from '../platform/clock.ts';
import type { RoleAssignment } from '../resources/kinds.ts';
import { EXPIRY_NOTICE_MS } from './reconcilers/assignment-expiry.ts';

/**
 * Exports the numbers of subjects that expire soon and of expired subjects. They are counted at each scrape, so a new leader exports the same
 * values as the previous one.
 * @param read all assignments; undefined if this process does not lead: it then exports no values
 */
export function observeExpiries(
  registry: Registry,
  read: () => readonly RoleAssignment[] | undefined,
  clock: WallClock,
): void {
  const gauge = (name: string, help: string, from: number, until: number): Gauge =>
    new Gauge({
      name: `olap_warden_role_assignment_subjects_${name}`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const assignments = read();
        // reset() sets a gauge without labels to 0.
        if (assignments === undefined) return this.remove();
        this.set(countBetween(assignments, clock.now() + from, clock.now() + until));
      },
    });
  gauge('expiring', 'Subjects of role assignments that expire within 24 hours.', 0, EXPIRY_NOTICE_MS);
  gauge('expired', 'Expired subjects of role assignments that are not removed yet.', -Infinity, 0);
}

/** Number of subjects with an expiry in (`from`, `until`]. */
function countBetween(assignments: readonly RoleAssignment[], from: number, until: number): number {
  let count = 0;
  for (const { spec } of assignments) {
    for (const subject of spec.subjects) {
      const expiry = expiryOf(subject);
      if (subject.expiresAt !== undefined && expiry <= until && (expiry > from || from === -Infinity)) count++;
    }
  }
  return count;
}
