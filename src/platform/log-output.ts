import { write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import type { Clock } from './clock.ts';
import { LineQueue } from './line-queue.ts';
import { errorCode } from './plain-error.ts';

/** Lines that wait for a reader, or for room on the disk. Further lines are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** A reader that is a little slower than the log: shortest and longest time until the next attempt. */
const FULL_PIPE_MS = { first: 5, last: 100 };
/** A disk without room, or a pipe whose reader has ended: time until the next attempt. */
const FAILED_MS = 1_000;
/** How long the end of the process waits for lines that could not be written before. */
const CLOSE_MS = 1_000;

export interface LogOutputOptions {
  /** File descriptor. */
  readonly fd: number;
  /** True where a write to the descriptor never waits: O_NONBLOCK is set. */
  readonly nonBlocking: boolean;
  readonly clock: Pick<Clock, 'schedule'>;
  /** Called for each line that is dropped. */
  readonly onDropped: () => void;
  /** Called after lines were dropped, as soon as all others are written, with the number since the last call. */
  readonly onRecovered: (dropped: number) => void;
  readonly maxWaitingBytes?: number;
}

/**
 * Writes lines to a descriptor in their order. No method waits for the descriptor or throws: a line that cannot be written is retried, and dropped
 * where too many wait.
 *
 * Pipes and sockets are written in the same turn, so that a killed process loses no line. A file can be on a disk that hangs, and is
 * written by the thread pool. A blocking write to a pipe must not be there: a thread that never returns keeps the process from its end.
 */
export class LogOutput {
  readonly #options: LogOutputOptions;
  readonly #queue: LineQueue;
  #retryMs = FULL_PIPE_MS.first;
  #cancelRetry: (() => void) | undefined;
  #writing = false;
  /** Dropped since onRecovered() was called. */
  #dropped = 0;
  #onEmpty: (() => void) | undefined;
  #isClosed = false;

  constructor(options: LogOutputOptions) {
    this.#options = options;
    this.#queue = new LineQueue(options.maxWaitingBytes ?? MAX_WAITING_BYTES);
  }

  /** @param line with its line end */
  write(line: string): void {
    if (!this.#queue.add(Buffer.from(line))) {
      this.#dropped++;
      this.#options.onDropped();
    } else if (!this.#writing && this.#cancelRetry === undefined) this.#writeWaiting();
  }

  /** Waits for the lines that wait, for at most a second. Later lines are still written. */
  async close(): Promise<void> {
    if (!this.#queue.isEmpty) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEmpty = resolve;
      const cancel = this.#options.clock.schedule(resolve, CLOSE_MS);
      await promise;
      cancel();
    }
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  /** Writes what the descriptor accepts at once. For the end of the process, where no callback runs any more. */
  flushSync(): void {
    // Otherwise the thread pool is writing the first of them.
    if (!this.#writing) this.#writeSync();
  }

  #writeWaiting(): void {
    if (this.#options.nonBlocking) {
      const failed = this.#writeSync();
      if (failed !== undefined) this.#retry(failed.error);
      else this.#emptied();
      return;
    }
    this.#writing = true;
    write(this.#options.fd, this.#queue.first(), (error, written) => {
      this.#writing = false;
      if (error !== null) return this.#retry(error);
      this.#queue.remove(written);
      if (this.#queue.isEmpty) this.#emptied();
      else this.#writeWaiting();
    });
  }

  /** @returns why lines are left; undefined for none */
  #writeSync(): { readonly error: unknown } | undefined {
    try {
      while (!this.#queue.isEmpty) {
        this.#queue.remove(writeSync(this.#options.fd, this.#queue.first()));
        this.#retryMs = FULL_PIPE_MS.first;
      }
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  #retry(failed: unknown): void {
    // The last attempt of the thread pool may fail after that.
    if (this.#isClosed) return;
    const full = errorCode(failed) === 'EAGAIN';
    this.#cancelRetry = this.#options.clock.schedule(
      () => {
        this.#cancelRetry = undefined;
        this.#writeWaiting();
      },
      full ? this.#retryMs : FAILED_MS,
    );
    if (full) this.#retryMs = Math.min(this.#retryMs * 2, FULL_PIPE_MS.last);
  }

  #emptied(): void {
    this.#onEmpty?.();
    if (this.#dropped === 0) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#options.onRecovered(dropped);
  }
}

/** Standard output as Node has opened it, which sets O_NONBLOCK for pipes and sockets, but not for terminals and files. */
export function standardOutput(): Pick<LogOutputOptions, 'fd' | 'nonBlocking'> {
  const { stdout } = process;
  return { fd: 1, nonBlocking: stdout instanceof Socket && !stdout.isTTY };
}

/** The metric of dropped lines. @returns counts one */
export function countDroppedLines(registry: Registry): () => void {
  const counter = new Counter({
    name: 'olap_warden_log_dropped_total',
    help: 'Log lines that were dropped because standard output could not be written, such as on a full disk.',
    registers: [registry],
  });
  return () => counter.inc();
}
