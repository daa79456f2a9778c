import type { QueryMetrics, StoreOperation } from '../metrics.ts';
import type { ResultReader, ResultRecord, ResultStore, ResultWriter } from '../result-store.ts';
import type { RowIndex } from '../row-index.ts';

/** The same store, whose calls are timed and whose failures are counted. @param now milliseconds of a clock that never goes back */
export function measuredStore(store: ResultStore, metrics: QueryMetrics, now: () => number): ResultStore {
  const timed = async <T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> => {
    const started = now();
    let failed = true;
    try {
      const answer = await call();
      failed = false;
      return answer;
    } finally {
      metrics.storeCall(operation, (now() - started) / 1000, failed);
    }
  };
  const reader = (inner: ResultReader): ResultReader => new MeasuredReader(inner, timed);
  const writer = (inner: ResultWriter): ResultWriter => ({
    write: (bytes) => timed('write', () => inner.write(bytes)),
    seal: (index) => timed('seal', () => inner.seal(index)),
    read: (from, to, signal) => inner.read(from, to, signal),
    commit: async (record) => reader(await timed('commit', () => inner.commit(record))),
    discard: () => inner.discard(),
  });
  return {
    protocol: store.protocol,
    local: store.local,
    ...(store.capacityBytes !== undefined && { capacityBytes: store.capacityBytes }),
    start: (signal) => store.start(signal),
    ...(store.tidy !== undefined && { tidy: store.tidy.bind(store) }),
    begin: async (requestId, signal) => writer(await timed('begin', () => store.begin(requestId, signal))),
    open: async (requestId, signal) => {
      const found = await timed('open', () => store.open(requestId, signal));
      return found === undefined ? undefined : reader(found);
    },
    list: (signal) => store.list(signal),
    delete: (requestId, signal) => timed('delete', () => store.delete(requestId, signal)),
    close: () => store.close(),
  };
}

type Timed = <T>(operation: StoreOperation, call: () => Promise<T>) => Promise<T>;

class MeasuredReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #inner: ResultReader;
  readonly #timed: Timed;

  constructor(inner: ResultReader, timed: Timed) {
    this.record = inner.record;
    this.#inner = inner;
    this.#timed = timed;
  }

  get knownIndex(): RowIndex | undefined {
    return this.#inner.knownIndex;
  }

  index(signal: AbortSignal): Promise<RowIndex> {
    return this.#timed('read', () => this.#inner.index(signal));
  }

  read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#timed('read', () => this.#inner.read(from, to, signal));
  }

  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#inner.stream(from, to, signal);
  }

  close(reuse?: boolean): Promise<void> {
    return this.#inner.close(reuse);
  }
}
