import { renameSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { FairQueue } from '../../../platform/fair-queue.ts';
import {
  type DownloadName,
  downloadName,
  type DownloadReader,
  type DownloadWriter,
  type StoredDownloads,
} from '../../stored-downloads.ts';
import { damaged } from '../../errors.ts';
import { asStoreError, hasCode, syncFolder } from './file-io.ts';

const STREAM_BYTES = 256 * 1024;

export interface FileDownloadsOptions {
  /** Holds the files, beside the results. */
  readonly dataDir: string;
  readonly pathOf: (name: string) => string;
  /** Path of a temporary file on the same device that no other writer uses, for a name. */
  readonly partOf: (name: string) => string;
  /** Whether the result is complete and is not being deleted. */
  readonly exists: (requestId: string) => boolean;
  /** Called when a file of the result is being written, and when it no longer is. */
  readonly begun: (requestId: string) => void;
  readonly ended: (requestId: string) => void;
  /** Limits the reads at once. */
  readonly reads: Pick<FairQueue, 'run'>;
}

/** Files of downloads, synced and renamed into place when they are complete. */
export class FileDownloads implements StoredDownloads {
  readonly #options: FileDownloadsOptions;

  constructor(options: FileDownloadsOptions) {
    this.#options = options;
  }

  async begin(requestId: string, name: DownloadName): Promise<DownloadWriter> {
    const { partOf, pathOf, begun, ended, exists, dataDir } = this.#options;
    const part = partOf(downloadName(requestId, name));
    begun(requestId);
    let handle: FileHandle;
    try {
      handle = await open(part, 'wx', 0o600);
    } catch (error) {
      ended(requestId);
      throw asStoreError(error);
    }
    const publish = async (): Promise<void> => {
      await handle.sync();
      await handle.close();
      // The check and the rename are one step, so that a deletion of this process comes before or after both.
      if (!exists(requestId)) return rm(part, { force: true });
      renameSync(part, pathOf(downloadName(requestId, name)));
      await syncFolder(dataDir);
    };
    return {
      write: (bytes) => handle.writeFile(bytes).catch(rethrown),
      commit: async () => {
        await publish().catch(rethrown);
        ended(requestId);
      },
      discard: async () => {
        await handle.close().catch(() => undefined);
        await rm(part, { force: true }).catch(() => undefined);
        ended(requestId);
      },
    };
  }

  async open(requestId: string, name: DownloadName): Promise<DownloadReader | undefined> {
    const { pathOf, reads } = this.#options;
    let handle: FileHandle;
    try {
      handle = await open(pathOf(downloadName(requestId, name)), 'r');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw asStoreError(error);
    }
    try {
      const { size } = await handle.stat();
      return {
        bytes: size,
        async *stream(from, to) {
          for (let at = from; at < to; at += STREAM_BYTES) {
            const end = Math.min(to, at + STREAM_BYTES);
            yield await reads.run(() => readRange(handle, at, end), requestId).catch(rethrown);
          }
        },
        close: () => handle.close(),
      };
    } catch (error) {
      await handle.close();
      throw asStoreError(error);
    }
  }

  async delete(requestId: string, name: DownloadName): Promise<void> {
    await rm(this.#options.pathOf(downloadName(requestId, name)), { force: true }).catch(rethrown);
  }
}

/** Exactly the bytes `from` to `to`. */
async function readRange(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(to - from);
  for (let filled = 0; filled < buffer.length;) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, from + filled);
    if (bytesRead === 0) throw damaged('a file of it is too short');
    filled += bytesRead;
  }
  return buffer;
}

function rethrown(error: unknown): never {
  throw asStoreError(error);
}
