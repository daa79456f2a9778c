import type { IncomingMessage, Server } from 'node:http';
import { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import type { QueueState } from '../../../platform/fair-queue.ts';

export interface BodyRateOptions {
  readonly clock: Pick<Clock, 'schedule' | 'monotonic'>;
  /** Bytes a second of a body that its client must send on average. 0 for no minimum. */
  readonly minBytesPerSecond: number;
  readonly onRefused?: (limit: string) => void;
}

const CHECK_MS = 1_000;
/** A client may be behind the rate by this time. */
const GRACE_SECONDS = 10;

interface Watched {
  /** `bytesRead` of its connection at the last check. */
  read: number;
  /** Bytes that it is ahead of being too slow. */
  credit: number;
  at: number;
}

/**
 * Ends requests whose bodies arrive too slowly, as a server of Node does with those that do not arrive in time. Each one holds a connection, and memory
 * that others wait for. The time in which nobody reads a body does not count.
 */
export class BodyRate implements QueueState {
  readonly name = 'body-rate';
  readonly total = Infinity;
  readonly waiting = 0;
  readonly #options: BodyRateOptions;
  readonly #watched = new Map<IncomingMessage, Watched>();
  #isScheduled = false;

  constructor(options: BodyRateOptions) {
    this.#options = options;
  }

  /** Bodies that are arriving. */
  get used(): number {
    return this.#watched.size;
  }

  /** Watches a request until its body is complete. */
  watch(request: IncomingMessage): void {
    const { minBytesPerSecond: rate, clock } = this.#options;
    // Tests have requests without a connection.
    if (rate === 0 || request.complete || !hasBody(request) || !(request.socket instanceof Socket)) return;
    const read = request.socket.bytesRead;
    this.#watched.set(request, { read, credit: rate * GRACE_SECONDS, at: clock.monotonic() });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#watched.size === 0) return;
    this.#isScheduled = true;
    this.#options.clock.schedule(() => {
      this.#isScheduled = false;
      for (const [request, watched] of this.#watched) this.#check(request, watched);
      this.#schedule();
    }, CHECK_MS);
  }

  #check(request: IncomingMessage, watched: Watched): void {
    const { socket } = request;
    const { minBytesPerSecond: rate, clock, onRefused } = this.#options;
    if (request.complete || socket.destroyed) {
      this.#watched.delete(request);
      return;
    }
    const now = clock.monotonic();
    const seconds = (now - watched.at) / 1000;
    const arrived = socket.bytesRead - watched.read;
    watched.at = now;
    watched.read = socket.bytesRead;
    // Its reader, such as the controller, is slower.
    if (request.readableLength > 0 || socket.isPaused()) return;
    watched.credit = Math.min(watched.credit + arrived - rate * seconds, rate * GRACE_SECONDS);
    if (watched.credit >= 0) return;
    this.#watched.delete(request);
    onRefused?.('body-rate');
    tooSlow(socket);
  }
}

/** Node completes a request after its listener, also one without a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The listener of `clientError` responds, in the same way as for a request that does not arrive in time. */
function tooSlow(socket: Socket): void {
  const { server } = socket as Socket & { readonly server?: Server };
  const error = Object.assign(new Error('the body of the request arrives too slowly'), {
    code: 'ERR_HTTP_REQUEST_TIMEOUT',
  });
  if (server?.emit('clientError', error, socket) !== true) socket.destroy();
}
