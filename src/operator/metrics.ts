import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Metrics of one work queue; times in seconds. */
export interface WorkQueueMetrics {
  added(): void;
  retried(): void;
  /** A worker took a key after this time in the queue. */
  taken(waitedSeconds: number): void;
  /** The work on a key ended after this time. */
  finished(workedSeconds: number): void;
  /** @param read called at each scrape */
  watch(read: () => WorkQueueState): void;
}

export interface WorkQueueState {
  readonly depth: number;
  /** Keys whose last ten or more reconciliations failed. */
  readonly failing: number;
  /** Sum over all keys in progress. */
  readonly unfinishedSeconds: number;
  readonly longestSeconds: number;
}

export type ReconcileResult = 'success' | 'error' | 'requeue_after';

export interface ControllerMetrics {
  reconciled(result: ReconcileResult, seconds: number): void;
  activeWorkers(change: 1 | -1): void;
  maxWorkers(count: number): void;
}

/** Metrics of the operator, named as in controller-runtime and client-go, so that their dashboards and alerts work. */
export interface OperatorMetrics {
  queue(name: string): WorkQueueMetrics;
  controller(name: string): ControllerMetrics;
  leading(lease: string, leads: boolean): void;
  /** An Event was not sent: the queue was full, or the API server rejected it. */
  eventDropped(): void;
}

const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

/** Registers the metrics. Call it once for each registry. */
export function prometheusMetrics(registry: Registry): OperatorMetrics {
  const registers = [registry];
  const queue = queueInstruments(registers);
  const reconciles = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciliations, by controller and result.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciliations that failed, by controller.',
    labelNames: ['controller'],
    registers,
  });
  const time = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Duration of reconciliations.',
    labelNames: ['controller'],
    buckets: SECONDS,
    registers,
  });
  const active = new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Reconciliations in progress.',
    labelNames: ['controller'],
    registers,
  });
  const workers = new Gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Maximum number of concurrent reconciliations.',
    labelNames: ['controller'],
    registers,
  });
  const leader = new Gauge({
    name: 'leader_election_master_status',
    help: '1 if this process holds the lease, else 0.',
    labelNames: ['name'],
    registers,
  });
  const dropped = new Counter({
    name: 'olapwarden_operator_events_dropped_total',
    help: 'Kubernetes Events that were not sent.',
    registers,
  });
  return {
    queue,
    controller: (controller) => ({
      reconciled(result, seconds) {
        reconciles.inc({ controller, result });
        if (result === 'error') errors.inc({ controller });
        time.observe({ controller }, seconds);
      },
      activeWorkers: (change) => active.inc({ controller }, change),
      maxWorkers: (count) => workers.set({ controller }, count),
    }),
    leading: (name, leads) => leader.set({ name }, leads ? 1 : 0),
    eventDropped: () => dropped.inc(),
  };
}

function queueInstruments(registers: Registry[]): (name: string) => WorkQueueMetrics {
  const labelNames = ['name', 'controller'];
  const states = new Map<string, () => WorkQueueState>();
  const gauge = (name: string, help: string, value: (state: WorkQueueState) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [queue, read] of states) this.set({ name: queue, controller: queue }, value(read()));
      },
    });
  gauge(
    'olapwarden_operator_failing_objects',
    'Objects whose reconciliation failed at least ten times in a row and is retried.',
    (state) => state.failing,
  );
  gauge('workqueue_depth', 'Keys in the queue.', (state) => state.depth);
  gauge(
    'workqueue_unfinished_work_seconds',
    'Time spent so far on keys in progress.',
    (state) => state.unfinishedSeconds,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'Time spent so far on the key that is longest in progress.',
    (state) => state.longestSeconds,
  );
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Keys added to the queue.', labelNames, registers });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Keys added to the queue again after a failure.',
    labelNames,
    registers,
  });
  const waited = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Time that keys spent in the queue.',
    labelNames,
    buckets: SECONDS,
    registers,
  });
  const worked = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'Duration of the work on a key.',
    labelNames,
    buckets: SECONDS,
    registers,
  });
  return (name) => {
    const labels = { name, controller: name };
    return {
      added: () => adds.inc(labels),
      retried: () => retries.inc(labels),
      taken: (seconds) => waited.observe(labels, seconds),
      finished: (seconds) => worked.observe(labels, seconds),
      watch: (read) => states.set(name, read),
    };
  };
}
