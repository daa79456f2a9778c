import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { errorMessage } from '../platform/plain-error.ts';
import { openReport, OPEN_REPORT_SOURCE, type OpenReportContent } from '../health/open-report.ts';
import type { OpenReports, StoredOpenReport } from '../kubernetes/open-reports.ts';
import { Backoff, type BackoffOptions } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import type { ClusterHealthReport } from '../resources/kinds.ts';
import { API_VERSION, LABELS, type ObjectMeta, type OwnerReference } from '../resources/meta.ts';
import { StoreError, type ResourceStore } from '../store/resource-store.ts';
import { activeReports } from './health-reports.ts';
import { ReportFollower, wallTime } from './report-follower.ts';

export interface OpenReportWriterOptions {
  readonly openReports: OpenReports;
  readonly store: ResourceStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called before each write. */
  readonly isLeader: () => boolean;
}

const BACKOFF: BackoffOptions = { baseMs: 1_000, maxMs: 300_000, minMs: 500, jitter: 'half' };
/** Time until an API that was not installed is looked for again. */
const ABSENT_MS = 600_000;
/** Time until a written Report is compared again: somebody may have changed or deleted it. */
const COMPARE_MS = 3_600_000;

/** What was written last for one report. */
interface Written {
  readonly content: OpenReportContent;
  readonly uid: string | undefined;
  /** Milliseconds of the monotonic clock. */
  readonly compareAt: number;
}

/**
 * Writes each health report as a Report of openreports.io too, on the leader.
 *
 * Each step compares the current reports with what was written, so changes during a failure are part of the next write.
 * A Report that another program made is not changed. Kubernetes deletes a Report with its ClusterHealthReport, its owner.
 */
export class OpenReportWriter {
  readonly #options: OpenReportWriterOptions;
  readonly #follower: ReportFollower;
  readonly #written = new Map<string, Written>();
  readonly #backoff: Backoff;
  /** No request before this time, milliseconds of the monotonic clock. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #absent = false;

  constructor(options: OpenReportWriterOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.clock, BACKOFF);
    const update = () => this.#update();
    this.#follower = new ReportFollower({ ...options, name: 'the writer of openreports.io', update });
  }

  start(): void {
    this.#follower.start();
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }

  /** Writes what changed. @returns when to look again, milliseconds since the epoch; Infinity: at the next change */
  async #update(): Promise<number> {
    const { store, clock, log, isLeader } = this.#options;
    if (clock.monotonic() < this.#pausedUntil) return wallTime(clock, this.#pausedUntil);
    const reports = activeReports(store.list('ClusterHealthReport'));
    const names = new Set(reports.map(({ metadata }) => metadata.name));
    for (const name of this.#written.keys()) if (!names.has(name)) this.#written.delete(name);
    let failed = false;
    for (const report of reports) {
      if (this.#follower.signal.aborted || !isLeader()) break;
      try {
        await this.#updateReport(report);
      } catch (error) {
        if (this.#follower.signal.aborted) break;
        failed = true;
        log.warn(
          { report: report.metadata.name, error: errorMessage(error) },
          'failed to write a Report of openreports.io',
        );
      }
      if (this.#absent) break;
    }
    if (this.#absent) this.#pausedUntil = clock.monotonic() + ABSENT_MS;
    else if (failed) this.#pausedUntil = clock.monotonic() + this.#backoff.next();
    else this.#backoff.reset();
    if (this.#absent || failed) return wallTime(clock, this.#pausedUntil);
    return wallTime(clock, Math.min(...[...this.#written.values()].map(({ compareAt }) => compareAt)));
  }

  async #updateReport(report: ClusterHealthReport): Promise<void> {
    const { openReports, clock } = this.#options;
    const { name, uid } = report.metadata;
    const content = openReport(report);
    const written = this.#written.get(name);
    const isKnown = written?.uid === uid && isDeepStrictEqual(written?.content, content);
    if (content === undefined || (isKnown && clock.monotonic() < (written?.compareAt ?? Number.NEGATIVE_INFINITY)))
      return;
    const { signal } = this.#follower;
    const stored = await openReports.read(name, signal);
    const isWritten =
      stored === undefined ? await this.#create(report, content) : await this.#replace(report, content, stored);
    this.#absent = !isWritten;
    if (isWritten) this.#written.set(name, { content, uid, compareAt: clock.monotonic() + COMPARE_MS });
  }

  /** @returns false if the API is not installed */
  async #create(report: ClusterHealthReport, content: OpenReportContent): Promise<boolean> {
    const { openReports, log, isLeader } = this.#options;
    if (!isLeader()) return true;
    const { name } = report.metadata;
    try {
      const metadata = { name, labels: ownLabels(), ownerReferences: [ownerOf(report)] };
      await openReports.create(metadata, content, this.#follower.signal);
      return true;
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'not-found')) throw error;
      if (!this.#absent)
        log.info('health reports are not written as Reports: openreports.io/v1alpha1 is not installed');
      return false;
    }
  }

  async #replace(report: ClusterHealthReport, content: OpenReportContent, stored: StoredOpenReport): Promise<true> {
    const { openReports, log, isLeader } = this.#options;
    const { managedFields: _, ...metadata } = stored.metadata;
    const { name } = metadata;
    if (metadata.labels?.[LABELS.managedBy] !== OPEN_REPORT_SOURCE) {
      log.warn({ report: name }, 'the Report of openreports.io with the name of a health report is of another program');
      return true;
    }
    const next: ObjectMeta = { ...metadata, ownerReferences: [ownerOf(report)] };
    const { source, scope, summary, results } = stored;
    const isCurrent =
      isDeepStrictEqual({ source, scope, summary, results }, content) &&
      isDeepStrictEqual(metadata.ownerReferences, next.ownerReferences);
    if (!isCurrent && isLeader()) await openReports.replace(next, content, this.#follower.signal);
    return true;
  }
}

function ownLabels(): Record<string, string> {
  return { [LABELS.managedBy]: OPEN_REPORT_SOURCE };
}

function ownerOf({ metadata }: ClusterHealthReport): OwnerReference {
  return { apiVersion: API_VERSION, kind: 'ClusterHealthReport', name: metadata.name, uid: metadata.uid ?? '' };
}
