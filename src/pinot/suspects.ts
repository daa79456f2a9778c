import { ExpiringLruCache } from '../platform/lru.ts';
import { EndpointError } from './failures.ts';
import { EngineError } from './types.ts';

/** How long other endpoints are tried before one that failed; a successful request ends this at once. */
const SUSPECT_MS = 10_000;
/** Endpoints that are remembered; with more failing ones the order of attempts hardly matters. */
const MAX_SUSPECTS = 1_000;

/** Remembers recently failed endpoints, so that others are tried first. */
export class Suspects {
  readonly #failed: ExpiringLruCache<string, true>;

  /** @param now monotonic clock in milliseconds */
  constructor(now: () => number) {
    this.#failed = new ExpiringLruCache({ monotonic: now }, MAX_SUSPECTS);
  }

  suspect(url: string, ms: number = SUSPECT_MS): void {
    this.#failed.set(url, true, ms);
  }

  /** Remembers the endpoint if the error shows that it cannot be reached, or soon will not be. A hang is noted by `HangWatch`. */
  note(url: string, error: unknown): void {
    if (isLost(error) && !this.has(url)) this.suspect(url);
  }

  clear(url: string): void {
    if (this.#failed.size > 0) this.#failed.delete(url);
  }

  /** Whether an endpoint failed recently. */
  get any(): boolean {
    return this.#failed.size > 0 && this.#failed.dropExpired() > 0;
  }

  has(url: string): boolean {
    return this.#failed.size > 0 && this.#failed.get(url) === true;
  }
}

/** Whether the endpoint cannot be reached, or soon will not be. */
function isLost(error: unknown): boolean {
  if (!(error instanceof EngineError) || error.code !== 'unreachable') return false;
  return !(error instanceof EndpointError && error.answered);
}
