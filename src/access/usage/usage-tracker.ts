import type { Logger } from 'pino';
import { sleep, type Clock } from '../../platform/clock.ts';
import { retry } from '../../platform/retry.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import { conflictRetryAfterMs } from '../../store/resource-store.ts';
import type { SharedDocument } from '../../store/shared-document.ts';
import {
  boundUsage,
  dayOf,
  formatDay,
  formatUsage,
  MAX_USED,
  parseUsage,
  setLatest,
  type Day,
} from './usage-record.ts';

/** Writes are at least this far apart, except the last one at shutdown. A crash loses at most the uses of this time. */
export const USAGE_INTERVAL_MS = 10 * 60_000;
const DAY_CHECK_MS = 60_000;
/** Several gateways write one document. */
const ATTEMPTS = 5;
const BACKOFF = { baseMs: 200, maxMs: 5000 } as const;

export interface UsageTrackerOptions {
  readonly document: SharedDocument;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Keys of everything that exists. Read only if the record exceeds its limit: other keys are then removed first. */
  readonly liveKeys: () => Promise<ReadonlySet<string>>;
}

/**
 * Last days of use, in memory and in a document that all gateways share. Marking takes constant time; the document is read and, if this gateway
 * knows later days, written once in ten minutes. Documents merge by the later day, so gateways need not agree on an order.
 */
export class UsageTracker {
  readonly #options: UsageTrackerOptions;
  readonly #stopping = new AbortController();
  #used = new Map<string, Day>();
  #since: Day;
  /** Entries before this day were dropped here, so no record can claim that nothing was used before it. */
  #completeFrom: Day = 0;
  #day: Day;
  #work: Promise<void> | undefined;
  #stopSynchronizing: () => Promise<void> = async () => {};
  #cancelDay: () => void = () => {};

  constructor(options: UsageTrackerOptions) {
    this.#options = options;
    this.#day = dayOf(options.clock.now());
    this.#since = this.#day;
  }

  /** Today. At most a minute late, so that decisions need not read the clock. */
  get day(): Day {
    return this.#day;
  }

  /** First day of the record: a key without an entry was not used on this day or later. */
  get since(): Day {
    return this.#since;
  }

  lastUsed(key: string): Day | undefined {
    return this.#used.get(key);
  }

  /** The last day of use, such as `2026-11-22`; null if none is recorded. */
  lastUsedAt(key: string): string | null {
    const day = this.#used.get(key);
    return day === undefined ? null : formatDay(day);
  }

  mark(key: string): void {
    // The map shrinks by at least half, so this work is rare.
    if (this.#used.size >= 2 * MAX_USED) this.#bound(this.#used);
    setLatest(this.#used, key, this.#day);
  }

  /** Reads the document in the background, then synchronizes periodically. The first time is random, so that gateways do not write at once. */
  start(): void {
    const { clock, log } = this.#options;
    this.#checkDay();
    const onError = (error: unknown): void => {
      log.warn({ err: error }, 'access usage not stored; trying again in ten minutes');
    };
    const begin = async (): Promise<void> => {
      const { signal } = this.#stopping;
      await this.#read(signal).catch(onError);
      await sleep(clock, clock.random() * USAGE_INTERVAL_MS, signal);
      await this.synchronize(signal).catch(onError);
      signal.throwIfAborted();
      this.#stopSynchronizing = runPeriodically((stopped) => this.synchronize(stopped), {
        clock,
        intervalMs: USAGE_INTERVAL_MS,
        onError,
      });
    };
    this.#work = begin().catch(() => undefined);
  }

  /** Stops the timers and stores what is not stored yet. @param signal limits the time of the last write */
  async stop(signal: AbortSignal): Promise<void> {
    this.#cancelDay();
    this.#stopping.abort(new Error('the gateway is stopping'));
    await this.#work;
    await this.#stopSynchronizing();
    await this.synchronize(signal);
  }

  /** Merges the document into this record, and writes it if this record has later days. @throws {StoreError} */
  async synchronize(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await retry(() => this.#synchronizeOnce(signal), {
      attempts: ATTEMPTS,
      backoff: BACKOFF,
      clock,
      retryAfterMs: conflictRetryAfterMs,
      signal,
    });
  }

  async #synchronizeOnce(signal: AbortSignal): Promise<void> {
    const { text, version } = await this.#read(signal);
    if (this.#used.size > MAX_USED) {
      const live = await this.#options.liveKeys();
      this.#bound(new Map([...this.#used].filter(([key]) => live.has(key))));
    }
    const merged = formatUsage({ since: this.#since, used: this.#used });
    if (merged !== text) await this.#options.document.write(merged, version, signal);
  }

  async #read(signal: AbortSignal): Promise<{ text: string; version: string }> {
    const stored = await this.#options.document.read(signal);
    const record = parseUsage(stored.text);
    if (record) {
      for (const [key, day] of record.used) setLatest(this.#used, key, day);
      this.#since = Math.max(record.since, this.#completeFrom);
    }
    return stored;
  }

  #bound(entries: ReadonlyMap<string, Day>): void {
    const { since, used } = boundUsage({ since: this.#since, used: entries });
    if (since > this.#since) this.#completeFrom = since;
    this.#since = since;
    this.#used = new Map(used);
  }

  #checkDay(): void {
    const { clock } = this.#options;
    this.#day = dayOf(clock.now());
    this.#cancelDay = clock.schedule(() => this.#checkDay(), DAY_CHECK_MS);
  }
}
