import { endOf } from '../../resources/time.ts';
import { ManagerError } from '../errors.ts';

/**
 * Rejects an expiry that has passed.
 * @param expiresAt RFC 3339; undefined or null for none
 * @throws {ManagerError} invalid
 */
export function requireFuture(expiresAt: string | null | undefined, now: number): void {
  if (expiresAt === undefined || expiresAt === null) return;
  if (endOf(expiresAt) > now) return;
  throw new ManagerError(
    'invalid',
    `\`expiresAt\`: \`${expiresAt.slice(0, 80)}\` must be in the future, such as \`2030-01-31T00:00:00Z\``,
  );
}
