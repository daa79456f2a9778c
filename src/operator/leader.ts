import type { Logger } from 'pino';
import { sleep } from '../store/clock.ts';
import { StoreError } from '../store/resource-store.ts';
import type { OperatorClock } from './clock.ts';

/** A Lease of coordination.k8s.io, as far as an election needs it. */
export interface LeaseRecord {
  /** Undefined for one that is not stored yet. */
  readonly resourceVersion: string | undefined;
  /** Empty while nobody holds it. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquiredAt: Date;
  readonly renewedAt: Date;
  /** How often the holder changed. */
  readonly transitions: number;
}

/** Where the lease lies. Each call ends within `timeoutMs`. @throws {StoreError} conflict, already-exists, unavailable … */
export interface Leases {
  read(timeoutMs: number, signal: AbortSignal): Promise<LeaseRecord | undefined>;
  /** Creates the lease where the record has no resourceVersion, else replaces that version of it. */
  write(record: LeaseRecord, timeoutMs: number, signal: AbortSignal): Promise<LeaseRecord>;
}

export interface LeaderTimes {
  /** How long the others wait for a holder that is silent. */
  readonly leaseMs: number;
  /** How long the holder goes on without a successful renewal. Shorter than `leaseMs`: it has stopped before another starts. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** The times of client-go's operators. */
export const DEFAULT_TIMES: LeaderTimes = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

export interface LeaderOptions {
  readonly leases: Leases;
  /** Unlike any other candidate's, also that of an earlier life of this process. */
  readonly identity: string;
  readonly clock: OperatorClock;
  readonly log: Logger;
  readonly times?: LeaderTimes;
  /** What the leader does. The signal aborts when leadership ends; the promise resolves when all work has ended. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly onChange?: (leads: boolean) => void;
}

interface Renewal {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * Leader election on a Lease, as client-go does it, with one thing more: isLeader() measures the time since the last successful renewal
 * at the moment it is asked. A process that was paused past its lease therefore knows before any of its timers has fired.
 *
 * INVARIANT: whoever takes the lease has seen it unchanged for `leaseMs`; the holder stops at `renewDeadlineMs` < `leaseMs` after it *sent* the
 * renewal that succeeded last. So two never believe at once that they lead, whatever their clocks say.
 */
export class LeaderElector {
  readonly #options: LeaderOptions;
  readonly #times: LeaderTimes;
  readonly #stop = new AbortController();
  #renewed: Renewal | undefined;
  /** The record as it was last seen, and since when it has not changed. */
  #seen: { readonly record: LeaseRecord; readonly since: number } | undefined;
  #running: Promise<void> | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#times = options.times ?? DEFAULT_TIMES;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends leadership, waits until its work has ended, and gives the lease up so that another can take it at once. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the operator is stopping'));
    await this.#running;
  }

  /** Whether this process may write right now. */
  isLeader(): boolean {
    return this.#renewed !== undefined && this.#sinceRenewal(this.#renewed) < this.#times.renewDeadlineMs;
  }

  /** The holder by the last look at the lease; empty while nobody holds it or nothing was seen. */
  get holder(): string {
    return this.#seen?.record.holder ?? '';
  }

  /** The clock that ran further counts: the monotonic one stands still while a machine sleeps, and the wall clock may be set back. */
  #sinceRenewal({ monotonic, wall }: Renewal): number {
    const { clock } = this.#options;
    return Math.max(clock.monotonic() - monotonic, clock.now() - wall);
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (await this.#tryToHold()) await this.#lead();
      else await this.#pause(this.#stop.signal);
    }
  }

  /** Waits for the time between two tries, spread by chance so that candidates do not try in step; ends early on the signal. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      await sleep(clock, this.#times.retryMs * (1 + 0.2 * clock.random()), signal);
    } catch {
      // Told to stop: the loop sees it by the signal.
    }
  }

  async #lead(): Promise<void> {
    const { log, identity, onChange } = this.#options;
    const term = new AbortController();
    log.info({ identity }, 'leading');
    onChange?.(true);
    const endTerm = (): void => term.abort(new Error('leadership has ended'));
    this.#stop.signal.addEventListener('abort', endTerm, { once: true });
    const work = this.#work(term.signal);
    await this.#renewWhileLeading(term);
    endTerm();
    this.#stop.signal.removeEventListener('abort', endTerm);
    await work;
    // From here on nothing is written in the name of this term, so the lease may go to another.
    const heldToTheEnd = this.isLeader();
    this.#renewed = undefined;
    onChange?.(false);
    log.info({ identity }, 'not leading any more');
    if (heldToTheEnd) await this.#release();
  }

  async #work(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.lead(signal);
    } catch (error) {
      this.#options.log.error({ err: error }, 'the work of the leader failed');
    }
  }

  async #renewWhileLeading(term: AbortController): Promise<void> {
    while (!term.signal.aborted) {
      const cancel = this.#watchdog(term);
      await this.#pause(term.signal);
      if (!term.signal.aborted) await this.#tryToHold(term.signal);
      cancel();
      if (!this.isLeader()) return;
    }
  }

  /** Ends the term at the deadline even while a renewal hangs. */
  #watchdog(term: AbortController): () => void {
    const renewed = this.#renewed;
    if (!renewed) return () => {};
    const ms = Math.max(0, this.#times.renewDeadlineMs - this.#sinceRenewal(renewed));
    return this.#options.clock.schedule(() => {
      if (!this.isLeader()) term.abort(new Error('the lease could not be renewed in time'));
    }, ms);
  }

  /** Takes or renews the lease if it can be had. Failures are no errors here: the next try comes soon. */
  async #tryToHold(signal: AbortSignal = this.#stop.signal): Promise<boolean> {
    const { clock, log, leases, identity } = this.#options;
    const began: Renewal = { monotonic: clock.monotonic(), wall: clock.now() };
    const timeoutMs = this.#times.renewDeadlineMs / 2;
    try {
      const found = await leases.read(timeoutMs, signal);
      this.#see(found);
      if (found && !this.#mayTake(found)) {
        this.#renewed = undefined;
        return false;
      }
      const stored = await leases.write(this.#claim(found), timeoutMs, signal);
      this.#see(stored);
      this.#renewed = began;
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const code = error instanceof StoreError ? error.code : undefined;
      // Two candidates at the same moment, one of them was first: nothing unusual.
      if (code === 'conflict' || code === 'already-exists') log.debug({ identity }, 'another candidate was faster');
      else log.warn({ identity, error: (error as Error).message }, 'cannot reach the lease; trying again');
      return false;
    }
  }

  #see(record: LeaseRecord | undefined): void {
    if (!record) this.#seen = undefined;
    else if (this.#seen?.record.resourceVersion !== record.resourceVersion) {
      this.#seen = { record, since: this.#options.clock.monotonic() };
    }
  }

  /** By the own clock alone since when the record has not changed: the times within it are of another machine's clock. */
  #mayTake(record: LeaseRecord): boolean {
    if (record.holder === '' || record.holder === this.#options.identity) return true;
    const since = this.#seen?.since ?? this.#options.clock.monotonic();
    return this.#options.clock.monotonic() - since >= Math.max(this.#times.leaseMs, record.durationSeconds * 1000);
  }

  #claim(found: LeaseRecord | undefined): LeaseRecord {
    const { identity, clock } = this.#options;
    const now = new Date(clock.now());
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

  /** Reads the lease anew first: a renewal that was cut off by the stop may have arrived all the same. */
  async #release(): Promise<void> {
    const { clock, leases, log, identity } = this.#options;
    // Its own signal: the one that told us to stop has aborted already.
    const { signal } = new AbortController();
    try {
      const found = await leases.read(this.#times.retryMs, signal);
      if (found?.holder !== identity) return;
      const released = { ...found, holder: '', durationSeconds: 1, renewedAt: new Date(clock.now()) };
      this.#see(await leases.write(released, this.#times.retryMs, signal));
    } catch (error) {
      log.warn({ error: (error as Error).message }, 'could not give up the lease; the others wait until it runs out');
    }
  }
}
