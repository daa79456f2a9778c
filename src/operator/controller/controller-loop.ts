import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { asError } from '../../platform/plain-error.ts';
import { srnText, type SrnKind } from '../../access/policy/srn.ts';
import { generateTokenKeys } from '../../access/service-token.ts';
import type { CustomKind, ResourceByKind } from '../../resources/kinds.ts';
import type { Condition } from '../../resources/meta.ts';
import { StoreError, type ResourceStore, type StoreEvent } from '../../store/resource-store.ts';
import type { Clock } from '../../platform/clock.ts';
import { LOG_LIMITS, RateLimiter } from '../../platform/rate-limiter.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import { execute } from './executor.ts';
import { NotLeaderError } from '../leader/fenced-store.ts';
import type { ControllerMetrics, OperatorMetrics } from '../metrics.ts';
import { conditionsFor, StalledError, type Outcome } from './outcome.ts';
import type { Plan, PlannedStatus, StatusOf } from './plan.ts';
import type { Reconciler, Watch } from './reconciler.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerPorts {
  /** Rejects writes while this process is not the leader. */
  readonly store: ResourceStore;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
  readonly newTokenKeys?: typeof generateTokenKeys;
}

/** Keys of one controller that are reconciled at once. The API server is the limit, so more workers would not be faster. */
const WORKERS = 4;
/** Interval at which every object is reconciled without an event; a random factor of ±10 % spreads the load. */
const RESYNC_MS = 10 * 60_000;
/** Interval for stalled objects, because the cause may be in an object that is not watched, such as a foreign Secret. */
const STALLED_RETRY_MS = 60_000;

const SRN_KINDS: Readonly<Partial<Record<CustomKind, SrnKind>>> = {
  Policy: 'policy',
  Role: 'role',
  ServiceToken: 'service-token',
};

/**
 * Runs a reconciler for all objects of its kind: observe, reconcile, execute the actions, write the status.
 *
 * A StalledError is written to the status and retried after a minute. A StoreError is retried with backoff. Any other error is a bug: it is
 * logged with its stack and retried with backoff.
 */
export class Controller<K extends CustomKind, Observed> {
  readonly #reconciler: Reconciler<K, Observed>;
  readonly #ports: ControllerPorts;
  readonly #queue: WorkQueue;
  readonly #metrics: ControllerMetrics;
  readonly #logLines: RateLimiter;
  readonly #abort = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #workers: Promise<void>[] = [];
  /** The objects whose status is being written, with that status, by key. */
  readonly #writing = new Map<string, ResourceByKind[K]>();
  /** Keys whose only event since their work began is a status that this controller wrote. */
  readonly #ownWrites = new Set<string>();
  /** The temporary states of objects that have one, and when each was seen first, by the monotonic clock. */
  readonly #states = new Map<string, { readonly state: string; readonly since: number }>();
  #cancelResync: () => void = () => {};

  constructor(reconciler: Reconciler<K, Observed>, ports: ControllerPorts) {
    this.#reconciler = reconciler;
    this.#ports = ports;
    const name = reconciler.kind.toLowerCase();
    this.#metrics = ports.metrics.controller(name);
    this.#queue = new WorkQueue(ports.clock, ports.metrics.queue(name));
    this.#logLines = new RateLimiter(ports.clock, LOG_LIMITS);
  }

  start(): void {
    const { store } = this.#ports;
    const { kind, watches, onOwnEvent } = this.#reconciler;
    this.#unsubscribe.push(
      store.subscribe(kind, (event) => {
        onOwnEvent?.(event);
        const { name } = event.object.metadata;
        if (this.#isOwnWrite(event)) this.#ownWrites.add(name);
        else this.#queue.add(name);
      }),
      ...watches.map((watch) => this.#watch(watch)),
    );
    this.#scheduleResync();
    this.#metrics.maxWorkers(WORKERS);
    for (let worker = 0; worker < WORKERS; worker++) this.#workers.push(this.#work());
  }

  /** Stops taking keys, aborts the current writes and waits for their end. */
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
      const startedAt = this.#ports.clock.monotonic();
      const result = await this.#reconcileSafely(key);
      this.#metrics.activeWorkers(-1);
      this.#metrics.reconciled(result, (this.#ports.clock.monotonic() - startedAt) / 1000);
      this.#queue.done(key);
    }
  }

  async #reconcileSafely(key: string): Promise<'success' | 'error' | 'requeue_after'> {
    try {
      const { isStalled, requeueAfterMs } = await this.#reconcile(key);
      this.#queue.forget(key);
      // An object whose actions fail may get another status at each attempt: its event must not cause the next attempt before its time.
      if (this.#ownWrites.delete(key) && !isStalled) this.#queue.add(key);
      if (requeueAfterMs === Infinity) return 'success';
      this.#queue.addAfter(key, requeueAfterMs);
      return 'requeue_after';
    } catch (error) {
      this.#ownWrites.delete(key);
      this.#failed(key, asError(error));
      return 'error';
    }
  }

  /** Whether the event is that of a status which this controller is writing. It arrives before the write resolves. */
  #isOwnWrite({ type, object }: StoreEvent<K>): boolean {
    const written = this.#writing.get(object.metadata.name);
    // Somebody else's change in the meantime, such as an annotation, must be seen at once.
    return type === 'modified' && written !== undefined && isDeepStrictEqual(content(object), content(written));
  }

  #failed(key: string, error: Error): void {
    if (this.#abort.signal.aborted || error instanceof NotLeaderError) return;
    const { log } = this.#ports;
    const context = { kind: this.#reconciler.kind, name: key, failures: this.#queue.requeues(key) };
    if (error instanceof StoreError && error.code === 'conflict')
      log.debug(context, 'object was changed concurrently; retrying');
    else if (error instanceof StoreError) {
      // An API server that rejects the writes of one object often rejects those of all.
      const suppressed = this.#logLines.admit(error.code);
      if (suppressed !== undefined)
        log.warn({ ...context, code: error.code, error: error.message, suppressed }, 'reconciliation failed; retrying');
    } else log.error({ ...context, err: error }, 'reconciler failed unexpectedly; retrying');
    this.#queue.addRateLimited(key, error instanceof StoreError ? error.retryAfterMs : undefined);
  }

  async #reconcile(key: string): Promise<Reconciled> {
    const { store, clock, newTokenKeys = generateTokenKeys } = this.#ports;
    const observed = await this.#reconciler.observe(store, key, this.#abort.signal);
    // Nothing may be created for an object that is being deleted.
    if (observed.object?.metadata.deletionTimestamp !== undefined)
      return { isStalled: false, requeueAfterMs: Infinity };
    const now = clock.now();
    const stateAgeMs = this.#stateAge(key, this.#reconciler.temporaryState?.(observed));
    const plan = this.#reconciler.reconcile(observed, { now, stateAgeMs, newTokenKeys: () => newTokenKeys() });
    let { object } = observed;
    if (object && plan.statusBefore) object = await this.#writeFields(object, plan.statusBefore, now);
    const stalled = await this.#execute(plan, object);
    const status = statusAfter(plan, stalled);
    if (object && status) await this.#writeStatus(object, status, now);
    const { requeueAfterMs = Infinity } = plan;
    return {
      isStalled: stalled !== undefined,
      requeueAfterMs: Math.min(stalled ? STALLED_RETRY_MS : Infinity, requeueAfterMs),
    };
  }

  /** Remembers when a state was seen first, until it is another or none. */
  #stateAge(key: string, state: string | undefined): number {
    if (state === undefined) {
      this.#states.delete(key);
      return 0;
    }
    const now = this.#ports.clock.monotonic();
    const known = this.#states.get(key);
    if (known?.state === state) return now - known.since;
    this.#states.set(key, { state, since: now });
    return 0;
  }

  /** @returns the outcome if an action failed and the user must act; undefined after success */
  async #execute(plan: Plan<StatusOf<K>>, object: ResourceByKind[K] | undefined): Promise<Outcome | undefined> {
    const { store, recorder } = this.#ports;
    try {
      for (const action of plan.actions) await execute(action, object, { store, recorder, signal: this.#abort.signal });
      return undefined;
    } catch (error) {
      if (error instanceof StalledError) return error.outcome;
      throw error;
    }
  }

  /** @returns the object with the status */
  async #writeStatus(
    object: ResourceByKind[K],
    planned: PlannedStatus<StatusOf<K>>,
    now: number,
  ): Promise<ResourceByKind[K]> {
    const before: { conditions?: readonly Condition[] } | undefined = object.status;
    const status = statusOf(object, planned, before?.conditions ?? [], now);
    if (isDeepStrictEqual(plain(before), plain(status))) return object;
    const written = await this.#storeStatus(object, status);
    this.#recordEvent(object, planned.outcome, before?.conditions ?? []);
    for (const { type, reason, message } of planned.events ?? [])
      this.#ports.recorder.record(object, type, reason, message);
    return written;
  }

  /** Writes the fields of a status, and leaves its conditions. @returns the object with the status */
  #writeFields(
    object: ResourceByKind[K],
    planned: PlannedStatus<StatusOf<K>>,
    now: number,
  ): Promise<ResourceByKind[K]> {
    const conditions: readonly Condition[] = object.status?.conditions ?? [];
    return this.#storeStatus(object, { ...statusOf(object, planned, conditions, now), conditions });
  }

  async #storeStatus(object: ResourceByKind[K], status: object): Promise<ResourceByKind[K]> {
    const { name } = object.metadata;
    const written = { ...object, status };
    this.#writing.set(name, written);
    try {
      const { signal } = this.#abort;
      return await this.#ports.store.updateStatus(this.#reconciler.kind, written, { signal });
    } finally {
      this.#writing.delete(name);
    }
  }

  /** Records an Event if the reason or the message has changed. A new object that is ready at once has no Event. */
  #recordEvent(object: ResourceByKind[K], outcome: Outcome, before: readonly Condition[]): void {
    const ready = before.find(({ type }) => type === 'Ready');
    if (ready === undefined && outcome.class === 'ready') return;
    if (ready?.reason === outcome.reason && ready.message === outcome.message) return;
    const type = outcome.class === 'stalled' ? 'Warning' : 'Normal';
    this.#ports.recorder.record(object, type, outcome.reason, outcome.message);
  }
}

/** The end of one reconciliation. */
interface Reconciled {
  /** Whether the user must act. */
  readonly isStalled: boolean;
  /** Milliseconds until the key is reconciled again; Infinity if only an event does that. */
  readonly requeueAfterMs: number;
}

/** @param stalled the outcome of an action that was refused */
function statusAfter<Status>(plan: Plan<Status>, stalled: Outcome | undefined): PlannedStatus<Status> | undefined {
  if (stalled === undefined) return plan.status;
  const status = plan.statusIfRefused ?? plan.status;
  return status && { ...status, outcome: stalled };
}

/** The complete status of an object. */
function statusOf<K extends CustomKind>(
  object: ResourceByKind[K],
  planned: PlannedStatus<StatusOf<K>>,
  conditions: readonly Condition[],
  now: number,
): object {
  const { generation, name } = object.metadata;
  const srnKind = SRN_KINDS[object.kind as CustomKind];
  return {
    ...(srnKind ? { srn: srnText(srnKind, name) } : {}),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...planned.fields,
    conditions: conditionsFor(planned, conditions, generation, now),
  };
}

/** A copy without undefined fields, comparable with a stored object. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** An object without what every write of it changes. */
function content({ metadata, ...others }: { readonly metadata: object }): unknown {
  return plain({ ...others, metadata: { ...metadata, resourceVersion: undefined, managedFields: undefined } });
}
