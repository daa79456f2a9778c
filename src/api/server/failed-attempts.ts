import { createHash, randomBytes } from 'node:crypto';

const MAX_ADDRESSES = 10_000;
const MAX_VALID_CREDENTIALS = 1000;

export interface FailedAttemptsOptions {
  /** Failed logins per address within the window before further attempts are rejected. */
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
 * Clients behind a proxy or on one node share an address, so a credential that was valid within the window stays usable despite the failures of
 * others. Such credentials are kept as keyed hashes, and only while their address has failures.
 */
export class FailedAttempts {
  readonly #options: FailedAttemptsOptions;
  readonly #windows = new Map<string, Window>();
  readonly #validCredentials = new Map<string, number>();
  readonly #key = randomBytes(16).toString('hex');

  constructor(options: FailedAttemptsOptions) {
    this.#options = options;
  }

  /** Seconds until the address may try this credential again; 0 for now. */
  retryAfterSeconds(address: string, credential: string): number {
    const now = this.#options.now();
    const window = this.#windows.get(address);
    if (!window || window.endsAt <= now || window.failures < this.#options.limit) return 0;
    if ((this.#validCredentials.get(this.#hash(credential)) ?? 0) > now) return 0;
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
    this.#validCredentials.delete(hash);
    this.#validCredentials.set(hash, now + this.#options.windowMs);
    dropOldest(this.#validCredentials, MAX_VALID_CREDENTIALS);
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
