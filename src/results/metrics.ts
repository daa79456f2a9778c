import { Counter, Gauge, type Registry } from 'prom-client';
import type { StoreSpace } from './result-store.ts';
import { PlainHistogram, type Series } from '../platform/plain-histogram.ts';

/** Why a result was deleted. */
export type DeletionReason = 'request' | 'expired' | 'quota';
export type SubmissionOutcome = 'stored' | 'not_stored' | 'failed';
export type StoreOperation =
  | 'begin'
  | 'write'
  | 'seal'
  | 'commit'
  | 'open'
  | 'renew'
  | 'link'
  | 'read'
  | 'list'
  | 'delete';

/** Metrics of paginated queries. */
export interface QueryMetrics {
  submitted(outcome: SubmissionOutcome): void;
  /** Bytes of rows were scanned and stored. */
  scanned(bytes: number): void;
  /** A page of this many bytes was returned. */
  paged(bytes: number): void;
  deleted(reason: DeletionReason): void;
  /** Current number and size of stored results. */
  holds(results: number, bytes: number): void;
  storeCall(operation: StoreOperation, seconds: number, failed: boolean): void;
  /** Asynchronous queries that wait and run now. */
  asyncActive(waiting: number, running: number): void;
  /** An asynchronous query ended: `done`, `failed` or `cancelled`. */
  asyncEnded(state: string): void;
}

export const NO_METRICS: QueryMetrics = {
  submitted: () => undefined,
  scanned: () => undefined,
  paged: () => undefined,
  deleted: () => undefined,
  holds: () => undefined,
  storeCall: () => undefined,
  asyncActive: () => undefined,
  asyncEnded: () => undefined,
};

/** Exports the space of a store that has a limit. */
export function observeSpace(registry: Registry, space: () => StoreSpace | undefined): void {
  const gauge = (name: string, help: string, field: keyof StoreSpace): void =>
    registry.registerMetric(
      new Gauge({
        name: `olap_warden_pagination_store_${name}`,
        help,
        registers: [],
        collect() {
          this.remove();
          const known = space();
          if (known !== undefined) this.set(known[field]);
        },
      }),
    );
  gauge('capacity_bytes', 'Bytes of the disk or memory of the result store; absent for a bucket.', 'capacityBytes');
  gauge('free_bytes', 'Free bytes of the disk or memory of the result store; absent for a bucket.', 'freeBytes');
}

const SECONDS = [0.0005, 0.002, 0.01, 0.05, 0.2, 1, 5, 30];

/** Creates the metrics in a prom-client registry. Call it once per registry. */
export function prometheusQueryMetrics(registry: Registry): QueryMetrics {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: `olap_warden_pagination_${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string): Gauge =>
    new Gauge({ name: `olap_warden_pagination_${name}`, help, registers });

  const submissions = counter('submissions_total', 'Submitted paginated queries, by outcome.', ['outcome']);
  const scanned = counter('scanned_bytes_total', 'Bytes of rows scanned in responses of the engine.');
  const pages = counter('pages_total', 'Pages sent.');
  const pageBytes = counter('page_bytes_total', 'Bytes of pages sent.');
  const deletions = counter('deletions_total', 'Deleted stored results, by reason.', ['reason']);
  const results = gauge('stored_results', 'Results of this gateway in the store.');
  const bytes = gauge('stored_bytes', 'Bytes of the results of this gateway in the store.');
  const errors = counter('store_errors_total', 'Failed calls of the result store, by operation.', ['operation']);
  const asyncEnded = counter('async_queries_total', 'Asynchronous queries that have ended, by state.', ['state']);
  const asyncWaiting = gauge(
    'async_queries_waiting',
    'Asynchronous queries of this gateway that wait for a free place.',
  );
  const asyncRunning = gauge('async_queries_running', 'Asynchronous queries that this gateway runs.');
  const operations = new Map<StoreOperation, Series>();
  const about = {
    name: 'olap_warden_pagination_store_duration_seconds',
    help: 'Duration of calls of the result store in seconds, by operation.',
    labelNames: ['operation'],
    onReset: () => operations.clear(),
  };
  const latency = new PlainHistogram(registry, about, SECONDS);
  return {
    submitted: (outcome) => submissions.inc({ outcome }),
    scanned: (count) => scanned.inc(count),
    paged(length) {
      pages.inc();
      pageBytes.inc(length);
    },
    deleted: (reason) => deletions.inc({ reason }),
    holds(count, size) {
      results.set(count);
      bytes.set(size);
    },
    asyncActive(waiting, running) {
      asyncWaiting.set(waiting);
      asyncRunning.set(running);
    },
    asyncEnded: (state) => asyncEnded.inc({ state }),
    storeCall(operation, seconds, failed) {
      let series = operations.get(operation);
      if (series === undefined) operations.set(operation, (series = latency.add({ operation })));
      latency.observe(series, seconds);
      if (failed) errors.inc({ operation });
    },
  };
}
