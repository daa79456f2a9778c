import type { Logger } from 'pino';
import { createGather, type HealthEngine } from '../../health/gather/gather.ts';
import { KeptReadings } from '../../health/gather/tables/kept-readings.ts';
import { NO_METRICS, type HealthMetrics } from '../../health/metrics.ts';
import type { StatusChange } from '../../health/report/history.ts';
import type { Gather } from '../../health/run/run.ts';
import type { ConfiguredSettings } from '../../health/settings.ts';
import type { Clock } from '../../platform/clock.ts';
import { REPORT_NAME } from '../../resources/cluster-health-report.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import type { ResourceStore, StoreEvent } from '../../store/resource-store.ts';
import { activeReports } from './health-reports.ts';
import { ReportLoop } from './report-loop.ts';

export interface HealthLoopOptions {
  readonly store: ResourceStore;
  readonly engine: HealthEngine;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: HealthMetrics;
  /** Called before a run starts and before its report is written. */
  readonly isLeader: () => boolean;
  /** Settings from the process's configuration; called at each run. */
  readonly configured?: () => ConfiguredSettings;
  /** Called for each check whose status changed. */
  readonly onStatusChange?: (report: ClusterHealthReport, change: StatusChange) => void;
  /** Called when a mute has expired. @param findingCount number of findings to which it applied */
  readonly onMuteExpired?: (report: ClusterHealthReport, mute: Mute, findingCount: number) => void;
  /** Milliseconds between the start of the loop and the first run. */
  readonly firstRunDelayMs?: number;
  /** Milliseconds after which a run stops reading and reports what it has, in place of `spec.deadline`. */
  readonly deadlineMs?: number;
  /** Reads the cluster; by default through the engine's REST interface. */
  readonly gather?: Gather;
}

const FIRST_RUN_DELAY_MS = 5_000;

/**
 * The health task: a loop for each report in the store, on the leading operator or in the standalone process. Runs of several reports follow
 * one another, because each holds a snapshot of the cluster.
 */
export class HealthLoop {
  readonly #options: HealthLoopOptions;
  readonly #metrics: HealthMetrics;
  readonly #gather: Gather;
  readonly #loops = new Map<string, ReportLoop>();
  readonly #stopping = new Set<Promise<void>>();
  /** The end of the run that was started or queued last. */
  #lastRun: Promise<unknown> = Promise.resolve();
  #unsubscribe: () => void = () => undefined;

  constructor(options: HealthLoopOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? NO_METRICS;
    const { engine, clock } = options;
    const instanceScheme = () => options.configured?.().instanceScheme ?? 'http';
    this.#gather =
      options.gather ??
      createGather({ engine, clock, metrics: this.#metrics, kept: new KeptReadings(), instanceScheme });
  }

  start(): void {
    this.#unsubscribe = this.#options.store.subscribe('ClusterHealthReport', (event) => this.#changed(event));
    this.#update();
  }

  /** Aborts a current run without a report. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    for (const name of this.#loops.keys()) this.#remove(name);
    await Promise.all(this.#stopping);
  }

  #changed({ type, object }: StoreEvent<'ClusterHealthReport'>): void {
    const { name } = object.metadata;
    if (type !== 'modified') this.#update();
    // Its counters must not outlive it: names are chosen by users.
    if (type === 'deleted' && name !== REPORT_NAME) this.#metrics.forget(name);
    this.#loops.get(name)?.wake();
  }

  /** Starts and stops loops, so that each active report has one. `cluster` always has one, which creates the report. */
  #update(): void {
    const reports = activeReports(this.#options.store.list('ClusterHealthReport'));
    const names = new Set([REPORT_NAME, ...reports.map(({ metadata }) => metadata.name)]);
    for (const name of this.#loops.keys()) if (!names.has(name)) this.#remove(name);
    for (const name of names) if (!this.#loops.has(name)) this.#add(name);
  }

  #add(name: string): void {
    const { store, clock, log, isLeader, configured, firstRunDelayMs, deadlineMs } = this.#options;
    const { onStatusChange, onMuteExpired } = this.#options;
    const loop = new ReportLoop({
      name,
      store,
      clock,
      log,
      isLeader,
      configured: configured ?? (() => ({})),
      onStatusChange: onStatusChange ?? (() => undefined),
      onMuteExpired: onMuteExpired ?? (() => undefined),
      firstRunDelayMs: firstRunDelayMs ?? FIRST_RUN_DELAY_MS,
      deadlineMs,
      gather: this.#gather,
      metrics: this.#metrics,
      oneAtATime: (run) => this.#oneAtATime(run),
    });
    this.#loops.set(name, loop);
    loop.start();
  }

  #remove(name: string): void {
    const stopped = this.#loops.get(name)?.stop();
    this.#loops.delete(name);
    if (stopped === undefined) return;
    this.#stopping.add(stopped);
    void stopped.finally(() => this.#stopping.delete(stopped));
  }

  async #oneAtATime(run: () => Promise<void>): Promise<void> {
    const turn = this.#lastRun.then(run);
    this.#lastRun = turn.catch(() => undefined);
    return turn;
  }
}
