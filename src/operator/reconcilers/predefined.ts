import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { errorMessage } from '../../platform/plain-error.ts';
import { isPredefined, PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../access/policy/predefined.ts';
import type { Policy, Role } from '../../resources/kinds.ts';
import type { Clock } from '../../platform/clock.ts';
import { ANNOTATIONS } from '../../resources/meta.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
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

/** Creates the predefined policies and roles and restores them after each change or deletion, until `signal` aborts. */
export async function keepPredefined(ports: PredefinedPorts, signal: AbortSignal): Promise<void> {
  const { store, clock, metrics } = ports;
  const queue = new WorkQueue(clock, metrics.queue('predefined'));
  const add = (kind: 'Policy' | 'Role') => (event: { object: Policy | Role }) => {
    if (isPredefined(event.object.metadata.name)) queue.add(`${kind}/${event.object.metadata.name}`);
  };
  const unsubscribe = [store.subscribe('Policy', add('Policy')), store.subscribe('Role', add('Role'))];
  for (const key of WANTED.keys()) queue.add(key);
  const stop = (): void => void queue.shutDown();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const key = await queue.get();
      if (key === undefined) return;
      await restoreOne(key, queue, ports, signal);
      queue.done(key);
    }
  } finally {
    for (const stopListening of unsubscribe) stopListening();
    signal.removeEventListener('abort', stop);
  }
}

async function restoreOne(key: string, queue: WorkQueue, ports: PredefinedPorts, signal: AbortSignal): Promise<void> {
  const wanted = WANTED.get(key);
  if (!wanted) return;
  const { store, clock, log, recorder } = ports;
  const { name } = wanted.object.metadata;
  const found = store.get(wanted.kind, name);
  if (found?.metadata.deletionTimestamp !== undefined) return;
  try {
    const actions = restore(wanted, found, clock.now());
    for (const action of actions) await execute(action, found, { store, recorder, signal });
    if (actions.length > 0)
      log.info({ kind: wanted.kind, name, existed: found !== undefined }, 'predefined resource created or restored');
    queue.forget(key);
  } catch (error) {
    if (signal.aborted || error instanceof NotLeaderError) return;
    log.warn(
      { kind: wanted.kind, name, error: errorMessage(error) },
      'failed to create or restore a predefined resource; retrying',
    );
    queue.addRateLimited(key, error instanceof StoreError ? error.retryAfterMs : undefined);
  }
}
