import type { Subject } from '../../../src/resources/role-assignment.ts';
import type { Random } from '../../fuzz/http/random.ts';

/** Every walk begins at this time, milliseconds since the epoch. Its clock stands still between changes. */
export const BEGIN = Date.parse('2031-01-01T00:00:00Z');
export const HOUR_MS = 3_600_000;

export function inHours(hours: number): string {
  return new Date(BEGIN + hours * HOUR_MS).toISOString();
}

/** Of some assignments: a time before, during or after the walk. */
export function randomExpiry(random: Random, chance: number): Pick<Subject, 'expiresAt'> {
  return random.chance(chance) ? { expiresAt: inHours(random.below(100) - 5) } : {};
}
