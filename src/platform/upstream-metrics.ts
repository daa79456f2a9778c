import { Counter, Gauge, type Registry } from 'prom-client';
import type { MonotonicClock } from './clock.ts';
import { LruCache } from './lru.ts';
import { PlainHistogram, type Series } from './plain-histogram.ts';
import {
  UPSTREAM_OUTCOMES,
  type Upstream,
  type UpstreamCounts,
  type UpstreamObserver,
  type UpstreamOutcome,
  type UpstreamState,
} from './upstreams.ts';

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Addresses with series. Brokers and gateways have another one after each restart. */
const MAX_ADDRESSES = 2_000;
/** An address without requests for this long is gone. */
const FORGET_AFTER_MS = 3_600_000;

const LABELS = ['role', 'address'];

/** Exports the requests to each upstream address. */
export function observeUpstreams(registry: Registry, clock: MonotonicClock): UpstreamObserver {
  const latency = new PlainHistogram(
    registry,
    {
      name: 'olap_warden_upstream_request_seconds',
      help: 'Time until a request to an upstream address had the headers of its response or failed, with its wait for a connection.',
      labelNames: LABELS,
      onReset: () => addresses.clear(),
    },
    SECONDS,
  );
  const addresses = new LruCache<string, AddressCounts>({
    maxWeight: MAX_ADDRESSES,
    isPinned: ({ active }) => active > 0,
    onEvict: ({ series }) => latency.remove(series),
  });
  const current = (): Iterable<AddressCounts> => {
    const oldest = clock.monotonic() - FORGET_AFTER_MS;
    addresses.deleteWhere((counts) => {
      if (counts.active > 0 || counts.usedAt > oldest) return false;
      latency.remove(counts.series);
      return true;
    });
    return addresses.values();
  };
  exportCounts(registry, current);
  exportState(registry, current);
  return {
    countsOf(upstream) {
      const key = `${upstream.role} ${upstream.address}`;
      let counts = addresses.get(key);
      if (counts?.upstream !== upstream) {
        const { role, address } = upstream;
        const series = counts?.series ?? latency.add({ role, address });
        const next = new AddressCounts(upstream, { series, latency, clock }, counts);
        counts = next;
        addresses.set(key, counts);
      }
      return counts;
    },
  };
}

function exportCounts(registry: Registry, current: () => Iterable<AddressCounts>): void {
  registry.registerMetric(
    new Counter({
      name: 'olap_warden_upstream_requests_total',
      help: `Requests to an upstream address by outcome: ${UPSTREAM_OUTCOMES.join(', ')}.`,
      labelNames: [...LABELS, 'outcome'],
      registers: [],
      collect() {
        this.reset();
        for (const { labels, outcomes } of current()) {
          for (const [outcome, count] of outcomes) this.inc({ ...labels, outcome }, count);
        }
      },
    }),
  );
  registry.registerMetric(
    new Counter({
      name: 'olap_warden_upstream_retries_total',
      help: 'Requests that were sent again, there or to another address, after this address failed.',
      labelNames: LABELS,
      registers: [],
      collect() {
        this.reset();
        for (const { labels, retries } of current()) this.inc(labels, retries);
      },
    }),
  );
}

function exportState(registry: Registry, current: () => Iterable<AddressCounts>): void {
  const gauge = (name: string, help: string, value: (state: UpstreamState) => number): void =>
    registry.registerMetric(
      new Gauge({
        name: `olap_warden_upstream_${name}`,
        help,
        labelNames: LABELS,
        registers: [],
        collect() {
          this.reset();
          for (const counts of current()) this.set(counts.labels, value(counts.state));
        },
      }),
    );
  gauge('connections_used', 'Connections to an upstream address with a request.', ({ used }) => used);
  gauge('waiting', 'Requests that wait for a connection to an upstream address.', ({ waiting }) => waiting);
  gauge(
    'suspected',
    '1 while other addresses are tried before this one, because it failed a short time ago, otherwise 0.',
    ({ suspected }) => Number(suspected),
  );
}

interface CountsDependencies {
  readonly series: Series;
  readonly latency: PlainHistogram;
  readonly clock: MonotonicClock;
}

class AddressCounts implements UpstreamCounts {
  readonly upstream: Upstream;
  readonly labels: { readonly role: string; readonly address: string };
  readonly series: Series;
  readonly outcomes: Map<UpstreamOutcome, number>;
  retries: number;
  /** Requests in progress. */
  active = 0;
  usedAt: number;
  readonly #parts: CountsDependencies;

  /** @param before the counts of the same address, where its connections were opened again */
  constructor(upstream: Upstream, parts: CountsDependencies, before: AddressCounts | undefined) {
    this.upstream = upstream;
    this.labels = { role: upstream.role, address: upstream.address };
    this.series = parts.series;
    this.#parts = parts;
    this.outcomes = before?.outcomes ?? new Map([['ok', 0]]);
    this.retries = before?.retries ?? 0;
    this.usedAt = parts.clock.monotonic();
  }

  get state(): UpstreamState {
    return this.upstream.state?.() ?? { used: this.active, waiting: 0, suspected: false };
  }

  began(): void {
    this.active++;
  }

  ended(outcome: UpstreamOutcome, seconds: number): void {
    this.active--;
    this.usedAt = this.#parts.clock.monotonic();
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    this.#parts.latency.observe(this.series, seconds);
  }

  retried(): void {
    this.retries++;
  }
}
