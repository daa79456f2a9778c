import { LruCache } from '../../platform/lru.ts';
import { isDamaged } from '../errors.ts';
import type { ResultRecord } from '../result-store.ts';
import type { PageRequest } from './page.ts';

/** Results whose damage was found while they were read. */
const MAX_DAMAGED = 1_000;

type Id = Pick<ResultRecord, 'requestId'>;

/** Why results could not be read. Stores find a damage of rows only when these are read. */
export class Damages {
  /** The key is the id. */
  readonly #found = new LruCache<string, { readonly message: string; readonly rows: PageRequest }>({
    maxWeight: MAX_DAMAGED,
  });

  /** The message of the damage; undefined if none was found. */
  of({ requestId }: Id): string | undefined {
    return this.#found.peek(requestId)?.message;
  }

  /** Records the error if it is a damage of the result. @param rows that were read */
  note({ requestId }: Id, rows: PageRequest, error: unknown): void {
    if (isDamaged(error)) this.#found.set(requestId, { message: error.message, rows });
  }

  /** Waits for a reading of the result, and records a damage that it finds. @throws as the reading */
  async noting<T>(record: Id, rows: PageRequest, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      this.note(record, rows, error);
      throw error;
    }
  }

  /** Forgets a damage after the rows in which it was found could be read: the store was at fault, or was repaired. */
  readWhole({ requestId }: Id, rows: PageRequest): void {
    const found = this.#found.peek(requestId)?.rows;
    if (found === undefined) return;
    const isCovered = rows.offset <= found.offset && rows.offset + rows.numRows >= found.offset + found.numRows;
    if (isCovered) this.#found.delete(requestId);
  }

  /** Forwards the pieces of a result while they are sent, and records a damage that is found then. @throws as the pieces */
  async *watched(record: Id, rows: PageRequest, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    try {
      yield* pieces;
    } catch (error) {
      this.note(record, rows, error);
      throw error;
    }
    this.readWhole(record, rows);
  }
}
