import { Gauge, type Registry } from 'prom-client';
import { expiryOf } from '../../access/subjects.ts';
import type { WallClock } from '../../platform/clock.ts';
import type { RoleAssignment, ServiceToken } from '../../resources/kinds.ts';
import { EXPIRY_NOTICE_MS } from './assignment-expiry.ts';

/** What can expire. */
export interface Expiring {
  readonly assignments: readonly RoleAssignment[];
  readonly tokens: readonly ServiceToken[];
}

/**
 * Exports the numbers of subjects and service tokens that expire soon, and of expired ones. They are counted at each scrape, so a new leader
 * exports the same values as the previous one.
 * @param read all of them; undefined if this process does not lead: it then exports no values
 */
export function observeExpiries(registry: Registry, read: () => Expiring | undefined, clock: WallClock): void {
  const gauge = (name: string, help: string, count: (found: Expiring, now: number) => number): Gauge =>
    new Gauge({
      name: `olap_warden_${name}`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const found = read();
        // reset() sets a gauge without labels to 0.
        if (found === undefined) return this.remove();
        this.set(count(found, clock.now()));
      },
    });
  gauge(
    'role_assignment_subjects_expiring',
    'Subjects of role assignments that expire within 24 hours.',
    ({ assignments }, now) => expiring(subjectsOf(assignments), now),
  );
  gauge(
    'role_assignment_subjects_expired',
    'Expired subjects of role assignments that are not removed yet.',
    ({ assignments }, now) => expired(subjectsOf(assignments), now),
  );
  gauge('service_tokens_expiring', 'Service tokens that expire within 24 hours.', ({ tokens }, now) =>
    expiring(specsOf(tokens), now),
  );
  gauge('service_tokens_expired', 'Expired service tokens that are not deleted yet.', ({ tokens }, now) =>
    expired(specsOf(tokens), now),
  );
}

type MayExpire = Parameters<typeof expiryOf>[0];

const subjectsOf = (assignments: readonly RoleAssignment[]): MayExpire[] =>
  assignments.flatMap(({ spec }) => spec.subjects);
const specsOf = (tokens: readonly ServiceToken[]): MayExpire[] => tokens.map(({ spec }) => spec);

function expiring(all: readonly MayExpire[], now: number): number {
  return all.filter((one) => expiryOf(one) > now && expiryOf(one) <= now + EXPIRY_NOTICE_MS).length;
}

function expired(all: readonly MayExpire[], now: number): number {
  return all.filter((one) => one.expiresAt !== undefined && expiryOf(one) <= now).length;
}
