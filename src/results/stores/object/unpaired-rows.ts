import { type Clock, sleep } from '../../../platform/clock.ts';
import { damaged } from '../../errors.ts';
import type { StoredResultSummary } from '../../result-store.ts';
import { RECORD_MISSING, unreadableResult } from '../record-json.ts';
import type { ObjectClient } from './object-client.ts';
import type { Leftovers } from './object-leftovers.ts';
import { pairsOf, RECORD, ROWS, type StoredPair } from './object-pairs.ts';

/** Those of one listing. Killed processes leave a few. */
const MAX_LISTED = 1_000;
const CONCURRENCY = 32;
/** A deletion removes the rows a moment after the record. */
const SETTLE_MS = 1_000;

export interface UnpairedRowsOptions {
  readonly client: Pick<ObjectClient, 'base' | 'list' | 'size'>;
  readonly leftovers: Pick<Leftovers, 'isAbandoned'>;
  readonly clock: Pick<Clock, 'now' | 'schedule'>;
}

/** Rows in a bucket that nobody writes and whose record is missing: a damaged result. */
export class UnpairedRows {
  readonly #options: UnpairedRowsOptions;

  constructor(options: UnpairedRowsOptions) {
    this.#options = options;
  }

  /** @throws {QueryError} store-unavailable */
  async exist(requestId: string, signal: AbortSignal): Promise<boolean> {
    for await (const pair of pairsOf(this.#options.client.list(requestId, signal)))
      return this.#mayBe(pair) && (await this.#stay(pair, signal));
    return false;
  }

  /** Adds the pair of a listing to those found before, if it may be such rows. */
  collect(pair: StoredPair, found: StoredPair[]): void {
    if (found.length < MAX_LISTED && this.#mayBe(pair)) found.push(pair);
  }

  /** @param found from `collect`. @throws {QueryError} store-unavailable */
  async *summaries(found: readonly StoredPair[], signal: AbortSignal): AsyncIterable<StoredResultSummary> {
    for (let at = 0; at < found.length; at += CONCURRENCY) {
      const batch = found.slice(at, at + CONCURRENCY);
      const stay = await Promise.all(batch.map((pair) => this.#stay(pair, signal)));
      for (const [index, pair] of batch.entries()) if (stay[index] === true) yield this.#summary(pair);
    }
  }

  #mayBe({ requestId, record, rows }: StoredPair): boolean {
    return record === undefined && this.#options.leftovers.isAbandoned(requestId, rows?.modifiedMs);
  }

  /** Whether there are still rows without a record a moment later. Deletions by other gateways have ended then. */
  async #stay({ requestId }: StoredPair, signal: AbortSignal): Promise<boolean> {
    const { client, clock } = this.#options;
    await sleep(clock, SETTLE_MS, signal);
    const [record, rows] = await Promise.all([RECORD, ROWS].map((suffix) => client.size(requestId + suffix, signal)));
    return record === undefined && rows !== undefined;
  }

  #summary({ requestId, rows }: StoredPair): StoredResultSummary {
    const at = `${this.#options.client.base}/${requestId}`;
    const { bytes = 0, modifiedMs = this.#options.clock.now() } = rows ?? {};
    const reason = damaged(RECORD_MISSING).message;
    return unreadableResult({ requestId, modifiedMs, bytes, reason, dataFile: at + ROWS, metadataFile: at + RECORD });
  }
}
