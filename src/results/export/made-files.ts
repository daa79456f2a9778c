import { FairQueue, QueueRefusal } from '../../platform/fair-queue.ts';
import { LruCache } from '../../platform/lru.ts';
import type { WallClock } from '../../platform/clock.ts';
import { untilAborted } from '../../platform/until-aborted.ts';
import { isDamaged, notFound, QueryError } from '../errors.ts';
import type { ResultReader, ResultRecord } from '../result-store.ts';
import { streamRows } from '../rows/checksums.ts';
import { type DownloadName, downloadName, type StoredDownloads } from '../stored-downloads.ts';
import type { ColumnTypes } from './columns/create-columns.ts';
import { columnRows, columnsOf } from './export.ts';
import { type ColumnFormat, EXPORT_FORMATS } from './format.ts';
import { openSealed, type SealedFile, writeSealed } from './sealed-file.ts';

/** Files that are made at once: each holds a row group, and converting needs the only thread that serves requests. Callers take turns. */
const MADE_AT_ONCE = 2;
const MAX_WAITING = 64;
const MAX_WAITING_OF_CALLER = 8;
/** Compressed bytes of a row group: large enough that a reader gets each column of it in few requests, and several groups of a large result in parallel. */
const GROUP_BYTES = 16 * 1024 * 1024;
/** How long a request waits for its file: less than proxies wait for a response (60 s). */
const WAIT_MS = 50_000;
const MAKING_MS = 3_600_000;
/** How long a store that had no space for a file is not asked again for the same one. */
const FULL_MS = 60_000;
const MAX_REMEMBERED = 1_000;

/** All rows of a result in a format of columns. */
export interface FileForm {
  readonly format: ColumnFormat;
  readonly types: ColumnTypes;
}

export interface MadeFilesOptions {
  readonly downloads: StoredDownloads;
  /** Opens a result that must not be deleted for the quota until it is closed. @throws {QueryError} not-found */
  readonly open: (requestId: string, signal: AbortSignal) => Promise<ResultReader>;
  readonly clock: WallClock;
}

interface Job {
  readonly done: Promise<void>;
  /** Bytes of the rows that were read. */
  readonly readBytes: number;
}

/**
 * Files of results in formats of columns. Each is made once, at its first download, and kept beside the rows of its result. It is made to its end also
 * where the client has left: one that gave up waiting finds it when it comes again.
 */
export class MadeFiles {
  readonly #options: MadeFilesOptions;
  /** Files that this gateway is making, by id and name. */
  readonly #jobs = new Map<string, Job>();
  /** Until when files for which the store had no space are not made, epoch milliseconds. */
  readonly #full = new LruCache<string, number>({ maxWeight: MAX_REMEMBERED });
  readonly #queue = new FairQueue({
    name: 'download-files',
    total: MADE_AT_ONCE,
    perKey: 1,
    maxWaiting: MAX_WAITING,
    maxWaitingOfKey: MAX_WAITING_OF_CALLER,
  });

  constructor(options: MadeFilesOptions) {
    this.#options = options;
  }

  /**
   * Opens the file of a result, which is made first where there is none.
   * @param caller an SRN; undefined: it is not made
   * @returns undefined where there is none, or the store has no space for it
   * @throws {QueryError} bad-response, busy, damaged, not-found, store-unavailable
   */
  async open(
    record: ResultRecord,
    form: FileForm,
    caller: string | undefined,
    signal: AbortSignal,
  ): Promise<SealedFile | undefined> {
    const { clock } = this.#options;
    const { requestId } = record;
    const found = await this.#find(requestId, form, signal);
    if (found !== undefined) return found;
    const key = keyOf(requestId, form);
    if (caller === undefined || (this.#full.get(key) ?? 0) > clock.now()) return undefined;
    const job = this.#jobs.get(key) ?? this.#begin(requestId, form, caller);
    try {
      await waited(job, record, signal);
    } catch (error) {
      if (!(error instanceof QueryError) || error.code !== 'store-full') throw error;
      this.#full.set(key, clock.now() + FULL_MS);
      return undefined;
    }
    const made = await this.#find(requestId, form, signal);
    if (made === undefined) throw notFound(requestId);
    return made;
  }

  async #find(requestId: string, form: FileForm, signal: AbortSignal): Promise<SealedFile | undefined> {
    const { downloads } = this.#options;
    const name = nameOf(form);
    const file = await downloads.open(requestId, name, signal);
    if (file === undefined) return undefined;
    let sealed: SealedFile | undefined;
    try {
      sealed = await openSealed(file, rulesOf(form), signal);
    } finally {
      if (sealed === undefined) await file.close();
    }
    if (sealed === undefined) return undefined;
    const whole = sealed;
    // It can be made anew from the rows, which are not damaged by that.
    const undamaged: SealedFile['stream'] = async function* (from, to, abort) {
      try {
        yield* whole.stream(from, to, abort);
      } catch (error) {
        if (!isDamaged(error)) throw error;
        await downloads.delete(requestId, name, abort);
        throw new QueryError(
          'store-unavailable',
          'the stored file of the download was damaged, and was removed; try again',
          {
            cause: error,
          },
        );
      }
    };
    return { ...sealed, stream: undamaged };
  }

  #begin(requestId: string, form: FileForm, caller: string): Job {
    const key = keyOf(requestId, form);
    const job: { done: Promise<void>; readBytes: number } = { done: Promise.resolve(), readBytes: 0 };
    job.done = this.#queue
      .run(() => this.#make(requestId, form, job), caller)
      .catch((error: unknown) => {
        if (!(error instanceof QueueRefusal)) throw error;
        throw new QueryError('busy', 'too many files of downloads are being made; try again later', { cause: error });
      })
      .finally(() => this.#jobs.delete(key));
    // Those who wait get the error; there may be none left.
    job.done.catch(() => undefined);
    this.#jobs.set(key, job);
    return job;
  }

  async #make(requestId: string, form: FileForm, job: { readBytes: number }): Promise<void> {
    const { downloads, open } = this.#options;
    const signal = AbortSignal.timeout(MAKING_MS);
    const reader = await open(requestId, signal);
    try {
      const columns = columnsOf(reader.record.dataSchema, form.format);
      const index = reader.knownIndex ?? (await reader.index(signal));
      const rows = (): AsyncIterable<Uint8Array> =>
        counted(streamRows({ reader, index }, 0, reader.record.rowBytes, signal), job);
      const writer = await downloads.begin(requestId, nameOf(form), signal);
      try {
        await writeSealed(writer, rulesOf(form), columnRows({ ...form, columns, groupBytes: GROUP_BYTES }, rows));
        await writer.commit();
      } catch (error) {
        await writer.discard();
        throw error;
      }
    } finally {
      await reader.close();
    }
  }
}

function keyOf(requestId: string, form: FileForm): string {
  return downloadName(requestId, nameOf(form));
}

function nameOf({ format, types }: FileForm): DownloadName {
  return types === 'text' ? `${format}-text` : format;
}

/** A file of other rules is made anew. */
function rulesOf({ format, types }: FileForm): string {
  return `${EXPORT_FORMATS[format].tag}.${types}`;
}

/** @throws {QueryError} busy where it takes longer; what the job throws; the reason of the signal */
async function waited(job: Job, { rowBytes }: ResultRecord, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(WAIT_MS);
  const busy = (): QueryError => {
    const percent = Math.floor((100 * job.readBytes) / Math.max(1, rowBytes));
    return new QueryError('busy', `the file of the download is being made (${percent} % of the rows); try again later`);
  };
  await untilAborted(job.done, AbortSignal.any([signal, limit]), () =>
    signal.aborted ? (signal.reason as unknown) : busy(),
  );
}

async function* counted(pieces: AsyncIterable<Uint8Array>, job: { readBytes: number }): AsyncIterable<Uint8Array> {
  job.readBytes = 0;
  for await (const piece of pieces) {
    job.readBytes += piece.length;
    yield piece;
  }
}
