import type { ResourceKind } from '../../resources/kinds.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
import type { EventRecorder, EventSubject } from '../../kubernetes/events.ts';
import { StalledError } from './outcome.ts';
import type { Action } from './plan.ts';

export interface ExecutorPorts {
  readonly store: ResourceStore;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
}

/**
 * Executes one action of a plan.
 * @throws {StalledError} the user must act
 * @throws {StoreError} a retry may succeed
 */
export async function execute(action: Action, subject: EventSubject | undefined, ports: ExecutorPorts): Promise<void> {
  switch (action.do) {
    case 'create':
      await create(action, ports);
      return;
    case 'update':
      await stalledIfRejected(() =>
        ports.store.update<ResourceKind>(action.kind, action.object, { signal: ports.signal }),
      );
      return;
    case 'delete':
      await remove(action, ports);
      return;
    case 'event':
      if (subject) ports.recorder.record(subject, action.type, action.reason, action.message);
  }
}

async function create(action: Action & { do: 'create' }, ports: ExecutorPorts): Promise<void> {
  try {
    await stalledIfRejected(() =>
      ports.store.create<ResourceKind>(action.kind, action.object, { signal: ports.signal }),
    );
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'already-exists' || !action.ifExists) throw error;
    throw new StalledError(action.ifExists.reason, action.ifExists.message, { cause: error });
  }
}

async function remove(action: Action & { do: 'delete' }, { store, signal }: ExecutorPorts): Promise<void> {
  try {
    const { kind, name, uid, resourceVersion } = action;
    await stalledIfRejected(() =>
      store.delete(kind, name, {
        signal,
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      }),
    );
  } catch (error) {
    // Deleted already.
    if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
  }
}

/** Converts errors that a retry would repeat (`invalid`, `forbidden`) to StalledError. */
async function stalledIfRejected(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.code === 'invalid') throw new StalledError('Refused', error.message, { cause: error });
    if (error.code === 'forbidden') throw new StalledError('Forbidden', error.message, { cause: error });
    throw error;
  }
}
