import type { CustomKind, ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import type { ResourceStore, StoreEvent } from '../../store/resource-store.ts';
import type { TokenKeys } from '../../access/service-token.ts';
import type { Plan, StatusOf } from './plan.ts';

/** Input of a reconciler besides its observation. */
export interface ReconcileContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** How long `temporaryState` has been the same, milliseconds by the monotonic clock; 0 without one. */
  readonly stateAgeMs: number;
  /** Generates the keys of a service token. */
  readonly newTokenKeys: () => TokenKeys;
}

/** A further kind that a reconciler watches, and the keys to reconcile after one of its events. */
export type Watch = {
  [K in ResourceKind]: { readonly kind: K; readonly keysOf: (event: StoreEvent<K>) => Iterable<string> };
}[ResourceKind];

/** Whether more than the metadata and the status of an object has changed. */
export function isOtherSpec({ type, object, previous }: StoreEvent<CustomKind>): boolean {
  const { uid, generation } = object.metadata;
  return type !== 'modified' || uid !== previous?.metadata.uid || generation !== previous?.metadata.generation;
}

/**
 * The logic of one kind. Level-triggered: after any event, observe() reads the current state and reconcile() computes the plan. An instance
 * belongs to one controller, so its watches may maintain an index.
 */
export interface Reconciler<K extends CustomKind = CustomKind, Observed = unknown> {
  readonly kind: K;
  /** Watches besides the kind itself, which is subscribed first. */
  readonly watches: readonly Watch[];
  /** Maintains an index from the events of the kind itself. */
  readonly onOwnEvent?: (event: StoreEvent<K>) => void;
  /** Reads the input of reconcile() from the store. Has no side effects. */
  readonly observe: (
    store: ResourceStore,
    name: string,
    signal: AbortSignal,
  ) => (Observed & ReconciledObject<K>) | Promise<Observed & ReconciledObject<K>>;
  /**
   * Identifies a state that only lasts for a time, such as a mark that a gateway must remove; undefined without one. Its age is measured from when
   * this process saw it first: the clock of the machine that wrote it may differ.
   */
  readonly temporaryState?: (observed: Observed & ReconciledObject<K>) => string | undefined;
  /** Pure: the plan depends only on the arguments. */
  readonly reconcile: (observed: Observed & ReconciledObject<K>, context: ReconcileContext) => Plan<StatusOf<K>>;
}

/** The reconciled object; undefined after its deletion. */
export interface ReconciledObject<K extends CustomKind> {
  readonly object: ResourceByKind[K] | undefined;
}
