import type { WallClock } from '../../../platform/clock.ts';
import { holderOf, isRequestId } from '../../request-id.ts';
import { downloadOf } from '../../stored-downloads.ts';
import type { ObjectClient, UnfinishedUpload } from './object-client.ts';
import { pairsOf, RECORD, ROWS, type StoredPair } from './object-pairs.ts';

/** Leftovers of other gateways are removed only when no submission can still be running. */
export const LEFTOVER_MS = 24 * 3_600_000;
const CONCURRENCY = 8;
/** Limit per run, for objects and for uploads, so that many leftovers do not occupy a gateway for long. */
const MAX_REMOVED = 2000;

export interface LeftoversOptions {
  readonly client: ObjectClient;
  /** `holderTag` of this gateway. */
  readonly tag: string;
  readonly clock: WallClock;
  /** Whether a submission of this process is writing the result. */
  readonly isBeingWritten: (requestId: string) => boolean;
  readonly onProblem: (message: string) => void;
}

/** A kind of leftover: how to find and remove it, and the permissions needed. */
interface LeftoverKind<T> {
  readonly name: string;
  readonly rights: string;
  readonly find: (start: string, signal: AbortSignal) => AsyncIterable<T>;
  readonly mayRemove: (found: T) => boolean;
  readonly remove: (found: T, signal: AbortSignal) => Promise<void>;
}

/**
 * Removes leftovers of killed processes: rows and files of downloads without a record, records without rows, incomplete uploads. Never throws, because
 * results can be served without the cleanup.
 */
export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #objects: LeftoverKind<StoredPair>;
  readonly #uploads: LeftoverKind<UnfinishedUpload>;
  /** Last reported problem per kind, so that a missing permission is not reported at every run. */
  readonly #reported = new Map<string, string>();

  constructor(options: LeftoversOptions) {
    const { client } = options;
    const { rights } = client;
    this.#options = options;
    this.#objects = {
      name: 'objects of incomplete results',
      rights: quoted(rights.objects),
      find: (start, signal) => pairsOf(client.list(start, signal)),
      mayRemove: ({ requestId, record, rows, downloads }) =>
        (record === undefined || rows === undefined) &&
        this.isAbandoned(requestId, (record ?? rows ?? downloads[0])?.modifiedMs),
      remove: (pair, signal) => this.#removeUnpaired(pair, signal),
    };
    this.#uploads = {
      name: 'incomplete uploads',
      rights: `${quoted(rights.uploads)}, or a lifecycle rule of the bucket that aborts them`,
      find: (start, signal) => client.uploads(start, signal),
      mayRemove: ({ key, modifiedMs }) =>
        this.#isOfDownload(key) ? this.#isOld(modifiedMs) : this.isAbandoned(key.slice(0, -ROWS.length), modifiedMs),
      remove: (upload, signal) => client.abortUpload(upload, signal),
    };
  }

  /** @param start key prefix to search */
  async remove(start: string, signal: AbortSignal): Promise<void> {
    // Uploads first: an aborted upload cannot create rows after the search for objects.
    await this.#removeKind(this.#uploads, start, signal);
    await this.#removeKind(this.#objects, start, signal);
  }

  async #removeKind<T>(kind: LeftoverKind<T>, start: string, signal: AbortSignal): Promise<void> {
    try {
      const whole = await removeAll(kind, start, signal);
      if (whole) this.#reported.delete(kind.name);
      else
        this.#report(
          kind.name,
          `more than ${MAX_REMOVED} ${kind.name} in the bucket; the others are removed by the next run`,
        );
    } catch (error) {
      const why = signal.aborted ? 'timed out' : reasonOf(error);
      this.#report(kind.name, `failed to remove ${kind.name} (${why}); retrying. Required: ${kind.rights}`);
    }
  }

  #report(kind: string, message: string): void {
    if (this.#reported.get(kind) === message) return;
    this.#reported.set(kind, message);
    this.#options.onProblem(message);
  }

  /** Whether no gateway can still be writing the result. @param modifiedMs of one of its objects */
  isAbandoned(requestId: string, modifiedMs: number | undefined): boolean {
    if (!isRequestId(requestId)) return false;
    const { tag, isBeingWritten } = this.#options;
    if (holderOf(requestId) === tag) return !isBeingWritten(requestId);
    return this.#isOld(modifiedMs);
  }

  /** Any gateway may be making a file of any result. */
  #isOfDownload(key: string): boolean {
    const requestId = downloadOf(key)?.requestId;
    return requestId !== undefined && isRequestId(requestId);
  }

  #isOld(modifiedMs: number | undefined): boolean {
    return modifiedMs !== undefined && this.#options.clock.now() - modifiedMs > LEFTOVER_MS;
  }

  async #removeUnpaired({ requestId, record, rows, downloads }: StoredPair, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    // Listings take time and may be unordered, so a request checks whether the other object exists.
    const missing = record === undefined ? RECORD : ROWS;
    if ((await client.size(requestId + missing, signal)) !== undefined) return;
    for (const object of [record, rows, ...downloads])
      if (object !== undefined) await client.delete(object.key, signal);
  }
}

/**
 * @returns false if the limit was reached
 * @throws the error of a failed removal after trying the others; immediately if a whole batch failed, because the next ones would fail too
 */
async function removeAll<T>(kind: LeftoverKind<T>, start: string, signal: AbortSignal): Promise<boolean> {
  let failure: PromiseRejectedResult | undefined;
  let removed = 0;
  const removeBatch = async (batch: readonly T[]): Promise<void> => {
    const results = await Promise.allSettled(batch.map((found) => kind.remove(found, signal)));
    const failed = results.filter((result) => result.status === 'rejected');
    failure ??= failed[0];
    if (failure !== undefined && failed.length === batch.length) throw failure.reason;
    removed += batch.length;
  };
  let batch: T[] = [];
  for await (const found of kind.find(start, signal)) {
    if (!kind.mayRemove(found)) continue;
    if (removed >= MAX_REMOVED) return false;
    if (batch.push(found) < CONCURRENCY) continue;
    await removeBatch(batch);
    batch = [];
  }
  if (batch.length > 0) await removeBatch(batch);
  if (failure !== undefined) throw failure.reason;
  return true;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(' and ');
}

/** Returns only the kind of the error: an SDK's message may contain access key ids. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const { name, code } = (cause ?? error) as { name?: unknown; code?: unknown };
  return String(typeof code === 'number' || name === 'Error' ? (code ?? 'unknown') : name);
}
