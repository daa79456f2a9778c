import type { Clock } from '../../../platform/clock.ts';
import type { QueueState } from '../../../platform/fair-queue.ts';

export interface MinRateOptions {
  /** Of the limit. */
  readonly name: string;
  readonly clock: Pick<Clock, 'schedule' | 'monotonic'>;
  /** Bytes a second that a client must move on average. 0 for no minimum. */
  readonly bytesPerSecond: number;
  /** A client may be behind the rate by this time. */
  readonly graceSeconds: number;
  readonly onRefused?: (limit: string) => void;
}

/** What a client sends or takes. */
export interface Transfer {
  /** True when nothing more is to be watched. */
  readonly isOver: boolean;
  /** True while only the client could move further bytes. Other time does not count. */
  readonly waitsForClient: boolean;
  /** Bytes moved so far, since any moment. */
  readonly bytes: number;
  /** Bytes that may have moved, too, but are not counted yet. */
  readonly unseen: number;
  /** Disconnects the client, which is too slow. */
  end(): void;
}

interface Watched {
  /** At the last check. */
  bytes: number;
  /** Bytes that the client is ahead of being too slow. */
  credit: number;
  at: number;
}

const CHECK_MS = 1_000;

/** Disconnects clients that send or read too slowly. Each of them holds a connection, and memory that others wait for. */
export class MinRate implements QueueState {
  readonly name: string;
  readonly total = Infinity;
  readonly waiting = 0;
  readonly #options: MinRateOptions;
  readonly #watched = new Map<Transfer, Watched>();
  #isScheduled = false;

  constructor(options: MinRateOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Transfers that wait for their clients. */
  get used(): number {
    let used = 0;
    for (const transfer of this.#watched.keys()) if (!transfer.isOver && transfer.waitsForClient) used++;
    return used;
  }

  /** Watches a transfer until it is over. */
  watch(transfer: Transfer): void {
    const { bytesPerSecond: rate, clock } = this.#options;
    if (rate === 0 || transfer.isOver) return;
    this.#watched.set(transfer, { bytes: transfer.bytes, credit: this.#maxCredit, at: clock.monotonic() });
    this.#schedule();
  }

  get #maxCredit(): number {
    return this.#options.bytesPerSecond * this.#options.graceSeconds;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#watched.size === 0) return;
    this.#isScheduled = true;
    this.#options.clock.schedule(() => {
      this.#isScheduled = false;
      for (const [transfer, watched] of this.#watched) this.#check(transfer, watched);
      this.#schedule();
    }, CHECK_MS);
  }

  #check(transfer: Transfer, watched: Watched): void {
    const { bytesPerSecond: rate, clock, onRefused } = this.#options;
    if (transfer.isOver) {
      this.#watched.delete(transfer);
      return;
    }
    const [now, bytes] = [clock.monotonic(), transfer.bytes];
    const required = transfer.waitsForClient ? (rate * (now - watched.at)) / 1000 : 0;
    watched.credit = Math.min(watched.credit + bytes - watched.bytes - required, this.#maxCredit);
    watched.at = now;
    watched.bytes = bytes;
    if (watched.credit + transfer.unseen >= 0) return;
    this.#watched.delete(transfer);
    onRefused?.(this.name);
    transfer.end();
  }
}
