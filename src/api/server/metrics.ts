import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Authorizer } from '../../access/authorizer.ts';
import { PlainHistogram, type Series } from '../../platform/plain-histogram.ts';
import type { StoreHealth } from '../../store/resource-store.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics registry of a process, with `olap_warden_info`. @param nodeMetrics whether it has Node's default metrics */
export function createRegistry(version: string, command: string, nodeMetrics = true): Registry {
  const registry = new Registry();
  if (nodeMetrics) collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'olap_warden_info',
    help: 'Always 1; the labels are the command and the version.',
    labelNames: ['version', 'command'],
    registers: [registry],
  }).set({ version, command }, 1);
  return registry;
}

/**
 * Request durations by method, route pattern and status. Requests without a route have the method label `any`, so that clients cannot create time series.
 */
export function observeRequests(
  registry: Registry,
): (method: string, route: string, status: number, seconds: number) => void {
  const series = new Map<string, Series>();
  /** Cache: most requests use the same series as the previous one. */
  let last: { method: string; route: string; status: number; series: Series } | undefined;
  const configuration = {
    name: 'olap_warden_http_request_duration_seconds',
    help: 'Duration of requests, from their headers to the end of the response.',
    labelNames: ['method', 'route', 'status'],
    onReset() {
      last = undefined;
      series.clear();
    },
  };
  const histogram = new PlainHistogram(registry, configuration, SECONDS);
  return (method, route, status, seconds) => {
    if (last !== undefined && last.method === method && last.route === route && last.status === status) {
      return histogram.observe(last.series, seconds);
    }
    const counted = route === 'none' ? 'any' : method;
    const key = `${counted} ${status} ${route}`;
    let created = series.get(key);
    if (created === undefined)
      series.set(key, (created = histogram.add({ method: counted, route, status: String(status) })));
    last = { method, route, status, series: created };
    histogram.observe(created, seconds);
  };
}

/** Exports the age of the store's view and whether the initial sync is complete. */
export function observeStore(registry: Registry, health: () => StoreHealth): void {
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `olap_warden_store_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge(
    'age_seconds',
    'Age of the view of the resources; it grows while the Kubernetes API is unavailable.',
    () => health().ageMs / 1000,
  );
  gauge('synced', '1 when every kind of resource has been read, otherwise 0.', () => (health().synced ? 1 : 0));
}

/** Wraps an authorizer and counts decisions by result. It counts in plain numbers, because a decision takes less than a microsecond. */
export function countDecisions(registry: Registry, authorizer: Authorizer): Authorizer {
  const counts = { allowed: 0, denied: 0 };
  const counter = new Counter({
    name: 'olap_warden_decisions_total',
    help: 'Access decisions by result.',
    labelNames: ['result'],
    registers: [],
    collect() {
      this.reset();
      this.inc({ result: 'allowed' }, counts.allowed);
      this.inc({ result: 'denied' }, counts.denied);
    },
  });
  registry.registerMetric(counter);
  const count = (allowed: boolean): void => {
    if (allowed) counts.allowed += 1;
    else counts.denied += 1;
  };
  return {
    isAllowed(principal, action, resource) {
      const allowed = authorizer.isAllowed(principal, action, resource);
      count(allowed);
      return allowed;
    },
    decide(principal, action, resource) {
      const decision = authorizer.decide(principal, action, resource);
      count(decision.allowed);
      return decision;
    },
    reading(principal, table) {
      const reading = authorizer.reading(principal, table);
      // A caller that is refused is told why, by `decide`.
      if (reading.allowed) count(true);
      return reading;
    },
    wouldAllow: (principal, action, resource) => authorizer.wouldAllow(principal, action, resource),
    hasConditions: (principal) => authorizer.hasConditions(principal),
    isActive: (principal) => authorizer.isActive(principal),
  };
}

/** Exports whether the current content of the configuration file was rejected. */
export function observeRejectedConfig(registry: Registry, isRejected: () => boolean): void {
  const gauge = new Gauge({
    name: 'olap_warden_config_rejected',
    help: '1 while the content of the configuration file is rejected and older properties are in effect, otherwise 0.',
    registers: [],
    collect() {
      this.set(isRejected() ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}

/** Counts reloads of the configuration file by result. */
export function countReloads(registry: Registry): (result: 'applied' | 'refused') => void {
  const counter = new Counter({
    name: 'olap_warden_config_reloads_total',
    help: 'Reloads of the configuration file by result.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of ['applied', 'refused']) counter.inc({ result }, 0);
  return (result) => counter.inc({ result });
}

/** Counts what is rejected before it is a request, by the code of Node.js. */
export function countRejects(registry: Registry): (reason: string) => void {
  const counter = new Counter({
    name: 'olap_warden_http_rejected_total',
    help: 'What the HTTP parser rejected, requests that did not arrive in time, CONNECT, and failed handshakes of TLS, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  return (reason) => counter.inc({ reason });
}
