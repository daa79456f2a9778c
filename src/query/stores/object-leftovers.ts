import { holderOf, isRequestId } from '../request-id.ts';
import type { ObjectClient, UnfinishedUpload } from './object-client.ts';
import { pairsOf, RECORD, ROWS, type StoredPair } from './object-pairs.ts';

/** What another gateway left half-done is removed once no submission can still be running. */
export const LEFTOVER_MS = 24 * 3_600_000;
const CONCURRENCY = 8;
/** Of objects, and of uploads, in one go: a bucket full of leftovers must not keep a gateway busy for good. */
const MAX_REMOVED = 2000;

export interface LeftoversOptions {
  readonly client: ObjectClient;
  /** `holderTag` of this gateway. */
  readonly tag: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Whether a submission of this process is writing the result. */
  readonly isBeingWritten: (requestId: string) => boolean;
  readonly onProblem: (message: string) => void;
}

/** A kind of leftover: how it is found and removed, and what the bucket must allow for that. */
interface Kind<T> {
  readonly name: string;
  readonly rights: string;
  readonly find: (start: string, signal: AbortSignal) => AsyncIterable<T>;
  readonly mayRemove: (found: T) => boolean;
  readonly remove: (found: T, signal: AbortSignal) => Promise<void>;
}

/**
 * Removes what killed processes left in a bucket: rows without a record, records without rows, uploads that were never completed. Never throws: who cannot
 * tidy up can still serve results.
 */
export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #objects: Kind<StoredPair>;
  readonly #uploads: Kind<UnfinishedUpload>;
  /** What was told of each kind last: a right that is lacking is not told of again with every look. */
  readonly #told = new Map<string, string>();

  constructor(options: LeftoversOptions) {
    const { client } = options;
    const { rights } = client;
    this.#options = options;
    this.#objects = {
      name: 'objects of results that were never completed',
      rights: quoted(rights.objects),
      find: (start, signal) => pairsOf(client.list(start, signal)),
      mayRemove: ({ requestId, record, rows }) =>
        (record === undefined || rows === undefined) && this.#isOver(requestId, (record ?? rows)?.modifiedMs),
      remove: (pair, signal) => this.#removeHalf(pair, signal),
    };
    this.#uploads = {
      name: 'uploads that were never completed',
      rights: `${quoted(rights.uploads)}, or a lifecycle rule of the bucket that ends them`,
      find: (start, signal) => client.uploads(start, signal),
      mayRemove: ({ key, modifiedMs }) => this.#isOver(key.slice(0, -ROWS.length), modifiedMs),
      remove: (upload, signal) => client.abortUpload(upload, signal),
    };
  }

  /** @param start of the keys that are looked at */
  async remove(start: string, signal: AbortSignal): Promise<void> {
    // Uploads first: one that is ended now cannot become rows behind the look at the objects.
    await this.#removeKind(this.#uploads, start, signal);
    await this.#removeKind(this.#objects, start, signal);
  }

  async #removeKind<T>(kind: Kind<T>, start: string, signal: AbortSignal): Promise<void> {
    try {
      const whole = await removeAll(kind, start, signal);
      if (whole) this.#told.delete(kind.name);
      else this.#tell(kind.name, `more than ${MAX_REMOVED} ${kind.name} lie in the bucket; the rest goes next time`);
    } catch (error) {
      const why = signal.aborted ? 'the time for it was over' : reasonOf(error);
      this.#tell(kind.name, `${kind.name} could not be removed (${why}); it is tried again; needed are ${kind.rights}`);
    }
  }

  #tell(kind: string, message: string): void {
    if (this.#told.get(kind) === message) return;
    this.#told.set(kind, message);
    this.#options.onProblem(message);
  }

  /** Whether nobody can be at work on the result any more. */
  #isOver(requestId: string, modifiedMs: number | undefined): boolean {
    if (!isRequestId(requestId)) return false;
    const { tag, now, isBeingWritten } = this.#options;
    if (holderOf(requestId) === tag) return !isBeingWritten(requestId);
    return modifiedMs !== undefined && now() - modifiedMs > LEFTOVER_MS;
  }

  async #removeHalf({ requestId, record }: StoredPair, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const [here, missing] = record === undefined ? [ROWS, RECORD] : [RECORD, ROWS];
    // A listing takes its time, and not every bucket's is in order: the bucket itself says whether the other half is there.
    if ((await client.size(requestId + missing, signal)) === undefined) await client.delete(requestId + here, signal);
  }
}

/**
 * @returns false where there was more than may go at once
 * @throws what removing one threw, when the others are through; at once where all of several at a time failed: then the next ones would, too
 */
async function removeAll<T>(kind: Kind<T>, start: string, signal: AbortSignal): Promise<boolean> {
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

/** The kind of failure alone: what an SDK says of it may hold names of credentials. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const { name, code } = (cause ?? error) as { name?: unknown; code?: unknown };
  return String(typeof code === 'number' || name === 'Error' ? (code ?? 'unknown') : name);
}
