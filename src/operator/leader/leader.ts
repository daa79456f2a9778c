import type { Logger } from 'pino';
import { errorMessage } from '../../platform/plain-error.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import type { LeaseRecord, Leases } from '../../kubernetes/leases.ts';
import { StoreError } from '../../store/resource-store.ts';

export interface LeaderTimes {
  /** Time after the last renewal before another candidate may take the lease. */
  readonly leaseMs: number;
  /** Time after the last renewal before the holder stops. Shorter than `leaseMs`, so that it stops before another candidate starts. */
  readonly renewDeadlineMs: number;
  /** Time between two attempts to take or renew the lease. */
  readonly retryMs: number;
}

/** The defaults of client-go. */
export const DEFAULT_TIMES: LeaderTimes = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

export interface LeaderOptions {
  readonly leases: Leases;
  /** Unique among all candidates, also across restarts. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly times?: LeaderTimes;
  /** The leader's work. The signal aborts when leadership ends; the promise resolves when all work has ended. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly onChange?: (leads: boolean) => void;
}

interface LeaseRenewal {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * Leader election on a Lease, as in client-go. In addition, isLeader() measures the time since the last successful renewal at each call, so
 * a process that was paused longer than its lease stops writing before any of its timers fires.
 *
 * INVARIANT: a candidate takes a lease only after it has observed it unchanged for `leaseMs`. The holder stops `renewDeadlineMs` < `leaseMs`
 * after it *sent* its last successful renewal. So at most one process is the leader, even if the clocks of the machines differ.
 */
export class LeaderElector {
  readonly #options: LeaderOptions;
  readonly #times: LeaderTimes;
  readonly #stop = new AbortController();
  #renewed: LeaseRenewal | undefined;
  /** The record as last observed, and the monotonic time of its last change. */
  #observed: { readonly record: LeaseRecord; readonly since: number } | undefined;
  #running: Promise<void> | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#times = options.times ?? DEFAULT_TIMES;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends leadership, waits for the end of its work, and releases the lease so that another candidate can take it at once. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the operator is stopping'));
    await this.#running;
  }

  /** Whether this process may write now. */
  isLeader(): boolean {
    return this.#renewed !== undefined && this.#sinceRenewal(this.#renewed) < this.#times.renewDeadlineMs;
  }

  /** Identity of the holder as last observed; empty if there is none. */
  get holder(): string {
    return this.#observed?.record.holder ?? '';
  }

  /** The larger value of both clocks: the monotonic clock stops while a machine sleeps, and the wall clock can be set back. */
  #sinceRenewal({ monotonic, wall }: LeaseRenewal): number {
    const { clock } = this.#options;
    return Math.max(clock.monotonic() - monotonic, clock.now() - wall);
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (await this.#tryToAcquire()) await this.#lead();
      else await this.#pause(this.#stop.signal);
    }
  }

  /** Waits until the next attempt, with jitter so that candidates do not compete at the same time. Returns early if the signal aborts. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      await sleep(clock, this.#times.retryMs * (1 + 0.2 * clock.random()), signal);
    } catch {
      // Aborted: the caller checks the signal.
    }
  }

  async #lead(): Promise<void> {
    const { log, identity, onChange } = this.#options;
    const term = new AbortController();
    log.info({ identity }, 'became leader');
    onChange?.(true);
    const endTerm = (): void => term.abort(new Error('leadership has ended'));
    this.#stop.signal.addEventListener('abort', endTerm, { once: true });
    const work = this.#work(term.signal);
    await this.#renewWhileLeading(term);
    endTerm();
    this.#stop.signal.removeEventListener('abort', endTerm);
    await work;
    // The work of this term has ended, so another process may take the lease.
    const stillLeader = this.isLeader();
    this.#renewed = undefined;
    onChange?.(false);
    log.info({ identity }, 'lost leadership');
    if (stillLeader) await this.#release();
  }

  async #work(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.lead(signal);
    } catch (error) {
      this.#options.log.error({ err: error }, 'work of the leader failed');
    }
  }

  async #renewWhileLeading(term: AbortController): Promise<void> {
    while (!term.signal.aborted) {
      const cancel = this.#watchdog(term);
      await this.#pause(term.signal);
      if (!term.signal.aborted) await this.#tryToAcquire(term.signal);
      cancel();
      if (!this.isLeader()) return;
    }
  }

  /** Ends the term at the renewal deadline, also during a renewal request. */
  #watchdog(term: AbortController): () => void {
    const renewed = this.#renewed;
    if (!renewed) return () => {};
    const ms = Math.max(0, this.#times.renewDeadlineMs - this.#sinceRenewal(renewed));
    return this.#options.clock.schedule(() => {
      if (!this.isLeader()) term.abort(new Error('failed to renew the lease before the deadline'));
    }, ms);
  }

  /** Takes or renews the lease. @returns false if another candidate holds it or the request failed; the caller tries again */
  async #tryToAcquire(signal: AbortSignal = this.#stop.signal): Promise<boolean> {
    const { clock, log, leases, identity } = this.#options;
    const sentAt: LeaseRenewal = { monotonic: clock.monotonic(), wall: clock.now() };
    const timeoutMs = this.#times.renewDeadlineMs / 2;
    try {
      const found = await leases.read(timeoutMs, signal);
      this.#observe(found);
      if (found && !this.#mayTake(found)) {
        this.#renewed = undefined;
        return false;
      }
      const stored = await leases.write(this.#claim(found), timeoutMs, signal);
      this.#observe(stored);
      this.#renewed = sentAt;
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const code = error instanceof StoreError ? error.code : undefined;
      // Two candidates wrote at the same time: expected.
      if (code === 'conflict' || code === 'already-exists')
        log.debug({ identity }, 'another candidate took the lease first');
      else log.warn({ identity, error: errorMessage(error) }, 'failed to read or write the lease; retrying');
      return false;
    }
  }

  #observe(record: LeaseRecord | undefined): void {
    if (!record) this.#observed = undefined;
    else if (this.#observed?.record.resourceVersion !== record.resourceVersion) {
      this.#observed = { record, since: this.#options.clock.monotonic() };
    }
  }

  /** Uses only the local clock: the times in the record are from the clock of another machine. */
  #mayTake(record: LeaseRecord): boolean {
    if (record.holder === '' || record.holder === this.#options.identity) return true;
    const since = this.#observed?.since ?? this.#options.clock.monotonic();
    return this.#options.clock.monotonic() - since >= Math.max(this.#times.leaseMs, record.durationSeconds * 1000);
  }

  #claim(found: LeaseRecord | undefined): LeaseRecord {
    const { identity, clock } = this.#options;
    const now = clock.now();
    const mine = found?.holder === identity;
    return {
      resourceVersion: found?.resourceVersion,
      holder: identity,
      durationSeconds: Math.ceil(this.#times.leaseMs / 1000),
      acquiredAt: mine ? found.acquiredAt : now,
      renewedAt: now,
      transitions: found ? found.transitions + (mine ? 0 : 1) : 0,
    };
  }

  /** Reads the lease first, because a renewal that was aborted by the stop may have been stored. */
  async #release(): Promise<void> {
    const { clock, leases, log, identity } = this.#options;
    // A separate signal, because the stop signal has aborted already.
    const { signal } = new AbortController();
    try {
      const found = await leases.read(this.#times.retryMs, signal);
      if (found?.holder !== identity) return;
      const released = { ...found, holder: '', durationSeconds: 1, renewedAt: clock.now() };
      this.#observe(await leases.write(released, this.#times.retryMs, signal));
    } catch (error) {
      log.warn({ error: errorMessage(error) }, 'failed to release the lease; other candidates wait until it expires');
    }
  }
}
