import type { Clock } from '../../../platform/clock.ts';
import type { FairQueue } from '../../../platform/fair-queue.ts';
import {
  type DownloadName,
  downloadName,
  downloadOf,
  type DownloadReader,
  type DownloadWriter,
  type StoredDownloads,
} from '../../stored-downloads.ts';
import type { ObjectClient } from './object-client.ts';
import { RECORD } from './object-pairs.ts';
import { objectPieces } from './object-result.ts';

const CLEAN_UP_TIMEOUT_MS = 30_000;

export interface ObjectDownloadsOptions {
  readonly client: ObjectClient;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Shared with the reads of rows. */
  readonly reads: FairQueue;
}

/** Files of downloads as objects. An upload is visible when it is complete, so there is never a part of a file. */
export class ObjectDownloads implements StoredDownloads {
  readonly #options: ObjectDownloadsOptions;

  constructor(options: ObjectDownloadsOptions) {
    this.#options = options;
  }

  async begin(requestId: string, name: DownloadName, signal: AbortSignal): Promise<DownloadWriter> {
    const { client } = this.#options;
    const key = downloadName(requestId, name);
    const upload = await client.upload(key, signal);
    let isComplete = false;
    return {
      write: (bytes) => upload.write(bytes),
      commit: async () => {
        await upload.complete();
        isComplete = true;
        // The result may have been deleted before the file was there to be deleted with it.
        if ((await client.size(requestId + RECORD, signal)) === undefined) await client.delete(key, signal);
      },
      discard: async () => {
        // The signal of the writer may have caused the discard, so the cleanup needs its own.
        const own = AbortSignal.timeout(CLEAN_UP_TIMEOUT_MS);
        const cleanUp = isComplete ? client.delete(key, own) : upload.abort();
        await cleanUp.catch(() => undefined);
      },
    };
  }

  async open(requestId: string, name: DownloadName, signal: AbortSignal): Promise<DownloadReader | undefined> {
    const { client, clock, reads } = this.#options;
    const key = downloadName(requestId, name);
    const bytes = await client.size(key, signal);
    if (bytes === undefined) return undefined;
    return {
      bytes,
      // The reads of a result take turns with those of the rows of others.
      stream: (from, to, abort) => objectPieces({ client, key, clock, reads, turn: requestId }, { from, to }, abort),
      close: async () => undefined,
    };
  }

  async delete(requestId: string, name: DownloadName, signal: AbortSignal): Promise<void> {
    await this.#options.client.delete(downloadName(requestId, name), signal);
  }

  /** Deletes all files of a result. @throws {QueryError} store-unavailable */
  async deleteAll(requestId: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    for await (const { key } of client.list(`${requestId}.`, signal))
      if (downloadOf(key) !== undefined) await client.delete(key, signal);
  }
}
