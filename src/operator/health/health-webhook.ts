import type { Logger } from 'pino';
import { asError, errorCode, errorMessage } from '../../platform/plain-error.ts';
import type { HealthMetrics } from '../../health/metrics.ts';
import {
  firingAlerts,
  webhookPayload,
  type HealthAlert,
  type WebhookPayload,
} from '../../health/alerts/webhook-payload.ts';
import { backoffDelay, type BackoffOptions } from '../../platform/backoff.ts';
import type { Clock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { activeReports, clusterOf, type ReportedClusters } from './health-reports.ts';
import { ReportFollower, wallTime } from './report-follower.ts';

export interface HealthWebhookOptions {
  readonly url: URL;
  /** The `Authorization` header; undefined for none. */
  readonly authorization: () => Promise<string | undefined>;
  /** The clusters of the environment. */
  readonly clusters: ReportedClusters;
  readonly store: ResourceStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: HealthMetrics;
}

const TIMEOUT_MS = 10_000;
const BACKOFF: BackoffOptions = { baseMs: 1_000, maxMs: 300_000, minMs: 500, jitter: 'half' };
/** About half an hour of attempts; after that the next change or repetition starts again. */
const MAX_ATTEMPTS = 14;
/** Firing alerts are sent again after this time, as by Alertmanager: a receiver may have lost them. */
const REPEAT_MS = 4 * 3_600_000;

/** The failed deliveries of one report since the last successful one. */
interface Failed {
  readonly attempts: number;
  /** What the last attempt contained. */
  readonly key: string;
  /** When the next attempt is due, milliseconds of the monotonic clock. */
  readonly until: number;
}

/** What the receiver knows of one report. */
interface DeliveredReport {
  /** The key is the fingerprint. */
  readonly alerts: ReadonlyMap<string, HealthAlert>;
  /** Milliseconds of the monotonic clock. */
  readonly at: number;
}

/**
 * Sends the failing checks of each report to a webhook, on the leader.
 *
 * Each delivery contains the current alerts, and those that ended since the last successful one. Failures of one report do not delay the others. A new leader sends firing alerts; it cannot resolve alerts that ended before it led.
 */
export class HealthWebhook {
  readonly #options: HealthWebhookOptions;
  readonly #follower: ReportFollower;
  readonly #delivered = new Map<string, DeliveredReport>();
  readonly #failed = new Map<string, Failed>();

  constructor(options: HealthWebhookOptions) {
    this.#options = options;
    const update = () => this.#update();
    this.#follower = new ReportFollower({ ...options, name: 'the webhook of the health checks', update });
  }

  start(): void {
    this.#follower.start();
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }

  /** Sends what changed. @returns when to look again, milliseconds since the epoch */
  async #update(): Promise<number> {
    const { store, clusters } = this.#options;
    const reports = activeReports(store.list('ClusterHealthReport'), clusters).map(({ metadata }) => metadata.name);
    const known = new Set([...reports, ...this.#delivered.keys()]);
    for (const report of this.#failed.keys()) if (!known.has(report)) this.#failed.delete(report);
    const times = await Promise.all([...known].map((report) => this.#updateReport(report)));
    return Math.min(Number.POSITIVE_INFINITY, ...times);
  }

  async #updateReport(report: string): Promise<number> {
    const { clock, log, metrics } = this.#options;
    const { payload, firing, nextAt } = this.#notification(report);
    if (payload === undefined) {
      this.#failed.delete(report);
      return nextAt;
    }
    const key = payload.alerts.map(({ status, fingerprint }) => `${status} ${fingerprint}`).join(' ');
    const failed = this.#failed.get(report);
    if (failed !== undefined && mustWait(failed, key, clock.monotonic()))
      return Math.min(nextAt, wallTime(clock, failed.until));
    try {
      await this.#send(payload);
      metrics.webhook('success');
      this.#failed.delete(report);
      this.#remember(report, firing);
      return Math.min(nextAt, firing.length === 0 ? nextAt : clock.now() + REPEAT_MS);
    } catch (error) {
      if (this.#follower.signal.aborted) return nextAt;
      metrics.webhook('error');
      const attempt = failed === undefined || isGivenUp(failed) ? 1 : failed.attempts + 1;
      log.warn({ report, attempt, error: errorMessage(error) }, 'failed to deliver health alerts to the webhook');
      const pauseMs = attempt >= MAX_ATTEMPTS ? REPEAT_MS : backoffDelay(attempt - 1, BACKOFF, clock);
      const until = clock.monotonic() + pauseMs;
      this.#failed.set(report, { attempts: attempt, key, until });
      return Math.min(nextAt, wallTime(clock, until));
    }
  }

  /** The notification that the receiver needs now, if any. */
  #notification(report: string): { payload?: WebhookPayload; firing: readonly HealthAlert[]; nextAt: number } {
    const { store, clock } = this.#options;
    const now = clock.now();
    const never = { alerts: new Map<string, HealthAlert>(), at: clock.monotonic() };
    const { alerts: known, at } = this.#delivered.get(report) ?? never;
    const object = store.get('ClusterHealthReport', report);
    const source = { report, cluster: clusterName(object, known, this.#options.clusters) };
    const { alerts: firing, nextAt } = firingAlerts(object?.status, source, now);
    const fires = new Set(firing.map(({ fingerprint }) => fingerprint));
    const resolved = [...known.values()].filter(({ fingerprint }) => !fires.has(fingerprint));
    const isNew = firing.some(({ fingerprint }) => !known.has(fingerprint));
    const isRepeat = clock.monotonic() >= at + REPEAT_MS;
    if (!isNew && !isRepeat && resolved.length === 0) {
      return { firing, nextAt: Math.min(nextAt, firing.length === 0 ? nextAt : wallTime(clock, at + REPEAT_MS)) };
    }
    return { payload: webhookPayload(source, { firing, resolved, endedAt: now }), firing, nextAt };
  }

  #remember(report: string, firing: readonly HealthAlert[]): void {
    if (firing.length === 0) this.#delivered.delete(report);
    else {
      const alerts = new Map(firing.map((alert) => [alert.fingerprint, alert]));
      this.#delivered.set(report, { alerts, at: this.#options.clock.monotonic() });
    }
  }

  /** @throws {Error} without the path of the URL, which can contain a secret */
  async #send(payload: WebhookPayload): Promise<void> {
    const { url, authorization, clock } = this.#options;
    const credential = await authorization();
    const deadline = new Deadline(clock, TIMEOUT_MS, this.#follower.signal);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'olap-warden',
          ...(credential === undefined ? {} : { authorization: credential }),
        },
        body: JSON.stringify(payload),
        // The credential is for the configured URL only.
        redirect: 'manual',
        signal: deadline.signal,
      });
      await response.body?.cancel();
      if (response.ok) return;
      throw new Error(`\`${url.origin}\` responded with ${response.status}`);
    } catch (error) {
      throw new Error(describe(error, url, deadline.expired), { cause: error });
    } finally {
      deadline.clear();
    }
  }
}

/** A report that was deleted belonged to the cluster of its alerts. */
function clusterName(
  report: ClusterHealthReport | undefined,
  known: ReadonlyMap<string, HealthAlert>,
  clusters: ReportedClusters,
): string {
  const [alert] = known.values();
  return (report && clusterOf(report, clusters)?.name) ?? alert?.labels['cluster'] ?? clusters[0].name;
}

function isGivenUp({ attempts }: Failed): boolean {
  return attempts >= MAX_ATTEMPTS;
}

/** Whether the next attempt is not due yet. After the last one, changed alerts are sent at once. */
function mustWait(failed: Failed, key: string, now: number): boolean {
  return failed.until > now && !(isGivenUp(failed) && failed.key !== key);
}

function describe(error: unknown, { origin }: URL, expired: boolean): string {
  if (expired) return `\`${origin}\` did not respond within ${TIMEOUT_MS / 1000} s`;
  const message = errorMessage(error);
  const code = errorCode(asError(error).cause);
  if (typeof code === 'string') return `request to \`${origin}\` failed: ${code}`;
  return message.startsWith('`') ? message : `request to \`${origin}\` failed`;
}
