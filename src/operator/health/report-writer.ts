import { nextMuteChange } from '../../health/report/mutes.ts';
import { withMutes } from '../../health/report/summary.ts';
import type { BackoffOptions } from '../../platform/backoff.ts';
import type { Clock } from '../../platform/clock.ts';
import { retry } from '../../platform/retry.ts';
import type { ClusterHealthReportSpec } from '../../resources/cluster-health-report.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReportStatus } from '../../resources/health-status.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { endOf } from '../../resources/time.ts';
import { conflictRetryAfterMs, StoreError, type ResourceStore } from '../../store/resource-store.ts';

export interface ReportWriterOptions {
  /** Name of the report. */
  readonly name: string;
  readonly store: ResourceStore;
  readonly clock: Clock;
  /** Aborts writes. */
  readonly signal: AbortSignal;
  /** Called when a mute has expired. @param findingCount number of findings to which it applied */
  readonly onMuteExpired: (report: ClusterHealthReport, mute: Mute, findingCount: number) => void;
}

/** Attempts to write a status when the object is changed concurrently. */
const MAX_WRITE_ATTEMPTS = 5;
/** Gives the watch time to deliver the newer object. */
const WRITE_BACKOFF: BackoffOptions = { baseMs: 50, maxMs: 400, jitter: 'half' };

/** Writes the status of one report. Each write applies the mutes of the current spec. */
export class ReportWriter {
  readonly #options: ReportWriterOptions;

  constructor(options: ReportWriterOptions) {
    this.#options = options;
  }

  current(): ClusterHealthReport | undefined {
    return this.#options.store.get('ClusterHealthReport', this.#options.name);
  }

  /** Writes the status if mutes were added or removed, began or expired since it was written. */
  async updateMutes(report: ClusterHealthReport): Promise<void> {
    if (report.status === undefined || this.#withMutes(report, report.status) === report.status) return;
    await this.write((status) => status ?? {});
  }

  /** Milliseconds until a mute begins or expires; Infinity if none does. */
  untilMuteChange({ spec }: ClusterHealthReport): number {
    const now = this.#options.clock.now();
    return nextMuteChange(spec.mutes, now) - now;
  }

  /** Computes the status from the current object, applies the current mutes and writes it; again if the object was changed concurrently. */
  async write(
    compute: (
      status: ClusterHealthReportStatus | undefined,
      spec: ClusterHealthReportSpec,
    ) => ClusterHealthReportStatus,
  ): Promise<ClusterHealthReport> {
    const { name, store, clock, signal } = this.#options;
    const write = async (): Promise<ClusterHealthReport> => {
      const current = this.current();
      if (current === undefined) throw new StoreError('not-found', `the ClusterHealthReport \`${name}\` was deleted`);
      const status = this.#withMutes(current, compute(current.status, current.spec));
      const written = await store.updateStatus('ClusterHealthReport', { ...current, status }, { signal });
      this.#reportExpired(current, written);
      return written;
    };
    return retry(write, {
      attempts: MAX_WRITE_ATTEMPTS,
      backoff: WRITE_BACKOFF,
      clock,
      signal,
      retryAfterMs: conflictRetryAfterMs,
    });
  }

  #withMutes({ spec, metadata }: ClusterHealthReport, status: ClusterHealthReportStatus): ClusterHealthReportStatus {
    return withMutes(status, spec.mutes, { generation: metadata.generation, now: this.#options.clock.now() });
  }

  /** Reports the mutes that a write has ended, unless they were removed. */
  #reportExpired(before: ClusterHealthReport, written: ClusterHealthReport): void {
    const now = this.#options.clock.now();
    const active = new Set(written.status?.mutes?.map(({ id }) => id));
    for (const { id, findingCount } of before.status?.mutes ?? []) {
      const mute = before.spec.mutes?.find((candidate) => candidate.id === id);
      if (mute === undefined || active.has(id) || endOf(mute.until) > now) continue;
      this.#options.onMuteExpired(written, mute, findingCount);
    }
  }
}
