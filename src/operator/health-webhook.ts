import type { Logger } from 'pino';
import type { HealthMetrics } from '../health/metrics.ts';
import { firingAlerts, webhookPayload, type HealthAlert, type WebhookPayload } from '../health/webhook-payload.ts';
import { backoffDelay, type BackoffOptions } from '../platform/backoff.ts';
import { sleep, type Clock } from '../platform/clock.ts';
import { Deadline } from '../platform/deadline.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { activeReports } from './health-reports.ts';

export interface HealthWebhookOptions {
  readonly url: URL;
  /** The `Authorization` header; undefined for none. */
  readonly authorization: () => Promise<string | undefined>;
  /** Name of the cluster in resource names. */
  readonly cluster: string;
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

/** What the receiver knows of one report. */
interface Delivered {
  /** By fingerprint. */
  readonly alerts: ReadonlyMap<string, HealthAlert>;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Sends the failing checks of each report to a webhook, on the leader.
 *
 * Level-triggered: each delivery contains the current alerts, and those that ended since the last successful one. Changes during failed
 * attempts are part of the next attempt, so nothing queues up. A new leader sends what fires; what ended before is not known to it.
 */
export class HealthWebhook {
  readonly #options: HealthWebhookOptions;
  readonly #stopping = new AbortController();
  readonly #delivered = new Map<string, Delivered>();
  /** The notification of each report that no attempt could deliver, and when it is tried again. */
  readonly #givenUp = new Map<string, { readonly key: string; readonly until: number }>();
  #unsubscribe: () => void = () => undefined;
  #cancelTimer: () => void = () => undefined;
  #working: Promise<void> | undefined;
  #again = false;

  constructor(options: HealthWebhookOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unsubscribe = this.#options.store.subscribe('ClusterHealthReport', () => this.#wake());
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#cancelTimer();
    this.#stopping.abort(new Error('the webhook is stopping'));
    await this.#working;
  }

  #wake(): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    this.#cancelTimer();
    const failed = (error: unknown): number => {
      this.#options.log.error({ err: error }, 'webhook of the health checks failed');
      return this.#options.clock.now() + BACKOFF.maxMs;
    };
    this.#working = this.#update()
      .catch(failed)
      .then((nextAt) => {
        this.#working = undefined;
        if (this.#stopping.signal.aborted) return;
        const again = this.#again;
        this.#again = false;
        if (again) this.#wake();
        else this.#schedule(nextAt);
      });
  }

  #schedule(at: number): void {
    const { clock } = this.#options;
    // Timers are limited to 24 days; an hour is early enough to look again.
    const waitMs = Math.min(Math.max(0, at - clock.now()), 3_600_000);
    this.#cancelTimer = clock.schedule(() => this.#wake(), waitMs);
  }

  /** Sends what changed. @returns when to look again, milliseconds since the epoch */
  async #update(): Promise<number> {
    const reports = activeReports(this.#options.store.list('ClusterHealthReport')).map(({ metadata }) => metadata.name);
    let nextAt = Number.POSITIVE_INFINITY;
    const known = new Set([...reports, ...this.#delivered.keys()]);
    for (const report of this.#givenUp.keys()) if (!known.has(report)) this.#givenUp.delete(report);
    for (const report of known) {
      nextAt = Math.min(nextAt, await this.#updateReport(report));
      if (this.#stopping.signal.aborted) break;
    }
    return nextAt;
  }

  async #updateReport(report: string): Promise<number> {
    const { clock, log, metrics } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const { payload, firing, nextAt } = this.#notification(report);
      if (payload === undefined) return nextAt;
      const key = payload.alerts.map(({ status, fingerprint }) => `${status} ${fingerprint}`).join(' ');
      const given = this.#givenUp.get(report);
      if (given?.key === key && given.until > clock.now()) return Math.min(nextAt, given.until);
      try {
        await this.#send(payload);
        metrics.webhook('success');
        this.#givenUp.delete(report);
        this.#remember(report, firing);
        return Math.min(nextAt, firing.length === 0 ? nextAt : clock.now() + REPEAT_MS);
      } catch (error) {
        if (this.#stopping.signal.aborted) return nextAt;
        metrics.webhook('error');
        const { message } = error as Error;
        log.warn({ report, attempt, error: message }, 'failed to deliver health alerts to the webhook');
        if (attempt >= MAX_ATTEMPTS) {
          const until = clock.now() + REPEAT_MS;
          this.#givenUp.set(report, { key, until });
          return Math.min(nextAt, until);
        }
        await sleep(clock, backoffDelay(attempt - 1, BACKOFF, clock), this.#stopping.signal).catch(() => undefined);
        if (this.#stopping.signal.aborted) return nextAt;
      }
    }
  }

  /** The notification that the receiver needs now, if any. */
  #notification(report: string): { payload?: WebhookPayload; firing: readonly HealthAlert[]; nextAt: number } {
    const { store, clock, cluster } = this.#options;
    const now = clock.now();
    const source = { report, cluster };
    const status = store.get('ClusterHealthReport', report)?.status;
    const { alerts: firing, nextAt } = firingAlerts(status, source, now);
    const { alerts: known, at } = this.#delivered.get(report) ?? { alerts: new Map<string, HealthAlert>(), at: now };
    const fires = new Set(firing.map(({ fingerprint }) => fingerprint));
    const resolved = [...known.values()].filter(({ fingerprint }) => !fires.has(fingerprint));
    const isNew = firing.some(({ fingerprint }) => !known.has(fingerprint));
    const isRepeat = firing.length > 0 && now >= at + REPEAT_MS;
    if (!isNew && !isRepeat && resolved.length === 0) {
      return { firing, nextAt: Math.min(nextAt, firing.length === 0 ? nextAt : at + REPEAT_MS) };
    }
    return { payload: webhookPayload(source, { firing, resolved, endedAt: now }), firing, nextAt };
  }

  #remember(report: string, firing: readonly HealthAlert[]): void {
    if (firing.length === 0) this.#delivered.delete(report);
    else {
      const alerts = new Map(firing.map((alert) => [alert.fingerprint, alert]));
      this.#delivered.set(report, { alerts, at: this.#options.clock.now() });
    }
  }

  /** @throws {Error} without the path of the URL, which can contain a secret */
  async #send(payload: WebhookPayload): Promise<void> {
    const { url, authorization, clock } = this.#options;
    const credential = await authorization();
    const deadline = new Deadline(clock, TIMEOUT_MS, this.#stopping.signal);
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

function describe(error: unknown, { origin }: URL, expired: boolean): string {
  if (expired) return `\`${origin}\` did not respond within ${TIMEOUT_MS / 1000} s`;
  const { message, cause } = error as Error;
  const code = (cause as { code?: unknown } | undefined)?.code;
  if (typeof code === 'string') return `request to \`${origin}\` failed: ${code}`;
  return message.startsWith('`') ? message : `request to \`${origin}\` failed`;
}
