import { errorMessage } from '../../platform/plain-error.ts';
import type { WallClock } from '../../platform/clock.ts';
import { QueryError } from '../errors.ts';
import { isCursorId } from '../request-id.ts';
import type { ResultStore, StoredResultSummary } from '../result-store.ts';
import { type CursorBrokers, isCursorRecord } from './brokers.ts';

export interface CursorStoreOptions {
  readonly store: ResultStore;
  readonly brokers: CursorBrokers;
  /** Whether the engine keeps new results. The store's own capacity then does not limit them. */
  readonly native: boolean;
  readonly clock: WallClock;
  readonly onProblem: (message: string) => void;
}

/**
 * Wraps a store so that it includes the results kept by the engine: their size counts, and deleting one also deletes it at the engine.
 * Quota, cleaner and listing need no special case.
 */
export function cursorStore({ store, brokers, native, clock, onProblem }: CursorStoreOptions): ResultStore {
  const link = store.link?.bind(store);
  return {
    local: store.local,
    notes: store.notes,
    ...(store.capacityBytes !== undefined && !native && { capacityBytes: store.capacityBytes }),
    ...(store.compression !== undefined && { compression: store.compression }),
    ...(link !== undefined && { link }),
    start: (signal) => store.start(signal),
    ...(store.tidy && { tidy: (signal: AbortSignal) => store.tidy?.(signal) ?? Promise.resolve() }),
    begin: (requestId, signal) => store.begin(requestId, signal),
    open: (requestId, signal) => store.open(requestId, signal),
    renew: (record, signal) => store.renew(record, signal),
    async *list(signal) {
      for await (const summary of store.list(signal)) yield withCursor(summary);
    },
    async delete(requestId, signal) {
      if (isCursorId(requestId)) await deleteCursor(requestId, signal);
      return store.delete(requestId, signal);
    },
    close: () => store.close(),
  };

  async function deleteCursor(requestId: string, signal: AbortSignal): Promise<void> {
    const reader = await store.open(requestId, signal).catch((error: unknown) => {
      // Without its record the cursor is unknown; the engine expires the result itself.
      if (error instanceof QueryError && error.code === 'damaged') return undefined;
      throw error;
    });
    if (reader === undefined) return;
    await reader.close();
    const { record } = reader;
    if (!isCursorRecord(record)) return;
    try {
      await brokers.delete(record, signal);
    } catch (error) {
      // The engine expires results itself, so the record is deleted even if its broker no longer exists.
      if (signal.aborted || record.expirationTimeMs > clock.now()) throw error;
      onProblem(
        `failed to delete the expired result ${requestId} at the engine, which deletes it itself: ${errorMessage(error)}`,
      );
    }
  }
}

function withCursor(summary: StoredResultSummary): StoredResultSummary {
  const { cursor } = summary.record;
  if (cursor === undefined) return summary;
  return {
    ...summary,
    bytes: summary.bytes + cursor.bytes,
    dataFile: `${cursor.url}/responseStore/${cursor.requestId}/results`,
  };
}
