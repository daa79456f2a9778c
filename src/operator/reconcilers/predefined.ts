import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { errorMessage } from '../../platform/plain-error.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../access/policy/predefined.ts';
import type { CustomKind, Policy, Role } from '../../resources/kinds.ts';
import type { Clock } from '../../platform/clock.ts';
import { LOG_LIMITS, RateLimiter } from '../../platform/rate-limiter.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { StoreError, type ResourceStore, type StoreEvent } from '../../store/resource-store.ts';
import { execute } from '../controller/executor.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import { NotLeaderError } from '../leader/fenced-store.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { Action } from '../controller/plan.ts';
import { WorkQueue } from '../controller/work-queue.ts';

export interface PredefinedPorts {
  readonly store: ResourceStore;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
}

/** Longest delay of another attempt. */
const MAX_RETRY_MS = 10_000;

type WantedObject =
  | { readonly kind: 'Policy'; readonly object: Policy }
  | { readonly kind: 'Role'; readonly object: Role };

const WANTED: ReadonlyMap<string, WantedObject> = new Map([
  ...PREDEFINED_POLICIES.map((object): [string, WantedObject] => [
    `Policy/${object.metadata.name}`,
    { kind: 'Policy', object },
  ]),
  ...PREDEFINED_ROLES.map((object): [string, WantedObject] => [
    `Role/${object.metadata.name}`,
    { kind: 'Role', object },
  ]),
]);

/** The actions that create or restore a predefined object; none if it is unchanged. Other labels and annotations are kept. */
export function restore(wanted: WantedObject, found: Policy | Role | undefined, now: number): Action[] {
  const { metadata, spec } = wanted.object;
  const annotations = { ...metadata.annotations, [ANNOTATIONS.lastUpdatedAt]: new Date(now).toISOString() };
  if (!found) {
    const object = { ...wanted.object, metadata: { ...metadata, annotations } };
    return [{ do: 'create', kind: wanted.kind, object } as Action];
  }
  const intact =
    isDeepStrictEqual(found.spec, spec) &&
    includes(found.metadata.labels, metadata.labels) &&
    includes(found.metadata.annotations, metadata.annotations);
  if (intact) return [];
  const object = {
    ...found,
    spec,
    metadata: {
      ...found.metadata,
      labels: { ...found.metadata.labels, ...metadata.labels },
      annotations: { ...found.metadata.annotations, ...annotations },
    },
  };
  const event: Action = {
    do: 'event',
    type: 'Warning',
    reason: 'Restored',
    message:
      'predefined resources cannot be changed: the change was reverted; create a resource with another name instead',
  };
  return [{ do: 'update', kind: wanted.kind, object } as Action, event];
}

function includes(all: Record<string, string> | undefined, some: Record<string, string> | undefined): boolean {
  return Object.entries(some ?? {}).every(([key, value]) => all?.[key] === value);
}

/**
 * An object that the operator creates, and creates again after its deletion. After a change it stays until the next start: others may manage it, and
 * would undo what is restored for ever.
 */
export interface OwnedResource {
  readonly kind: CustomKind;
  readonly name: string;
  /** Brings the object into the wanted state. Idempotent. @throws {StoreError} */
  readonly ensure: (store: ResourceStore, signal: AbortSignal) => Promise<void>;
}

/**
 * Creates the predefined policies and roles, and restores them after each change or deletion; the same for the other owned objects, which may be
 * changed. Until `signal` aborts. A failed attempt is repeated after at most ten seconds: a kind that was deleted with its definition does not report when it is served again.
 */
export async function keepOwned(
  ports: PredefinedPorts,
  signal: AbortSignal,
  others: readonly OwnedResource[] = [],
): Promise<void> {
  const { store, clock, metrics } = ports;
  const queue = new WorkQueue(clock, metrics.queue('predefined'), MAX_RETRY_MS);
  const owned = new Map([
    ...[...WANTED].map(([key, wanted]) => [key, (aborted: AbortSignal) => restoreOne(wanted, ports, aborted)] as const),
    ...others.map(({ kind, name, ensure }) => {
      return [`${kind}/${name}`, (aborted: AbortSignal) => ensure(store, aborted)] as const;
    }),
  ]);
  const add = ({ type, kind, object }: StoreEvent): void => {
    const key = `${kind}/${object.metadata.name}`;
    if (WANTED.has(key) || (type === 'deleted' && owned.has(key))) queue.add(key);
  };
  const kinds = new Set(Array.from(owned.keys(), (key) => key.slice(0, key.indexOf('/')) as CustomKind));
  const unsubscribe = Array.from(kinds, (kind) => store.subscribe(kind, add));
  for (const key of owned.keys()) queue.add(key);
  const stop = (): void => void queue.shutDown();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const logLines = new RateLimiter(clock, LOG_LIMITS);
  try {
    for (;;) {
      const key = await queue.get();
      if (key === undefined) return;
      await attempt(key, owned.get(key), { ...ports, queue, logLines }, signal);
      queue.done(key);
    }
  } finally {
    for (const stopListening of unsubscribe) stopListening();
    signal.removeEventListener('abort', stop);
  }
}

async function attempt(
  key: string,
  ensure: ((signal: AbortSignal) => Promise<void>) | undefined,
  { queue, logLines, log }: PredefinedPorts & { readonly queue: WorkQueue; readonly logLines: RateLimiter },
  signal: AbortSignal,
): Promise<void> {
  try {
    await ensure?.(signal);
    queue.forget(key);
  } catch (error) {
    if (signal.aborted || error instanceof NotLeaderError) return;
    const suppressed = logLines.admit(error instanceof StoreError ? error.code : 'other');
    if (suppressed !== undefined)
      log.warn(
        { object: key, error: errorMessage(error), suppressed },
        'failed to create or restore a resource of the operator; retrying',
      );
    queue.addRateLimited(key, error instanceof StoreError ? error.retryAfterMs : undefined);
  }
}

async function restoreOne(wanted: WantedObject, ports: PredefinedPorts, signal: AbortSignal): Promise<void> {
  const { store, clock, log, recorder } = ports;
  const { name } = wanted.object.metadata;
  const found = store.get(wanted.kind, name);
  if (found?.metadata.deletionTimestamp !== undefined) return;
  const actions = restore(wanted, found, clock.now());
  for (const action of actions) await execute(action, found, { store, recorder, signal });
  if (actions.length > 0)
    log.info({ kind: wanted.kind, name, existed: found !== undefined }, 'predefined resource created or restored');
}
