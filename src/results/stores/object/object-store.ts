import type { FairQueue } from '../../../platform/fair-queue.ts';
import type { Clock } from '../../../platform/clock.ts';
import { Deadline } from '../../../platform/deadline.ts';
import { damaged, isDamaged, type QueryError } from '../../errors.ts';
import { RECORD_MISSING, recordFromJson, recordToJson, unreadableResult, wrongSize } from '../record-json.ts';
import type { StoredCoding } from '../../rows/frames.ts';
import { readAgain } from '../../rows/read-again.ts';
import type {
  ResultReader,
  ResultRecord,
  ResultStore,
  ResultWriter,
  SignedLink,
  StoredResultSummary,
} from '../../result-store.ts';
import { holderTag } from '../../request-id.ts';
import { DamagedReader } from '../damaged-reader.ts';
import type { StoreContext } from '../definition.ts';
import { limitedClient } from './limited-client.ts';
import type { ObjectClient } from './object-client.ts';
import { ObjectDownloads } from './object-downloads.ts';
import { LEFTOVER_MS, Leftovers, reasonOf } from './object-leftovers.ts';
import { ObjectNotes } from './object-notes.ts';
import { pairsOf, RECORD, ROWS, type StoredPair } from './object-pairs.ts';
import { bucketReads, ObjectReader, ObjectWriter } from './object-result.ts';
import { UnpairedRows } from './unpaired-rows.ts';
import { checkRights } from './rights-check.ts';
import { unusableBucket } from './unusable-bucket.ts';
import { bytesOf, type CachedResult, createRecordCache } from '../result-cache.ts';

const LISTING_CONCURRENCY = 8;
/** How long a cached record is used without a check: another gateway may have deleted the result. */
const RECHECK_MS = 2000;
/** Leaves time for the other startup work, which must finish within 30 s. */
const START_TIDY_MS = 15_000;
const TIDY_PERIOD_MS = 3_600_000;
const TIDY_TIMEOUT_MS = 60_000;

/**
 * Results in a bucket, readable by any gateway: `<requestId>.rows` (rows, then index) by multipart upload while the engine sends,
 * and `<requestId>.json` (everything else), written last, with the files of downloads beside them. A result exists when both do and the rows have the recorded length.
 */
export class ObjectResultStore implements ResultStore {
  readonly local = false;
  readonly notes: ObjectNotes;
  readonly downloads: ObjectDownloads;
  readonly compression?: StoredCoding;
  readonly #clock: Clock;
  readonly #onProblem: (message: string) => void;
  /** `holderTag` of this gateway: its own leftovers are removed at start. */
  readonly #tag: string;
  readonly #client: ObjectClient;
  readonly #cache = createRecordCache();
  readonly #reads: FairQueue;
  /** When the record was last read from the bucket. */
  readonly #seen = new WeakMap<CachedResult, number>();
  /** Results being written, with their start time: the leftovers of a writer that is never closed must not stay forever. */
  readonly #writing = new Map<string, number>();
  readonly #leftovers: Leftovers;
  readonly #unpaired: UnpairedRows;
  readonly #context: StoreContext;
  #tidiedAt = Number.NEGATIVE_INFINITY;

  constructor(client: ObjectClient, context: StoreContext, compression?: StoredCoding) {
    const { gatewayId, clock, onProblem } = context;
    this.#context = context;
    this.#client = limitedClient(client, clock);
    if (compression !== undefined) this.compression = compression;
    this.notes = new ObjectNotes(this.#client);
    this.#clock = clock;
    this.#reads = bucketReads(clock);
    this.downloads = new ObjectDownloads({ client: this.#client, clock, reads: this.#reads });
    this.#onProblem = onProblem;
    this.#tag = holderTag(gatewayId);
    const isBeingWritten = (requestId: string): boolean =>
      clock.monotonic() - (this.#writing.get(requestId) ?? Number.NEGATIVE_INFINITY) < LEFTOVER_MS;
    this.#leftovers = new Leftovers({ client: this.#client, tag: this.#tag, clock, isBeingWritten, onProblem });
    this.#unpaired = new UnpairedRows({ client: this.#client, leftovers: this.#leftovers, clock });
  }

  /**
   * Checks its permissions, and removes only this gateway's own leftovers, which share a key prefix: a full bucket must not delay the start.
   * @throws {UnusableStoreError} with the setting or the permission that is wrong
   */
  async start(signal: AbortSignal): Promise<void> {
    const own = `${this.#tag}-`;
    // Fail at start if listing is not permitted, because nothing works without it.
    try {
      await this.#client.list(own, signal)[Symbol.asyncIterator]().next();
    } catch (error) {
      const failed = { right: this.#client.rights.each.list, doing: 'listing its objects' };
      throw unusableBucket(this.#client, failed, error);
    }
    // Both run at the same time, so that a slow bucket delays the start only by the longer of both.
    const tidied = this.#removeLeftovers(own, START_TIDY_MS, signal);
    try {
      await checkRights(this.#client, this.notes, this.#context, signal);
    } finally {
      await tidied;
    }
  }

  async tidy(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    if (now - this.#tidiedAt < TIDY_PERIOD_MS) return;
    this.#tidiedAt = now;
    for (const [requestId, since] of this.#writing) if (now - since > LEFTOVER_MS) this.#writing.delete(requestId);
    await this.#removeLeftovers('', TIDY_TIMEOUT_MS, signal);
    await this.#removeOldNotes(signal);
  }

  async begin(requestId: string, signal: AbortSignal): Promise<ResultWriter> {
    this.#writing.set(requestId, this.#clock.monotonic());
    try {
      return new ObjectWriter({
        client: this.#client,
        upload: await this.#client.upload(requestId + ROWS, signal),
        requestId,
        publish: async (record) => {
          await this.#client.put(requestId + RECORD, Buffer.from(recordToJson(record)), signal);
          return this.#reader({ record, index: undefined });
        },
        onEnd: (failure) => this.#ended(requestId, failure),
      });
    } catch (error) {
      this.#writing.delete(requestId);
      throw error;
    }
  }

  async open(requestId: string, signal: AbortSignal): Promise<ResultReader | undefined> {
    const known = this.#cache.get(requestId);
    if (known !== undefined && this.#isFresh(known)) return this.#reader(known);
    // Read again after a time: another gateway may have deleted or renewed the result.
    this.#cache.delete(requestId);
    const rowsBytes = this.#client.size(requestId + ROWS, signal);
    const [record, bytes] = await Promise.all([this.#load(requestId, signal), rowsBytes]);
    if (record === undefined) return bytes === undefined ? undefined : this.#withoutRecord(requestId, signal);
    const damage = bytes === undefined ? await this.#rowsMissing(requestId, signal) : wrongSize(record, bytes);
    if (damage === 'deleted') return undefined;
    if (damage !== undefined) return new DamagedReader(record, damage);
    // The record in memory has what was made of it.
    const isSame = record.expirationTimeMs === known?.record.expirationTimeMs;
    const current = known !== undefined && isSame ? known : { record, index: known?.index };
    this.#seen.set(current, this.#clock.monotonic());
    return this.#reader(current);
  }

  /** Nothing else is read of a result without rows, which would show that it was deleted. */
  #isFresh(known: CachedResult): boolean {
    const { rowCount, expirationTimeMs } = known.record;
    const age = this.#clock.monotonic() - (this.#seen.get(known) ?? Number.NEGATIVE_INFINITY);
    return age < RECHECK_MS && rowCount > 0 && expirationTimeMs > this.#clock.now();
  }

  /** @throws {QueryError} damaged where there are rows that nobody writes */
  async #withoutRecord(requestId: string, signal: AbortSignal): Promise<undefined> {
    if (await this.#unpaired.exist(requestId, signal)) throw damaged(RECORD_MISSING);
  }

  async renew(record: ResultRecord, signal: AbortSignal): Promise<void> {
    const { requestId } = record;
    // A deletion may come before this or meanwhile: a record without rows would be a damaged result.
    if ((await this.#client.size(requestId + ROWS, signal)) === undefined) return;
    await this.#client.put(requestId + RECORD, Buffer.from(recordToJson(record)), signal);
    if ((await this.#client.size(requestId + ROWS, signal)) === undefined) {
      await this.#client.delete(requestId + RECORD, signal);
      this.#cache.delete(requestId);
      return;
    }
    this.#cache.set(requestId, { record, index: this.#cache.peek(requestId)?.index });
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredResultSummary> {
    let batch: StoredPair[] = [];
    const unpaired: StoredPair[] = [];
    for await (const pair of pairsOf(this.#client.list('', signal))) {
      if (pair.record === undefined) {
        this.#unpaired.collect(pair, unpaired);
        continue;
      }
      batch.push(pair);
      if (batch.length < LISTING_CONCURRENCY) continue;
      yield* await this.#summaries(batch, signal);
      batch = [];
    }
    yield* await this.#summaries(batch, signal);
    yield* this.#unpaired.summaries(unpaired, signal);
  }

  link(requestId: string, lifetimeMs: number, signal: AbortSignal): Promise<SignedLink> {
    // The signatures of buckets have whole seconds.
    const from = new Date(Math.floor(this.#clock.now() / 1000) * 1000);
    const seconds = Math.max(1, Math.floor(lifetimeMs / 1000));
    return this.#client.link(requestId + ROWS, { from, seconds }, signal);
  }

  async delete(requestId: string, signal: AbortSignal): Promise<boolean> {
    this.#cache.delete(requestId);
    // Bucket APIs report success when the deleted object did not exist.
    const isThere = (await this.#client.size(requestId + RECORD, signal)) !== undefined;
    if (isThere) await this.#client.delete(requestId + RECORD, signal);
    else if (!(await this.#unpaired.exist(requestId, signal))) return false;
    await this.#client.delete(requestId + ROWS, signal);
    await this.downloads.deleteAll(requestId, signal);
    return true;
  }

  async close(): Promise<void> {
    this.#cache.clear();
    await this.#client.close();
  }

  async #removeLeftovers(start: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const deadline = new Deadline(this.#clock, timeoutMs, signal);
    try {
      await this.#leftovers.remove(start, deadline.signal);
    } finally {
      deadline.clear();
    }
  }

  async #removeOldNotes(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const deadline = new Deadline(this.#clock, TIDY_TIMEOUT_MS, signal);
    try {
      await this.notes.removeOld(this.#clock, deadline.signal);
    } catch (error) {
      this.#onProblem(`failed to remove old states of queries (${reasonOf(error)}); retrying in an hour`);
    } finally {
      deadline.clear();
    }
  }

  #ended(requestId: string, failure: unknown): void {
    this.#writing.delete(requestId);
    if (failure === undefined) return;
    const why = reasonOf(failure);
    this.#onProblem(
      `failed to remove the objects of the discarded result ${requestId} (${why}); they are removed within an hour or when the result expires`,
    );
  }

  /** The damage of a result with a record and without rows, unless it was deleted since the record was read. */
  async #rowsMissing(requestId: string, signal: AbortSignal): Promise<QueryError | 'deleted'> {
    const isThere = (await this.#client.size(requestId + RECORD, signal)) !== undefined;
    return isThere ? damaged('its rows are missing') : 'deleted';
  }

  /** @throws {QueryError} damaged */
  async #load(requestId: string, signal: AbortSignal): Promise<ResultRecord | undefined> {
    const record = await readAgain({}, async () => {
      const bytes = await this.#client.get(requestId + RECORD, signal);
      return bytes && recordFromJson(Buffer.from(bytes).toString('utf8'));
    });
    if (record === undefined) return undefined;
    if (record.requestId !== requestId) throw damaged('its record belongs to another result');
    return record;
  }

  async #summaries(pairs: readonly StoredPair[], signal: AbortSignal): Promise<StoredResultSummary[]> {
    const summaries = await Promise.all(pairs.map((pair) => this.#summary(pair, signal)));
    return summaries.filter((summary) => summary !== undefined);
  }

  /** @returns undefined if the result was deleted */
  async #summary(
    { requestId, record: object, rows, downloads }: StoredPair,
    signal: AbortSignal,
  ): Promise<StoredResultSummary | undefined> {
    const rowsBytes = rows?.bytes ?? (await this.#client.size(requestId + ROWS, signal));
    const fileBytes = downloads.reduce((sum, { bytes }) => sum + bytes, 0);
    const at = `${this.#client.base}/${requestId}`;
    const files = { dataFile: at + ROWS, metadataFile: at + RECORD };
    try {
      const record = await this.#listedRecord(requestId, object?.modifiedMs, signal);
      if (record === undefined) return undefined;
      const damage =
        rowsBytes === undefined ? await this.#rowsMissing(requestId, signal) : wrongSize(record, rowsBytes);
      if (damage === 'deleted') return undefined;
      const bytes = (rowsBytes ?? 0) + recordToJson(record).length + fileBytes;
      return { record, bytes, ...files, ...(damage !== undefined && { damaged: damage.message }) };
    } catch (error) {
      if (!isDamaged(error)) throw error;
      // Without the time of the last change the age is unknown, and the result counts as new.
      const modifiedMs = object?.modifiedMs ?? this.#clock.now();
      const bytes = (rowsBytes ?? 0) + fileBytes;
      return unreadableResult({ requestId, modifiedMs, bytes, reason: error.message, ...files });
    }
  }

  /** @param modifiedMs of the record in the listing */
  async #listedRecord(
    requestId: string,
    modifiedMs: number | undefined,
    signal: AbortSignal,
  ): Promise<ResultRecord | undefined> {
    const known = this.#cache.peek(requestId);
    if (known !== undefined && this.#isCurrent(known, modifiedMs)) return known.record;
    const record = await this.#load(requestId, signal);
    if (record !== undefined) this.#remember({ record, index: known?.index, modifiedMs });
    return record;
  }

  /** Whether the cached record is that of the bucket. Only the expiration of a record ever changes, by a renewal. */
  #isCurrent(known: CachedResult, modifiedMs: number | undefined): boolean {
    return known.modifiedMs === undefined || modifiedMs === undefined
      ? known.record.expirationTimeMs > this.#clock.now()
      : known.modifiedMs === modifiedMs;
  }

  /** Listings run twice a minute for the quota, so records are cached, but not in place of results that are read. */
  #remember(listed: CachedResult): void {
    const { requestId } = listed.record;
    if (this.#cache.peek(requestId) !== undefined || this.#cache.hasRoomFor(bytesOf(listed)))
      this.#cache.set(requestId, listed);
  }

  #reader(cached: CachedResult): ResultReader {
    const [clock, reads] = [this.#clock, this.#reads];
    if (!this.#seen.has(cached)) this.#seen.set(cached, this.#clock.monotonic());
    this.#cache.set(cached.record.requestId, cached);
    const onGone = (): void => void this.#cache.delete(cached.record.requestId);
    return new ObjectReader(this.#client, cached, { clock, reads, onGone });
  }
}
