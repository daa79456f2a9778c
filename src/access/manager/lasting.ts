import type { ServiceToken } from '../../resources/kinds.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { expiryOf } from '../subjects.ts';

/** A subject that loses the role sooner than this, in milliseconds, does not count as an administrator. */
export const LASTING_MS = 24 * 3_600_000;

/**
 * Whether a subject of an assignment has its role longer than until `time`. A service token must exist until then.
 * @param time milliseconds since the epoch
 * @param tokenOf reads a service token by its name
 */
export async function holdsAfter(
  subject: Subject,
  time: number,
  tokenOf: (name: string) => Promise<ServiceToken | undefined>,
): Promise<boolean> {
  if (expiryOf(subject) <= time) return false;
  if (subject.type !== 'service-token') return true;
  const token = await tokenOf(subject.name);
  return token !== undefined && token.metadata.deletionTimestamp === undefined && expiryOf(token.spec) > time;
}
