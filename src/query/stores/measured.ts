import type { QueryMetrics, StoreOperation } from '../metrics.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter, RowFile } from '../result-store.ts';
import type { RowIndex } from '../row-index.ts';

/** Whoever waits for a piece does not end the reading of it: that the caller has gone is seen behind it. */
const NEVER = new AbortController().signal;

/** The same store, whose calls are timed and whose failures are counted: callers that leave are none. @param now milliseconds of a clock that never goes back */
export function measuredStore(store: ResultStore, metrics: QueryMetrics, now: () => number): ResultStore {
  const timed = async <T>(operation: StoreOperation, signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
    const started = now();
    let failed = false;
    try {
      return await call();
    } catch (error) {
      failed = !isLeft(signal);
      throw error;
    } finally {
      metrics.storeCall(operation, (now() - started) / 1000, failed);
    }
  };
  /** The time of a sequence is that of the waits for it, not what its reader does meanwhile; one that is left early has not failed. */
  const timedPieces = async function* <T>(
    operation: StoreOperation,
    signal: AbortSignal,
    pieces: AsyncIterable<T>,
  ): AsyncIterable<T> {
    const iterator = pieces[Symbol.asyncIterator]();
    let waitedMs = 0;
    let failed = true;
    try {
      for (;;) {
        failed = true;
        const asked = now();
        const next = await iterator.next().finally(() => {
          waitedMs += now() - asked;
        });
        failed = false;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      metrics.storeCall(operation, waitedMs / 1000, failed && !isLeft(signal));
      if (!failed) await iterator.return?.();
    }
  };
  const timedNow = <T>(operation: StoreOperation, call: () => T): T => {
    const started = now();
    const answer = call();
    // Where there is none, the same is asked once more, and may wait; so it is where it fails.
    if (answer !== undefined) metrics.storeCall(operation, (now() - started) / 1000, false);
    return answer;
  };
  const timing = { timed, timedPieces, timedNow };
  const reader = (inner: ResultReader): ResultReader => new MeasuredReader(inner, timing);
  const writer = (inner: ResultWriter, submitter: AbortSignal): ResultWriter => ({
    write: (bytes) => timed('write', submitter, () => inner.write(bytes)),
    seal: (index) => timed('seal', submitter, () => inner.seal(index)),
    read: (from, to, signal) => inner.read(from, to, signal),
    commit: async (record) => reader(await timed('commit', submitter, () => inner.commit(record))),
    discard: () => inner.discard(),
  });
  return {
    protocol: store.protocol,
    local: store.local,
    ...(store.capacityBytes !== undefined && { capacityBytes: store.capacityBytes }),
    start: (signal) => store.start(signal),
    ...(store.tidy !== undefined && { tidy: store.tidy.bind(store) }),
    begin: async (requestId, signal) =>
      writer(await timed('begin', signal, () => store.begin(requestId, signal)), signal),
    open: async (requestId, signal) => {
      const found = await timed('open', signal, () => store.open(requestId, signal));
      return found === undefined ? undefined : reader(found);
    },
    // No call of the store: nothing is waited for.
    openNow: (requestId) => {
      const found = store.openNow?.(requestId);
      return found && reader(found);
    },
    list: (signal) => timedPieces('list', signal, store.list(signal)),
    delete: (requestId, signal) => timed('delete', signal, () => store.delete(requestId, signal)),
    close: () => store.close(),
  };
}

/** Whether a call was ended by whoever asked, who has gone. One that took too long is a failure. */
function isLeft(signal: AbortSignal): boolean {
  return signal.aborted && (signal.reason as { name?: unknown } | undefined)?.name !== 'TimeoutError';
}

interface Timing {
  readonly timed: <T>(operation: StoreOperation, signal: AbortSignal, call: () => Promise<T>) => Promise<T>;
  readonly timedNow: <T>(operation: StoreOperation, call: () => T) => T;
  readonly timedPieces: <T>(
    operation: StoreOperation,
    signal: AbortSignal,
    pieces: AsyncIterable<T>,
  ) => AsyncIterable<T>;
}

class MeasuredReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #inner: ResultReader;
  readonly #timing: Timing;

  constructor(inner: ResultReader, timing: Timing) {
    this.record = inner.record;
    this.#inner = inner;
    this.#timing = timing;
  }

  get knownIndex(): RowIndex | undefined {
    return this.#inner.knownIndex;
  }

  index(signal: AbortSignal): Promise<RowIndex> {
    return this.#timing.timed('read', signal, () => this.#inner.index(signal));
  }

  read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#timing.timed('read', signal, () => this.#inner.read(from, to, signal));
  }

  readNow(from: number, to: number): Uint8Array | undefined {
    return this.#timing.timedNow('read', () => this.#inner.readNow?.(from, to));
  }

  get rowFile(): RowFile | undefined {
    const file = this.#inner.rowFile;
    // What the system sends by itself cannot be told apart from what the client does.
    return (
      file && {
        readNow: (from, to) => this.#timing.timedNow('read', () => file.readNow(from, to)),
        send: (from, to, by) => file.send(from, to, by),
        readInto: (buffer, from, to) => this.#timing.timed('read', NEVER, () => file.readInto(buffer, from, to)),
      }
    );
  }

  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#timing.timedPieces('read', signal, this.#inner.stream(from, to, signal));
  }

  close(reuse?: boolean): Promise<void> {
    return this.#inner.close(reuse);
  }
}
