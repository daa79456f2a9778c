import type { Histogram, Registry } from 'prom-client';

/** Number of observations of one series below each bound, and above the last one. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram in prom-client's registry that counts in plain numbers, because a lookup of labels by value costs more than the measured work. Callers keep a
 * reference to their series.
 */
export class PlainHistogram {
  readonly #name: string;
  readonly #bounds: readonly number[];
  readonly #series = new Set<Series>();

  /** @param bounds of the buckets, in seconds and in order; `onReset` is called when the registry is reset */
  constructor(
    registry: Registry,
    about: {
      readonly name: string;
      readonly help: string;
      readonly labelNames: readonly string[];
      readonly onReset?: () => void;
    },
    bounds: readonly number[],
  ) {
    const { name, help, labelNames, onReset } = about;
    this.#name = name;
    this.#bounds = bounds;
    const metric = {
      name,
      help,
      labelNames,
      type: 'histogram',
      aggregator: 'sum',
      get: () => Promise.resolve({ ...metric, values: [...this.#series].flatMap((one) => this.#valuesOf(one)) }),
      reset: () => {
        this.#series.clear();
        onReset?.();
      },
    };
    registry.registerMetric(metric as unknown as Histogram);
  }

  /** One more series. @param labels that no other has */
  add(labels: Readonly<Record<string, string>>): Series {
    const series = { labels, counts: Array.from({ length: this.#bounds.length + 1 }, () => 0), sum: 0 };
    this.#series.add(series);
    return series;
  }

  /** No longer exports the series. */
  remove(series: Series): void {
    this.#series.delete(series);
  }

  observe(series: Series, seconds: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  #valuesOf({ labels, counts, sum }: Series): object[] {
    let total = 0;
    const buckets = counts.map((count, i) => {
      total += count;
      return { metricName: `${this.#name}_bucket`, labels: { ...labels, le: this.#bounds[i] ?? '+Inf' }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${this.#name}_sum`, labels, value: sum },
      { metricName: `${this.#name}_count`, labels, value: total },
    ];
  }
}
