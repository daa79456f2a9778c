import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { isPredefined, PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../access/predefined.ts';
import type { Policy, Role } from '../resources/kinds.ts';
import { ANNOTATIONS } from '../resources/meta.ts';
import { StoreError, type ResourceStore } from '../store/resource-store.ts';
import type { OperatorClock } from './clock.ts';
import { execute } from './executor.ts';
import type { EventRecorder } from './events.ts';
import { NotLeaderError } from './fenced-store.ts';
import type { OperatorMetrics } from './metrics.ts';
import type { Action } from './plan.ts';
import { WorkQueue } from './work-queue.ts';

export interface PredefinedPorts {
  readonly store: ResourceStore;
  readonly recorder: EventRecorder;
  readonly clock: OperatorClock;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
}

type Wanted = { readonly kind: 'Policy'; readonly object: Policy } | { readonly kind: 'Role'; readonly object: Role };

const WANTED: ReadonlyMap<string, Wanted> = new Map([
  ...PREDEFINED_POLICIES.map((object): [string, Wanted] => [
    `Policy/${object.metadata.name}`,
    { kind: 'Policy', object },
  ]),
  ...PREDEFINED_ROLES.map((object): [string, Wanted] => [`Role/${object.metadata.name}`, { kind: 'Role', object }]),
]);

/** What has to be done so that a predefined object is as it should be; nothing where it is. Labels and annotations of others stay. */
export function restore(wanted: Wanted, found: Policy | Role | undefined, now: Date): Action[] {
  const { metadata, spec } = wanted.object;
  const annotations = { ...metadata.annotations, [ANNOTATIONS.lastUpdatedAt]: now.toISOString() };
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
  const told: Action = {
    do: 'event',
    type: 'Warning',
    reason: 'Restored',
    message:
      'a predefined resource cannot be changed: it was put back as it was; make one of your own under another name',
  };
  return [{ do: 'update', kind: wanted.kind, object } as Action, told];
}

function includes(all: Record<string, string> | undefined, some: Record<string, string> | undefined): boolean {
  return Object.entries(some ?? {}).every(([key, value]) => all?.[key] === value);
}

/** Makes the predefined policies and roles, and puts them back whenever they are deleted or changed, until `signal` aborts. */
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
    for (const end of unsubscribe) end();
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
    const actions = restore(wanted, found, new Date(clock.now()));
    for (const action of actions) await execute(action, found, { store, recorder, signal });
    if (actions.length > 0)
      log.info({ kind: wanted.kind, name, existed: found !== undefined }, 'predefined resource put in place');
    queue.forget(key);
  } catch (error) {
    if (signal.aborted || error instanceof NotLeaderError) return;
    log.warn(
      { kind: wanted.kind, name, error: (error as Error).message },
      'cannot put a predefined resource in place; trying again',
    );
    queue.addRateLimited(key, error instanceof StoreError ? error.retryAfterMs : undefined);
  }
}
