import type { Logger } from 'pino';
import { createGather, type HealthEngine } from '../../health/gather/gather.ts';
import { KeptReadings } from '../../health/gather/tables/kept-readings.ts';
import { NO_METRICS, type HealthMetrics } from '../../health/metrics.ts';
import type { StatusChange } from '../../health/report/history.ts';
import type { PolicyConditions } from '../../health/snapshot.ts';
import type { Gather } from '../../health/run/run.ts';
import type { ConfiguredSettings } from '../../health/settings.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ClusterHealthReportSpec } from '../../resources/cluster-health-report.ts';
import type { Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import type { ResourceStore, StoreEvent } from '../../store/resource-store.ts';
import {
  activeReports,
  clusterOf,
  ONE_CLUSTER,
  type ReportedCluster,
  type ReportedClusters,
} from './health-reports.ts';
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
  /** The policies with conditions, called at each run. */
  readonly policies?: () => readonly PolicyConditions[];
  /** Milliseconds between the start of the loop and the first run. */
  readonly firstRunDelayMs?: number;
  /** Milliseconds after which a run stops reading and reports what it has, in place of `spec.deadline`. */
  readonly deadlineMs?: number;
  /** The clusters of the environment; by default one. */
  readonly clusters?: ReportedClusters;
  /** The one of them whose reports this loop makes; by default the first. */
  readonly cluster?: ReportedCluster;
  /** The runs of several clusters follow one another, too. */
  readonly turns?: RunTurns;
  /** Reads the cluster; by default through the engine's REST interface. */
  readonly gather?: Gather;
}

const FIRST_RUN_DELAY_MS = 5_000;

/** Runs that follow one another, because each holds a snapshot of a cluster. */
export class RunTurns {
  /** The end of the run that was started or queued last. */
  #lastRun: Promise<unknown> = Promise.resolve();

  /** Calls `run` when no other run is in progress, and resolves or rejects as that does. */
  readonly oneAtATime = async (run: () => Promise<void>): Promise<void> => {
    const turn = this.#lastRun.then(run);
    this.#lastRun = turn.catch(() => undefined);
    return turn;
  };
}

/**
 * The health task of a cluster: a loop for each of its reports in the store, on the leading operator or in the standalone process. Runs of several reports follow
 * one another.
 */
export class HealthLoop {
  readonly #options: HealthLoopOptions;
  readonly #metrics: HealthMetrics;
  readonly #gather: Gather;
  readonly #loops = new Map<string, ReportLoop>();
  readonly #stopping = new Set<Promise<void>>();
  readonly #clusters: ReportedClusters;
  readonly #cluster: ReportedCluster;
  readonly #turns: RunTurns;
  #unsubscribe: () => void = () => undefined;

  constructor(options: HealthLoopOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? NO_METRICS;
    this.#clusters = options.clusters ?? ONE_CLUSTER;
    this.#cluster = options.cluster ?? this.#clusters[0];
    this.#turns = options.turns ?? new RunTurns();
    const { engine, clock, policies } = options;
    const instanceScheme = () => options.configured?.().instanceScheme ?? 'http';
    this.#gather =
      options.gather ??
      createGather({ engine, clock, metrics: this.#metrics, kept: new KeptReadings(), instanceScheme, policies });
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
    // A change can move it to another cluster.
    this.#update();
    // Its counters must not outlive it: names are chosen by users.
    if (type === 'deleted' && name !== this.#cluster.report) this.#metrics.forget(name);
    this.#loops.get(name)?.wake();
  }

  /** Starts and stops loops, so that each active report of the cluster has one. Its own report always has one, which creates it. */
  #update(): void {
    const active = activeReports(this.#options.store.list('ClusterHealthReport'), this.#clusters);
    const reports = active.filter((report) => clusterOf(report, this.#clusters) === this.#cluster);
    const names = new Set([this.#cluster.report, ...reports.map(({ metadata }) => metadata.name)]);
    for (const name of this.#loops.keys()) if (!names.has(name)) this.#remove(name);
    for (const name of names) if (!this.#loops.has(name)) this.#add(name);
  }

  #add(name: string): void {
    const { store, clock, log, isLeader, configured, firstRunDelayMs, deadlineMs } = this.#options;
    const { onStatusChange, onMuteExpired } = this.#options;
    const loop = new ReportLoop({
      name,
      specIfMissing: this.#specIfMissing(name),
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
      oneAtATime: this.#turns.oneAtATime,
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

  /** That of the first cluster names none, so that it is the same as in an environment with one. */
  #specIfMissing(name: string): ClusterHealthReportSpec | undefined {
    if (name !== this.#cluster.report) return undefined;
    return this.#cluster === this.#clusters[0] ? {} : { cluster: this.#cluster.name };
  }
}
