import { aborted } from '../platform/until-aborted.ts';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { systemClock, type Clock } from '../platform/clock.ts';
import type { ConfiguredSettings } from '../health/settings.ts';
import type { KubernetesTransport } from '../kubernetes/transport.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { Controller, type ControllerPorts } from './controller/controller-loop.ts';
import { KubernetesEvents, NO_EVENTS, type EventRecorder } from '../kubernetes/events.ts';
import { fencedStore } from './leader/fenced-store.ts';
import { LeaderElector, type LeaderTimes } from './leader/leader.ts';
import { kubernetesLeases } from '../kubernetes/leases.ts';
import type { ReportedClusters } from './health/health-reports.ts';
import type { OperatorMetrics } from './metrics.ts';
import { keepOwned, type OwnedResource } from './reconcilers/predefined.ts';
import { clusterHealthReportReconciler } from './reconcilers/cluster-health-report.ts';
import { policyReconciler, type PolicyOptions } from './reconcilers/policy.ts';
import { roleAssignmentReconciler } from './reconcilers/role-assignment.ts';
import { roleReconciler } from './reconcilers/role.ts';
import { serviceTokenReconciler } from './reconcilers/service-token.ts';
import { isOwnedByName } from './tokens/token-secret.ts';

/** Work of the leader, from the start of its leadership until `signal` aborts. */
export interface LeaderTask {
  readonly name: string;
  /** Resolves when all work has ended. */
  readonly run: (signal: AbortSignal, ports: LeaderTaskPorts) => Promise<void>;
}

export interface LeaderTaskPorts {
  /** Rejects writes while this process is not the leader. Tasks must not write to any other store. */
  readonly store: ResourceStore;
  readonly recorder: EventRecorder;
  /** Whether the store accepts writes now. */
  readonly isLeader: () => boolean;
}

/** A task from a loop with start and stop, such as the health task. */
export function loopTask(
  name: string,
  create: (ports: LeaderTaskPorts, signal: AbortSignal) => { start(): void; stop(): Promise<void> },
): LeaderTask {
  return {
    name,
    async run(signal, ports) {
      if (signal.aborted) return;
      const loop = create(ports, signal);
      loop.start();
      await aborted(signal);
      await loop.stop();
    },
  };
}

export interface OperatorOptions {
  /** The caller closes it after the operator has stopped. */
  readonly store: ResourceStore;
  /** Used for the Lease and the Events. Without it (standalone mode) this process is always the leader and records no Events. */
  readonly transport?: KubernetesTransport;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Objects that the leader creates and restores, besides the predefined policies and roles. */
  readonly owned?: readonly OwnedResource[];
  /** Further tasks of the leader, such as the health task and the result cleaner. */
  readonly tasks?: readonly LeaderTask[];
  readonly leaseName?: string;
  readonly leaderTimes?: LeaderTimes;
  /** Unique among all candidates; by default the host name (the Pod's name) with a random suffix. */
  readonly identity?: string;
  /** How names in policies are looked up; absent: they are not. */
  readonly policyNames?: PolicyOptions;
  /** Settings of the health checks in the configuration of the process, which a report overrides; called at each reconciliation. */
  readonly healthSettings?: (cluster: string) => ConfiguredSettings;
  /** The clusters of the environment; by default one. */
  readonly clusters?: ReportedClusters;
  /** How long the previous token stays valid after a rotation, in milliseconds; 24 hours by default. */
  readonly tokenGraceMs?: number;
  /** How long an expired subject stays in its RoleAssignment, in milliseconds; 30 days by default, 0: they are never removed. */
  readonly pruneExpiredAfterMs?: number;
}

export interface Operator {
  /** Ends all work and releases the lease. Nothing is written after it resolves. */
  stop(): Promise<void>;
  isLeader(): boolean;
  /** Whether the store has synced. Independent of leadership. */
  ready(): boolean;
}

const LEASE_NAME = 'olap-warden-operator';

/** Starts the operator and returns at once. It waits in the background for the custom resources, the API server and the lease. */
export function startOperator(options: OperatorOptions): Operator {
  const { store, transport, log, metrics, clock = systemClock } = options;
  const identity = options.identity ?? `${hostname()}_${randomBytes(4).toString('hex')}`;
  const recorder = transport
    ? new KubernetesEvents({ transport, clock, onDropped: () => metrics.eventDropped(), log, instance: identity })
    : NO_EVENTS;
  const stopping = new AbortController();

  const lead = async (signal: AbortSignal, mayWrite: () => boolean): Promise<void> => {
    await waitForSync(store, signal);
    if (signal.aborted) return;
    const ports = { store: fencedStore(store, mayWrite), recorder, isLeader: mayWrite };
    await runWhileLeading(options, ports, clock, signal);
  };

  if (!transport) {
    const mayWrite = (): boolean => !stopping.signal.aborted;
    const leading = lead(stopping.signal, mayWrite).catch((error: unknown) => {
      log.error({ err: error }, 'operator failed');
    });
    return {
      isLeader: mayWrite,
      ready: () => store.health().synced,
      async stop() {
        stopping.abort(new Error('the operator is stopping'));
        await leading;
      },
    };
  }

  const name = options.leaseName ?? LEASE_NAME;
  const elector: LeaderElector = new LeaderElector({
    leases: kubernetesLeases(transport, name),
    identity,
    clock,
    log,
    ...(options.leaderTimes ? { times: options.leaderTimes } : {}),
    lead: (signal) => lead(signal, () => elector.isLeader()),
    onChange: (leads) => metrics.leading(name, leads),
  });
  metrics.leading(name, false);
  elector.start();
  return {
    isLeader: () => elector.isLeader(),
    ready: () => store.health().synced,
    async stop() {
      await elector.stop();
      await recorder.close();
    },
  };
}

async function waitForSync(store: ResourceStore, signal: AbortSignal): Promise<void> {
  try {
    await store.synced(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function runWhileLeading(
  options: OperatorOptions,
  leader: LeaderTaskPorts,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { metrics, log, policyNames, tokenGraceMs, pruneExpiredAfterMs, transport, tasks = [] } = options;
  const { store, recorder } = leader;
  const ports: ControllerPorts = { store, recorder, clock, metrics, log };
  const controllers = [
    new Controller(policyReconciler(policyNames), ports),
    new Controller(roleReconciler(), ports),
    new Controller(
      roleAssignmentReconciler(pruneExpiredAfterMs === undefined ? {} : { pruneAfterMs: pruneExpiredAfterMs }),
      ports,
    ),
    new Controller(
      serviceTokenReconciler({
        ...(tokenGraceMs === undefined ? {} : { graceMs: tokenGraceMs }),
        ...(transport ? {} : { owns: isOwnedByName }),
      }),
      ports,
    ),
    new Controller(clusterHealthReportReconciler(options.healthSettings, options.clusters), ports),
  ];
  for (const controller of controllers) controller.start();
  const running = [
    keepOwned(ports, signal, options.owned),
    ...tasks.map(async (task) => {
      try {
        await task.run(signal, leader);
      } catch (error) {
        if (!signal.aborted) log.error({ err: error, task: task.name }, 'task of the leader failed');
      }
    }),
  ];
  await aborted(signal);
  await Promise.all(controllers.map((controller) => controller.stop()));
  await Promise.all(running);
}
