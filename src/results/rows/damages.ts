import { LruCache } from '../../platform/lru.ts';
import { isDamaged } from '../errors.ts';
import type { ResultRecord } from '../result-store.ts';

/** Results whose damage was found while they were read. */
const MAX_DAMAGED = 1_000;

/** Why results could not be read. Stores find a damage of rows only when these are read. */
export class Damages {
  /** The key is the id. */
  readonly #found = new LruCache<string, string>({ maxWeight: MAX_DAMAGED });

  /** The message of the damage; undefined if none was found. */
  of({ requestId }: Pick<ResultRecord, 'requestId'>): string | undefined {
    return this.#found.get(requestId);
  }

  /** Records the error if it is a damage of the result. */
  note({ requestId }: Pick<ResultRecord, 'requestId'>, error: unknown): void {
    if (isDamaged(error)) this.#found.set(requestId, error.message);
  }

  /** Waits for a reading of the result, and records a damage that it finds. @throws as the reading */
  async noting<T>(record: Pick<ResultRecord, 'requestId'>, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      this.note(record, error);
      throw error;
    }
  }

  /** Forwards the pieces of a result while they are sent, and records a damage that is found then. @throws as the pieces */
  async *watched(
    record: Pick<ResultRecord, 'requestId'>,
    pieces: AsyncIterable<Uint8Array>,
  ): AsyncIterable<Uint8Array> {
    try {
      yield* pieces;
    } catch (error) {
      this.note(record, error);
      throw error;
    }
  }
}
