import { Counter, Gauge, type Registry } from 'prom-client';
import type { QueueMetrics, QueueState } from '../../../platform/fair-queue.ts';
import { PlainHistogram, type Series } from '../../../platform/plain-histogram.ts';

const SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of all limits: how much is used, how long requests wait, and what is refused, by the name of the limit. */
export class LimitMetrics implements QueueMetrics {
  readonly #states: QueueState[] = [];
  readonly #waits: PlainHistogram;
  readonly #series = new Map<string, Series>();
  readonly #refused: Counter<'limit'>;

  constructor(registry: Registry) {
    this.#gauge(registry, 'used', 'Units in use of each limit: bytes of `memory`, connections, requests.', 'used');
    this.#gauge(registry, 'waiting', 'Requests that wait for a place, by limit.', 'waiting');
    this.#gauge(
      registry,
      'max',
      'The most units of each limit; absent where only the share of one caller is limited.',
      'total',
    );
    this.#refused = new Counter({
      name: 'olap_warden_limit_refused_total',
      help: 'Requests and connections that a limit refused, at once or after a wait, by limit.',
      labelNames: ['limit'],
      registers: [registry],
    });
    this.#waits = new PlainHistogram(
      registry,
      {
        name: 'olap_warden_limit_wait_seconds',
        help: 'How long requests waited for their place, by limit; those that did not wait count as 0.',
        labelNames: ['limit'],
        onReset: () => this.#series.clear(),
      },
      SECONDS,
    );
  }

  /** Exports the state of a limit. */
  watch(...states: readonly QueueState[]): void {
    for (const state of states) {
      this.#states.push(state);
      this.#refused.inc({ limit: state.name }, 0);
    }
  }

  onStart(limit: string, waitedMs: number): void {
    let series = this.#series.get(limit);
    if (series === undefined) this.#series.set(limit, (series = this.#waits.add({ limit })));
    this.#waits.observe(series, waitedMs / 1000);
  }

  onRefusal(limit: string): void {
    this.#refused.inc({ limit });
  }

  #gauge(registry: Registry, name: string, help: string, field: 'used' | 'waiting' | 'total'): void {
    const states = this.#states;
    const gauge = new Gauge({
      name: `olap_warden_limit_${name}`,
      help,
      labelNames: ['limit'],
      registers: [],
      collect() {
        this.reset();
        for (const { name: limit, [field]: value } of states) if (value !== Infinity) this.inc({ limit }, value);
      },
    });
    registry.registerMetric(gauge);
  }
}
