import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { srnText, type SrnKind } from '../access/srn.ts';
import { generateTokenKeys } from '../access/service-token.ts';
import type { CustomKind, ResourceByKind } from '../resources/kinds.ts';
import type { Condition } from '../resources/meta.ts';
import { StoreError, type ResourceStore, type StoreEvent } from '../store/resource-store.ts';
import type { OperatorClock } from './clock.ts';
import type { EventRecorder } from './events.ts';
import { execute } from './executor.ts';
import { NotLeaderError } from './fenced-store.ts';
import type { ControllerMetrics, OperatorMetrics } from './metrics.ts';
import { conditionsFor, StalledError, type Outcome } from './outcome.ts';
import type { Plan, PlannedStatus, StatusOf } from './plan.ts';
import type { Reconciler, Watch } from './reconciler.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerPorts {
  /** Refuses writes while this process does not lead. */
  readonly store: ResourceStore;
  readonly recorder: EventRecorder;
  readonly clock: OperatorClock;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  readonly newTokenKeys?: typeof generateTokenKeys;
}

/** More at once would only queue up in front of the API server. */
const WORKERS = 4;
/** Every object is looked at again so often, whatever the watches said; spread by chance so that replicas do not do it together. */
const RESYNC_MS = 10 * 60_000;
/** What stalled is looked at again so often: the cause may lie where no watch reaches, such as a Secret of somebody else. */
const STALLED_RETRY_MS = 60_000;

const SRN_KINDS: Readonly<Partial<Record<CustomKind, SrnKind>>> = {
  Policy: 'policy',
  Role: 'role',
  ServiceToken: 'service-token',
};

/**
 * Runs a reconciler over all objects of its kind: observe, reconcile, act, write the status. Errors decide by their class alone:
 * a StalledError goes to the status and is tried again after a minute, a StoreError is tried again with backoff, any other is a bug and logged as such.
 */
export class Controller<K extends CustomKind, Observed> {
  readonly #reconciler: Reconciler<K, Observed>;
  readonly #ports: ControllerPorts;
  readonly #queue: WorkQueue;
  readonly #metrics: ControllerMetrics;
  readonly #abort = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #workers: Promise<void>[] = [];
  #cancelResync: () => void = () => {};

  constructor(reconciler: Reconciler<K, Observed>, ports: ControllerPorts) {
    this.#reconciler = reconciler;
    this.#ports = ports;
    const name = reconciler.kind.toLowerCase();
    this.#metrics = ports.metrics.controller(name);
    this.#queue = new WorkQueue(ports.clock, ports.metrics.queue(name));
  }

  start(): void {
    const { store } = this.#ports;
    const { kind, watches, onOwnEvent } = this.#reconciler;
    this.#unsubscribe.push(
      store.subscribe(kind, (event) => {
        onOwnEvent?.(event);
        this.#queue.add(event.object.metadata.name);
      }),
      ...watches.map((watch) => this.#watch(watch)),
    );
    this.#scheduleResync();
    this.#metrics.maxWorkers(WORKERS);
    for (let worker = 0; worker < WORKERS; worker++) this.#workers.push(this.#work());
  }

  /** Takes no further key, ends the writes under way and waits for them. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    this.#cancelResync();
    this.#abort.abort(new StoreError('unavailable', 'the operator is stopping'));
    await this.#queue.shutDown();
    await Promise.all(this.#workers);
  }

  #watch(watch: Watch): () => void {
    const add = (keysOf: (event: StoreEvent<never>) => Iterable<string>) => (event: StoreEvent) => {
      for (const key of keysOf(event as StoreEvent<never>)) this.#queue.add(key);
    };
    return this.#ports.store.subscribe(watch.kind, add(watch.keysOf as never));
  }

  #scheduleResync(): void {
    const { clock, store } = this.#ports;
    const ms = RESYNC_MS * (0.9 + 0.2 * clock.random());
    this.#cancelResync = clock.schedule(() => {
      for (const object of store.list(this.#reconciler.kind)) this.#queue.add(object.metadata.name);
      this.#scheduleResync();
    }, ms);
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.#queue.get();
      if (key === undefined) return;
      this.#metrics.activeWorkers(1);
      const began = this.#ports.clock.monotonic();
      const result = await this.#reconcileSafely(key);
      this.#metrics.activeWorkers(-1);
      this.#metrics.reconciled(result, (this.#ports.clock.monotonic() - began) / 1000);
      this.#queue.done(key);
    }
  }

  async #reconcileSafely(key: string): Promise<'success' | 'error' | 'requeue_after'> {
    try {
      const requeueAfterMs = await this.#reconcile(key);
      this.#queue.forget(key);
      if (requeueAfterMs === undefined) return 'success';
      this.#queue.addAfter(key, requeueAfterMs);
      return 'requeue_after';
    } catch (error) {
      this.#failed(key, error);
      return 'error';
    }
  }

  #failed(key: string, error: unknown): void {
    if (this.#abort.signal.aborted || error instanceof NotLeaderError) return;
    const { log } = this.#ports;
    const about = { kind: this.#reconciler.kind, name: key, failures: this.#queue.requeues(key) };
    if (error instanceof StoreError && error.code === 'conflict') log.debug(about, 'changed meanwhile; trying again');
    else if (error instanceof StoreError)
      log.warn({ ...about, code: error.code, error: error.message }, 'could not reconcile; trying again');
    else log.error({ ...about, err: error }, 'reconciler failed');
    this.#queue.addRateLimited(key, error instanceof StoreError ? error.retryAfterMs : undefined);
  }

  /** @returns milliseconds until the key is to be looked at again, if it is */
  async #reconcile(key: string): Promise<number | undefined> {
    const { store, clock, newTokenKeys = generateTokenKeys } = this.#ports;
    const observed = this.#reconciler.observe(store, key);
    // What is being deleted is left alone: nothing may be made for it any more.
    if (observed.object?.metadata.deletionTimestamp !== undefined) return undefined;
    const now = new Date(clock.now());
    const plan = this.#reconciler.reconcile(observed, { now, newTokenKeys: () => newTokenKeys() });
    const stalled = await this.#act(plan, observed.object);
    const { object } = observed;
    if (object && plan.status)
      await this.#writeStatus(object, stalled ? { ...plan.status, outcome: stalled } : plan.status, now);
    return stalled ? Math.min(STALLED_RETRY_MS, plan.requeueAfterMs ?? STALLED_RETRY_MS) : plan.requeueAfterMs;
  }

  /** @returns why the plan could not be done to its end, where the user has to act */
  async #act(plan: Plan<StatusOf<K>>, object: ResourceByKind[K] | undefined): Promise<Outcome | undefined> {
    const { store, recorder } = this.#ports;
    try {
      for (const action of plan.actions) await execute(action, object, { store, recorder, signal: this.#abort.signal });
      return undefined;
    } catch (error) {
      if (error instanceof StalledError) return error.outcome;
      throw error;
    }
  }

  async #writeStatus(object: ResourceByKind[K], planned: PlannedStatus<StatusOf<K>>, now: Date): Promise<void> {
    const before: { conditions?: readonly Condition[] } | undefined = object.status;
    const status = statusOf(object, planned, before?.conditions ?? [], now);
    if (isDeepStrictEqual(plain(before), plain(status))) return;
    await this.#ports.store.updateStatus(
      this.#reconciler.kind,
      { ...object, status },
      {
        signal: this.#abort.signal,
      },
    );
    this.#tell(object, planned.outcome, before?.conditions ?? []);
  }

  /** An Event for every change of the reason, none for a mere change of numbers. */
  #tell(object: ResourceByKind[K], outcome: Outcome, before: readonly Condition[]): void {
    const ready = before.find(({ type }) => type === 'Ready');
    if (ready?.reason === outcome.reason && ready.message === outcome.message) return;
    const type = outcome.class === 'stalled' ? 'Warning' : 'Normal';
    this.#ports.recorder.record(object, type, outcome.reason, outcome.message);
  }
}

/** The whole status; fields that are undefined are left out. */
function statusOf<K extends CustomKind>(
  object: ResourceByKind[K],
  planned: PlannedStatus<StatusOf<K>>,
  conditions: readonly Condition[],
  now: Date,
): object {
  const { generation, name } = object.metadata;
  const srnKind = SRN_KINDS[object.kind as CustomKind];
  return {
    ...(srnKind ? { srn: srnText(srnKind, name) } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...planned.fields,
    conditions: conditionsFor(planned.outcome, conditions, generation, now),
  };
}

/** Without undefined fields, as it comes back from a store. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
