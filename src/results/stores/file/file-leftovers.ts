import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../../../platform/clock.ts';
import { holderOf, isRequestId } from '../../request-id.ts';
import { downloadOf } from '../../stored-downloads.ts';

/** Suffixes of the two files of a result: rows with index, and the record, which is renamed into place last. */
export const ROWS = '.rows';
export const RECORD = '.json';
const PART = '.part';
const OWNER_LENGTH = 8;
/** Leftovers of other gateways are removed only when no submission can still be running. */
const FOREIGN_LEFTOVER_MS = 24 * 3_600_000;
const PERIOD_MS = 3_600_000;

export interface FileLeftoversOptions {
  readonly dataDir: string;
  /** `holderTag` of this gateway. */
  readonly tag: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly onProblem: (message: string) => void;
}

export interface Folders {
  readonly data: string;
  readonly incoming: readonly string[];
}

/** Finds and removes files of killed processes: parts of submissions and downloads, rows and downloads without a record, records without rows. */
export class FileLeftovers {
  /** Ends the names of files being written. Names the data directory, because gateways with different ones may share a temporary directory. */
  readonly ending: string;
  readonly #options: FileLeftoversOptions;
  /** How many files of each result this process is writing. */
  readonly #writing = new Map<string, number>();
  #removedAt = Number.NEGATIVE_INFINITY;

  constructor(options: FileLeftoversOptions) {
    this.#options = options;
    const owner = createHash('sha256').update(resolve(options.dataDir)).digest('hex').slice(0, OWNER_LENGTH);
    this.ending = `.${owner}${PART}`;
  }

  begun(requestId: string): void {
    this.#writing.set(requestId, (this.#writing.get(requestId) ?? 0) + 1);
  }

  ended(requestId: string): void {
    const left = (this.#writing.get(requestId) ?? 1) - 1;
    if (left === 0) this.#writing.delete(requestId);
    else this.#writing.set(requestId, left);
  }

  /** @throws {Error} if a folder cannot be read or a file cannot be removed */
  async remove({ data, incoming }: Folders): Promise<void> {
    this.#removedAt = this.#options.clock.monotonic();
    for (const folder of incoming) {
      for (const name of await readdir(folder)) {
        if (name.endsWith(PART) && (await this.isAbandoned(folder, name, name.endsWith(this.ending))))
          await rm(join(folder, name), { force: true });
      }
    }
    const names = new Set(await readdir(data));
    for (const name of names) {
      const other = otherOf(name);
      if (other === undefined || names.has(other) || !(await this.isAbandoned(data, name, true))) continue;
      // The result may have become complete since the folder was read.
      if (!(await exists(join(data, other)))) await rm(join(data, name), { force: true });
    }
  }

  /** Like `remove`, at most once an hour. Never throws. @returns whether it ran */
  async removeHourly(folders: Folders): Promise<boolean> {
    if (this.#options.clock.monotonic() - this.#removedAt < PERIOD_MS) return false;
    await this.remove(folders).catch((error: unknown) => {
      const { code = 'unknown error' } = error as { code?: string };
      this.#options.onProblem(`failed to remove files of incomplete results (${code}); retrying`);
    });
    return true;
  }

  /**
   * Whether no process can still be writing the result.
   * @param isOwn whether the file name allows this gateway as the owner; the tag in the id must match as well
   */
  async isAbandoned(folder: string, name: string, isOwn: boolean): Promise<boolean> {
    const requestId = name.slice(0, name.indexOf('.'));
    if (!isRequestId(requestId) || this.#writing.has(requestId)) return false;
    if (isOwn && holderOf(requestId) === this.#options.tag) return true;
    const found = await stat(join(folder, name)).catch(() => undefined);
    return found !== undefined && this.#options.clock.now() - found.mtimeMs > FOREIGN_LEFTOVER_MS;
  }
}

/** Name of the other file of the same result, without which this one is a leftover. */
function otherOf(name: string): string | undefined {
  if (name.endsWith(ROWS)) return name.slice(0, -ROWS.length) + RECORD;
  if (name.endsWith(RECORD)) return name.slice(0, -RECORD.length) + ROWS;
  const download = downloadOf(name);
  return download === undefined ? undefined : download.requestId + RECORD;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
