import type { MonotonicClock } from '../../platform/clock.ts';
import type { ResourceStore } from '../../store/resource-store.ts';

/** A gateway gets ready after this time at the latest. */
const MAX_WAIT_MS = 120_000;

/**
 * Whether a gateway that has just started must wait for the operator, which moves the hashes of version 0.1 from their Secrets into the status
 * of the ServiceTokens: it would reject these tokens, while the gateways that it replaces accept them. Version 0.1 wrote only `accessKey`.
 *
 * @returns a function that returns a reason to wait, and undefined from the first time that there is none, or after two minutes
 */
export function hashMigration(
  store: Pick<ResourceStore, 'list' | 'health'>,
  clock: MonotonicClock,
): () => string | undefined {
  const startedAt = clock.monotonic();
  let done = false;
  return () => {
    if (done || !store.health().synced) return undefined;
    const waiting = store.list('ServiceToken').filter(({ status }) => status?.accessKey && !status.secretHash);
    done = waiting.length === 0 || clock.monotonic() - startedAt >= MAX_WAIT_MS;
    return done
      ? undefined
      : `the operator has not yet moved the hashes of ${waiting.length} service tokens into their status`;
  };
}
