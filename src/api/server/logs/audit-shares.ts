import type { MonotonicClock } from '../../../platform/clock.ts';
import { TokenBuckets, type TokenRate } from '../../../platform/rate-limiter.ts';

/** The audit files: changes of access that were made, all records of system administrators, and all others. */
export const AUDIT_FILES = ['calls', 'access', 'administrators'] as const;
export type AuditFileKind = (typeof AUDIT_FILES)[number];

export interface ShareOptions {
  /** Bytes of one audit file with its rotated files. */
  readonly bytesOfFile?: number;
}

/** A part of a file: that of the records of one caller about what it did, or about what it was refused. */
export interface Share {
  /** SRN of who is responsible for the caller; undefined for all failed logins together. */
  readonly caller: string | undefined;
  readonly file: AuditFileKind;
  readonly isDone: boolean;
}

/** As with the default settings. */
const BYTES_OF_FILE = 11 * 100 * 1024 * 1024;
/** What a caller does may fill this part of a file in an hour: the records of others stay for more than two days. */
const DONE_PART = 64;
/** What it is refused may fill far less: it costs the caller nothing. */
const REFUSED_PART = 1024;
/** For small files: a few records. */
const MIN_BYTES = 64 * 1024;
/** Room that a change needs before it is made: that of a large record. */
const ROOM_BYTES = 16 * 1024;
const HOUR_MS = 3_600_000;
/** Beyond these, the least recently used one begins with a full share. */
const MAX_SHARES = 10_000;

/** How much of the audit files each caller may fill: its share at once, and as much in each hour. */
export class AuditShares {
  readonly #buckets: TokenBuckets;
  readonly #done: TokenRate;
  readonly #refused: TokenRate;

  constructor(clock: MonotonicClock, { bytesOfFile = BYTES_OF_FILE }: ShareOptions) {
    this.#buckets = new TokenBuckets(clock, MAX_SHARES);
    this.#done = rateOf(bytesOfFile / DONE_PART);
    this.#refused = rateOf(bytesOfFile / REFUSED_PART);
  }

  /** Milliseconds until the share has room for the record of a change; 0 if it has. */
  wait(share: Share): number {
    return this.#buckets.wait(keyOf(share), this.#rateOf(share), ROOM_BYTES);
  }

  /** Takes the bytes of a record. @param isFree also where there is no room @returns whether the record is to be written */
  take(share: Share, bytes: number, isFree: boolean): boolean {
    const [key, rate] = [keyOf(share), this.#rateOf(share)];
    if (!isFree) return this.#buckets.take(key, rate, bytes) === 0;
    this.#buckets.charge(key, rate, bytes);
    return true;
  }

  #rateOf({ isDone }: Share): TokenRate {
    return isDone ? this.#done : this.#refused;
  }
}

function rateOf(bytes: number): TokenRate {
  const burst = Math.max(MIN_BYTES, Math.floor(bytes));
  return { burst, intervalMs: HOUR_MS / burst };
}

function keyOf({ caller = '', file, isDone }: Share): string {
  return `${file} ${isDone ? 'done' : 'refused'} ${caller}`;
}
