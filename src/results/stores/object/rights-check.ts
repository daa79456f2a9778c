import { randomBytes } from 'node:crypto';
import { Deadline } from '../../../platform/deadline.ts';
import { newRequestId } from '../../request-id.ts';
import type { StoreContext } from '../definition.ts';
import { BUCKET_READ_MS } from './limited-client.ts';
import type { ObjectClient } from './object-client.ts';
import type { ObjectNotes } from './object-notes.ts';
import { isForbidden, problemOf, unusableBucket } from './unusable-bucket.ts';

interface Step {
  /** The permission that it needs. */
  readonly right: string;
  readonly doing: string;
  /** Whether no result could be stored or read without the permission. */
  readonly isRequired: boolean;
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

/**
 * Writes, reads and deletes a small object, within BUCKET_READ_MS in all, so that a missing permission is known at the start and not at the first
 * result. Problems without which results are served are reported only: a bucket that is full or busy may work again later, and a missing
 * permission to delete leaves objects to the lifecycle rule of the bucket.
 * @throws {UnusableStoreError} without the permission to write or to read
 */
export async function checkRights(
  client: ObjectClient,
  notes: ObjectNotes,
  { gatewayId, clock, onProblem }: StoreContext,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  // A name of its own: in GCS, replacing an object needs the permission to delete. What is left of it is removed with old notes.
  const id = newRequestId(gatewayId, randomBytes);
  const deadline = new Deadline(clock, BUCKET_READ_MS, signal);
  const succeeds = async ({ right, doing, isRequired, run }: Step): Promise<boolean> => {
    try {
      await deadline.limit(run(deadline.signal));
      return true;
    } catch (error) {
      if (isRequired && isForbidden(error)) throw unusableBucket(client, { right, doing }, error);
      if (!signal.aborted) onProblem(`result store \`${client.base}\`: ${problemOf({ right, doing }, error)}`);
      return false;
    }
  };
  const { put, get, delete: remove } = client.rights.each;
  try {
    const write = (abort: AbortSignal): Promise<void> => notes.put(id, 'check', 'olap-warden', abort);
    if (!(await succeeds({ right: put, doing: 'writing an object', isRequired: true, run: write }))) return;
    try {
      const read = (abort: AbortSignal): Promise<unknown> => notes.get(id, 'check', abort);
      await succeeds({ right: get, doing: 'reading an object', isRequired: true, run: read });
    } finally {
      const erase = (abort: AbortSignal): Promise<void> => notes.delete(id, 'check', abort);
      await succeeds({ right: remove, doing: 'deleting an object', isRequired: false, run: erase });
    }
  } finally {
    deadline.clear();
  }
}
