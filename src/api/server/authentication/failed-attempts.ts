import { createHash, randomBytes } from 'node:crypto';
import type { MonotonicClock } from '../../../platform/clock.ts';
import { ExpiringLruCache } from '../../../platform/lru.ts';
import { clientNetwork } from '../client-network.ts';

/** Counters of addresses and access keys. */
const MAX_COUNTERS = 20_000;
const MAX_VALID_CREDENTIALS = 1000;
/** A user name of Basic credentials can be of any length; a counter needs no more of it than this. */
const MAX_KEY_LENGTH = 256;

export interface FailedAttemptsOptions {
  /** Failed logins per address and per access key within the window before further failures are throttled. */
  readonly limit: number;
  readonly windowMs: number;
  readonly clock: MonotonicClock;
}

/** Whose failure is counted. */
export interface LoginAttempt {
  readonly address: string;
  /** Public part of a service token; undefined for other credentials. */
  readonly accessKey?: string | undefined;
}

interface Window {
  failures: number;
  /** Milliseconds of the monotonic clock. */
  readonly endsAt: number;
}

/**
 * Counts failed logins by client address (of IPv6, by its /64) and by access key: the second bounds what many addresses try with one key.
 *
 * A credential that an authority has accepted within the window may be checked again despite the failures of its address, because clients behind a
 * proxy share one. Such credentials are kept as keyed hashes, and only while their address has failures.
 */
export class FailedAttempts {
  readonly #options: FailedAttemptsOptions;
  readonly #windows: ExpiringLruCache<string, Window>;
  readonly #validCredentials: ExpiringLruCache<string, true>;
  readonly #key = randomBytes(16).toString('hex');

  constructor(options: FailedAttemptsOptions) {
    this.#options = options;
    this.#windows = new ExpiringLruCache(options.clock, MAX_COUNTERS);
    this.#validCredentials = new ExpiringLruCache(options.clock, MAX_VALID_CREDENTIALS);
  }

  /** Seconds until a failed login of this address or access key gets 401 again instead of 429; 0 if it gets 401 now. */
  retryAfterSeconds(attempt: LoginAttempt): number {
    let endsAt = 0;
    for (const key of keysOf(attempt)) {
      const window = this.#windows.get(key);
      if (window !== undefined && window.failures >= this.#options.limit) endsAt = Math.max(endsAt, window.endsAt);
    }
    return Math.max(0, Math.ceil((endsAt - this.#options.clock.monotonic()) / 1000));
  }

  failed(attempt: LoginAttempt): void {
    const { clock, windowMs } = this.#options;
    for (const key of keysOf(attempt)) {
      const window = this.#windows.get(key);
      if (window === undefined) this.#windows.set(key, { failures: 1, endsAt: clock.monotonic() + windowMs }, windowMs);
      else window.failures += 1;
    }
  }

  /** Records that an authority accepted the credential: for longer than the results of the authority are cached. */
  succeeded(credential: string): void {
    this.#validCredentials.set(this.#hash(credential), true, 10 * this.#options.windowMs);
  }

  /** Whether an authority accepted the credential within the window. */
  wasValid(credential: string): boolean {
    return this.#validCredentials.size > 0 && this.#validCredentials.get(this.#hash(credential)) === true;
  }

  #hash(credential: string): string {
    return createHash('sha256').update(this.#key).update(credential).digest('base64');
  }
}

function keysOf({ address, accessKey }: LoginAttempt): string[] {
  const keys = [addressKey(address)];
  if (accessKey !== undefined) keys.push(`key ${accessKey.slice(0, MAX_KEY_LENGTH)}`);
  return keys;
}

function addressKey(address: string): string {
  return `address ${clientNetwork(address)}`;
}
