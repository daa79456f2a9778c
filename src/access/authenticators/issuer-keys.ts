import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../platform/clock.ts';

/** Age from which keys are read again, without waiting for them. */
const FRESH_MS = 600_000;
/** Age that keys reach only while no token arrives, or the issuer is away. One that it has revoked since must not be accepted. */
const IDLE_MS = 2 * FRESH_MS;
/** Least time between two reads, also between failed ones. An unknown key causes a read, and any client can send a token with one. */
const PAUSE_MS = 5_000;
/** Time until a failed read is repeated without any token. */
const RETRY_MS = 30_000;

/** No keys are known, or they are too old, or the token has a key that may be newer than them. */
export class KeysUnavailableError extends Error {
  constructor(cause: unknown) {
    super('the keys of the issuer cannot be read', { cause });
    this.name = 'KeysUnavailableError';
  }
}

export interface IssuerKeysOptions {
  /** Reads the keys. It has a time limit of its own. */
  readonly read: () => Promise<JSONWebKeySet>;
  /** How long keys are used after they were read, while they cannot be read again, milliseconds. */
  readonly maxStaleMs: number;
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  /** Called for each failed read with the reason and the age of the keys that are used on, milliseconds; undefined for none. */
  readonly onFailed: (error: unknown, ageMs: number | undefined) => void;
  /** Called for a successful read after a failed one. */
  readonly onRecovered: () => void;
}

interface KnownKeys {
  readonly find: JWTVerifyGetKey;
  /** Monotonic time. */
  readonly readAt: number;
}

/**
 * The signing keys of an issuer. A token with a known key waits for the issuer only where no token has arrived for a while; while the issuer is
 * away, known keys are used for a limited time.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #known: KnownKeys | undefined;
  #reading: Promise<void> | undefined;
  /** The last attempt, and its error if it failed. */
  #last: { readonly at: number; readonly failure: KeysUnavailableError | undefined } | undefined;
  #cancelRetry: (() => void) | undefined;
  #closed = false;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** Whether the last read has failed, so that a change of the keys is not noticed. */
  get isStale(): boolean {
    return this.#last?.failure !== undefined;
  }

  /**
   * The key of a token.
   * @throws {errors.JWKSNoMatchingKey} when the issuer has no such key
   * @throws {KeysUnavailableError}
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#usable() === undefined) await this.#read();
    else if (this.#age() >= FRESH_MS) await this.#refresh();
    const known = this.#usable();
    if (known === undefined) throw this.#last?.failure ?? new KeysUnavailableError(undefined);
    try {
      return await known.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#read();
      return (this.#known ?? known).find(header, token);
    }
  };

  /** Reads known keys again. Waits for that only where they may be outdated although the issuer responds. Does not throw. */
  #refresh(): Promise<void> | undefined {
    const read = this.#read().catch(() => undefined);
    return this.#age() >= IDLE_MS && !this.isStale ? read : undefined;
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  #age(): number {
    return this.#known === undefined ? Number.POSITIVE_INFINITY : this.#options.clock.monotonic() - this.#known.readAt;
  }

  #usable(): KnownKeys | undefined {
    return this.#age() <= this.#options.maxStaleMs ? this.#known : undefined;
  }

  /** Reads the keys, unless they were read just now. Concurrent calls share one read. @throws {KeysUnavailableError} */
  #read(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    const { clock } = this.#options;
    if (this.#last !== undefined && clock.monotonic() - this.#last.at < PAUSE_MS) {
      const { failure } = this.#last;
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    }
    this.#reading = this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readNow(): Promise<void> {
    const { read, clock, onFailed, onRecovered } = this.#options;
    try {
      const find = createLocalJWKSet(await read());
      const wasStale = this.isStale;
      this.#known = { find, readAt: clock.monotonic() };
      this.#last = { at: clock.monotonic(), failure: undefined };
      if (wasStale) onRecovered();
    } catch (error) {
      const failure = new KeysUnavailableError(error);
      this.#last = { at: clock.monotonic(), failure };
      this.#retry();
      onFailed(error, this.#usable() === undefined ? undefined : this.#age());
      throw failure;
    }
  }

  #retry(): void {
    if (this.#closed) return;
    this.#cancelRetry?.();
    this.#cancelRetry = this.#options.clock.schedule(() => {
      this.#cancelRetry = undefined;
      void this.#read().catch(() => undefined);
    }, RETRY_MS);
  }
}
