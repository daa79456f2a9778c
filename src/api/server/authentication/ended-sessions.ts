import { sleep, type Clock } from '../../../platform/clock.ts';
import { errorMessage } from '../../../platform/plain-error.ts';
import { retry } from '../../../platform/retry.ts';
import { conflictRetryAfterMs } from '../../../store/resource-store.ts';
import type { SharedDocument } from '../../../store/shared-document.ts';

export interface EndedSessionsOptions {
  /** Shared by all gateways that accept the same sessions; absent: what is ended here is known only here. */
  readonly document?: SharedDocument | undefined;
  readonly clock: Clock;
  /** Time after its opening at which a session ends by itself, in milliseconds. */
  readonly maxAgeMs: number;
  /** Called when the document cannot be read or written; what is known stays in use. Each problem is reported once. */
  readonly onProblem?: (message: string) => void;
}

/** A session that was ended by a sign-out. */
export interface EndedSession {
  /** Of the sealed session: 22 characters of base64url. It does not reveal the session. */
  readonly digest: string;
  /** Of who has ended it: 8 characters of base64url. */
  readonly owner: string;
  /** When the session would end by itself: seconds since the epoch. It is not listed longer. */
  readonly end: number;
}

/** Maximum delay until a sign-out at another gateway is known, without the time of its write. */
const READ_MS = 10_000;
/** Least time between two exchanges, however many sessions are ended. */
const PAUSE_MS = 1_000;
/** Of all owners together: about 215 KB, beside the record of use in the 1 MiB of a ConfigMap. */
const MAX_ENDED = 5_000;
/** Of one owner, so that nobody can push out those of others. */
const MAX_OF_OWNER = 100;
const ATTEMPTS = 5;
const BACKOFF = { baseMs: 200, maxMs: 5_000 } as const;
const LINE = /^([\w-]{22}) ([\w-]{8}) ([1-9]\d{0,11})$/u;

/**
 * The sessions that were ended before their time, in memory and in a document that all gateways share. It is read every ten seconds, and written at
 * once where this gateway knows sessions that it does not have. So an entry that is lost there comes back from any gateway that knows it.
 */
export class EndedSessions {
  readonly #options: EndedSessionsOptions;
  readonly #stopping = new AbortController();
  #ended = new Map<string, EndedSession>();
  /** Aborts when a session is ended or this gateway stops, so that the document is written before the next reading is due. */
  #wake = new AbortController();
  #problem: string | undefined;
  #work: Promise<void> = Promise.resolve();
  #first: Promise<void> = Promise.resolve();

  constructor(options: EndedSessionsOptions) {
    this.#options = options;
  }

  /** Whether a session was ended. Waits for the first reading, which ends by a time-out. */
  async has(digest: string): Promise<boolean> {
    await this.#first;
    return this.#ended.has(digest);
  }

  add(session: EndedSession): void {
    this.#ended.set(session.digest, session);
    this.#bound();
    this.#wake.abort();
  }

  /** Exchanges the sessions with the document, now and then periodically. */
  start(): void {
    if (this.#options.document === undefined) return;
    const { signal } = this.#stopping;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#first = promise;
    this.#work = this.#exchangeUntil(signal, resolve);
  }

  /** Stops the exchange, and writes what is not written yet. @param signal limits the time of the last write */
  async stop(signal: AbortSignal): Promise<void> {
    this.#stopping.abort(new Error('the gateway is stopping'));
    this.#wake.abort();
    await this.#work;
    await this.#exchange(signal);
  }

  async #exchangeUntil(stopped: AbortSignal, onFirst: () => void): Promise<void> {
    const { clock } = this.#options;
    while (!stopped.aborted) {
      // Before the exchange: what is ended during it needs another one.
      this.#wake = new AbortController();
      const { signal: woken } = this.#wake;
      await this.#exchange(stopped);
      onFirst();
      await sleep(clock, PAUSE_MS, stopped).catch(() => undefined);
      await sleep(clock, READ_MS - PAUSE_MS, woken).catch(() => undefined);
    }
  }

  /** Does not throw: the next exchange tries again. */
  async #exchange(signal: AbortSignal): Promise<void> {
    const { document, clock, onProblem } = this.#options;
    if (document === undefined) return;
    try {
      await retry(() => this.#exchangeOnce(document, signal), {
        attempts: ATTEMPTS,
        backoff: BACKOFF,
        clock,
        retryAfterMs: conflictRetryAfterMs,
        signal,
      });
      this.#problem = undefined;
    } catch (error) {
      const message = errorMessage(error);
      if (message !== this.#problem && !signal.aborted) onProblem?.(message);
      this.#problem = message;
    }
  }

  async #exchangeOnce(document: SharedDocument, signal: AbortSignal): Promise<void> {
    const { text, version } = await document.read(signal);
    const stored = parseEnded(text);
    for (const session of stored) this.#ended.set(session.digest, session);
    this.#bound();
    const known = new Set(stored.map(({ digest }) => digest));
    if ([...this.#ended.keys()].every((digest) => known.has(digest))) return;
    await document.write(formatEnded(this.#ended.values()), version, signal);
  }

  /**
   * Drops what has ended by itself, and of more than are kept those that end first. The result depends only on the sessions, so that gateways do
   * not write against each other.
   */
  #bound(): void {
    const { clock, maxAgeMs } = this.#options;
    const now = clock.now() / 1000;
    // A later end is of a gateway with another maximum age, or of nobody who ended a session.
    const latest = Math.ceil(now + maxAgeMs / 1000);
    const byOwner = new Map<string, number>();
    const kept = [...this.#ended.values()]
      .filter(({ end }) => end > now)
      .map(({ digest, owner, end }) => ({ digest, owner, end: Math.min(end, latest) }))
      .sort((a, b) => b.end - a.end || (a.digest < b.digest ? -1 : 1))
      .filter(({ owner }) => {
        const count = (byOwner.get(owner) ?? 0) + 1;
        byOwner.set(owner, count);
        return count <= MAX_OF_OWNER;
      })
      .slice(0, MAX_ENDED);
    this.#ended = new Map(kept.map((session) => [session.digest, session]));
  }
}

/** One line for each session. */
function formatEnded(sessions: Iterable<EndedSession>): string {
  return Array.from(sessions, ({ digest, owner, end }) => `${digest} ${owner} ${end}\n`).join('');
}

/** Lines of another form name no session that could be compared. */
function parseEnded(text: string): EndedSession[] {
  return text.split('\n').flatMap((line) => {
    const [, digest, owner, end] = LINE.exec(line) ?? [];
    return digest === undefined || owner === undefined ? [] : [{ digest, owner, end: Number(end) }];
  });
}
