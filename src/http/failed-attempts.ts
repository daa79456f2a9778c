import { createHash, randomBytes } from 'node:crypto';

const MAX_ADDRESSES = 10_000;
const MAX_GOOD_CREDENTIALS = 1000;

export interface FailedAttemptsOptions {
  /** Failures of one address within the window that are borne. */
  readonly limit: number;
  readonly windowMs: number;
  readonly now: () => number;
}

interface Window {
  failures: number;
  readonly endsAt: number;
}

/**
 * Counts failed logins by client address.
 *
 * Many clients may share an address (a proxy, a node): a credential that was good a moment ago is not shut out by a neighbour's
 * failures. Such credentials are remembered as keyed hashes only, and only while their address has failures at all.
 */
export class FailedAttempts {
  readonly #options: FailedAttemptsOptions;
  readonly #windows = new Map<string, Window>();
  readonly #good = new Map<string, number>();
  readonly #key = randomBytes(16).toString('hex');

  constructor(options: FailedAttemptsOptions) {
    this.#options = options;
  }

  /** Seconds until the address may try this credential again; 0 where it may now. */
  retryAfterSeconds(address: string, credential: string): number {
    const now = this.#options.now();
    const window = this.#windows.get(address);
    if (!window || window.endsAt <= now || window.failures < this.#options.limit) return 0;
    if ((this.#good.get(this.#hash(credential)) ?? 0) > now) return 0;
    return Math.ceil((window.endsAt - now) / 1000);
  }

  failed(address: string): void {
    const now = this.#options.now();
    let window = this.#windows.get(address);
    if (!window || window.endsAt <= now) {
      this.#windows.delete(address);
      window = { failures: 0, endsAt: now + this.#options.windowMs };
      this.#windows.set(address, window);
      dropOldest(this.#windows, MAX_ADDRESSES);
    }
    window.failures += 1;
  }

  succeeded(address: string, credential: string): void {
    const window = this.#windows.get(address);
    if (!window) return;
    const now = this.#options.now();
    if (window.endsAt <= now) {
      this.#windows.delete(address);
      return;
    }
    const hash = this.#hash(credential);
    this.#good.delete(hash);
    this.#good.set(hash, now + this.#options.windowMs);
    dropOldest(this.#good, MAX_GOOD_CREDENTIALS);
  }

  #hash(credential: string): string {
    return createHash('sha256').update(this.#key).update(credential).digest('base64');
  }
}

function dropOldest<K, V>(map: Map<K, V>, max: number): void {
  if (map.size <= max) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
