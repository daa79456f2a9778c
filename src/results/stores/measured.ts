import type { MonotonicClock } from '../../platform/clock.ts';
import { isTimeout } from '../../platform/deadline.ts';
import type { QueryMetrics, StoreOperation } from '../metrics.ts';
import type { ResultReader, ResultStore, ResultWriter } from '../result-store.ts';
import type { StoredDownloads } from '../stored-downloads.ts';

/** Wraps a store with metrics for call durations and failures; calls aborted by the caller are not failures. */
export function measuredStore(store: ResultStore, metrics: QueryMetrics, clock: MonotonicClock): ResultStore {
  const timed = async <T>(operation: StoreOperation, signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
    const started = clock.monotonic();
    let failed = false;
    try {
      return await call();
    } catch (error) {
      failed = !isCallerAbort(signal);
      throw error;
    } finally {
      metrics.storeCall(operation, (clock.monotonic() - started) / 1000, failed);
    }
  };
  /** Measures only the time spent waiting for pieces, not the time of the consumer. Stopping early is not a failure. */
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
        const asked = clock.monotonic();
        const next = await iterator.next().finally(() => {
          waitedMs += clock.monotonic() - asked;
        });
        failed = false;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      metrics.storeCall(operation, waitedMs / 1000, failed && !isCallerAbort(signal));
      if (!failed) await iterator.return?.();
    }
  };
  const link = store.link?.bind(store);
  const reader = (inner: ResultReader): ResultReader => ({
    record: inner.record,
    damage: inner.damage,
    forget: inner.forget,
    get knownIndex() {
      return inner.knownIndex;
    },
    index: (signal) => timed('read', signal, () => inner.index(signal)),
    read: (from, to, signal) => timed('read', signal, () => inner.read(from, to, signal)),
    stream: (from, to, signal) => timedPieces('read', signal, inner.stream(from, to, signal)),
    close: (reuse) => inner.close(reuse),
  });
  const writer = (inner: ResultWriter, submitter: AbortSignal): ResultWriter => ({
    write: (bytes) => timed('write', submitter, () => inner.write(bytes)),
    seal: (index) => timed('seal', submitter, () => inner.seal(index)),
    read: (from, to, signal) => inner.read(from, to, signal),
    commit: async (record) => reader(await timed('commit', submitter, () => inner.commit(record))),
    discard: () => inner.discard(),
  });
  const downloads: StoredDownloads = {
    begin: async (requestId, name, signal) => {
      const inner = await timed('begin', signal, () => store.downloads.begin(requestId, name, signal));
      return {
        write: (bytes) => timed('write', signal, () => inner.write(bytes)),
        commit: () => timed('commit', signal, () => inner.commit()),
        discard: () => inner.discard(),
      };
    },
    open: async (requestId, name, signal) => {
      const inner = await timed('open', signal, () => store.downloads.open(requestId, name, signal));
      if (inner === undefined) return undefined;
      const { bytes } = inner;
      const stream = (from: number, to: number, abort: AbortSignal): AsyncIterable<Uint8Array> =>
        timedPieces('read', abort, inner.stream(from, to, abort));
      return { bytes, stream, close: () => inner.close() };
    },
    delete: (requestId, name, signal) => timed('delete', signal, () => store.downloads.delete(requestId, name, signal)),
  };
  return {
    local: store.local,
    notes: store.notes,
    downloads,
    ...(store.capacityBytes !== undefined && { capacityBytes: store.capacityBytes }),
    ...(store.compression !== undefined && { compression: store.compression }),
    start: (signal) => store.start(signal),
    ...(store.tidy !== undefined && { tidy: store.tidy.bind(store) }),
    begin: async (requestId, signal) =>
      writer(await timed('begin', signal, () => store.begin(requestId, signal)), signal),
    open: async (requestId, signal) => {
      const found = await timed('open', signal, () => store.open(requestId, signal));
      return found === undefined ? undefined : reader(found);
    },
    renew: (record, signal) => timed('renew', signal, () => store.renew(record, signal)),
    ...(link !== undefined && {
      link: (requestId, lifetimeMs, signal) => timed('link', signal, () => link(requestId, lifetimeMs, signal)),
    }),
    list: (signal) => timedPieces('list', signal, store.list(signal)),
    delete: (requestId, signal) => timed('delete', signal, () => store.delete(requestId, signal)),
    close: () => store.close(),
  };
}

/** Whether the caller aborted the call. A timeout counts as a failure. */
function isCallerAbort(signal: AbortSignal): boolean {
  return signal.aborted && !isTimeout(signal.reason);
}
