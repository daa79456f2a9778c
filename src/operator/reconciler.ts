import type { CustomKind, ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import type { ResourceStore, StoreEvent } from '../store/resource-store.ts';
import type { TokenKeys } from '../access/service-token.ts';
import type { Plan, StatusOf } from './plan.ts';

/** What a reconciler may know beside what it observed. */
export interface ReconcileContext {
  readonly now: Date;
  /** Draws new keys of a service token. */
  readonly newTokenKeys: () => TokenKeys;
}

/** A kind whose changes matter to a reconciler, and which keys one of them touches. */
export type Watch = {
  [K in ResourceKind]: { readonly kind: K; readonly keysOf: (event: StoreEvent<K>) => Iterable<string> };
}[ResourceKind];

/**
 * One kind's logic, level-triggered: whatever happened, observe() reads the state as it is and reconcile() says what is to be done.
 * An instance serves one controller: its watches may keep an index of what they saw.
 */
export interface Reconciler<K extends CustomKind = CustomKind, Observed = unknown> {
  readonly kind: K;
  /** The kind itself is watched too, before these. */
  readonly watches: readonly Watch[];
  /** Keeps an index by the events of the kind itself. */
  readonly onOwnEvent?: (event: StoreEvent<K>) => void;
  /** Reads what reconcile() needs from the store's view. Changes nothing. */
  readonly observe: (store: ResourceStore, name: string) => Observed & Subject<K>;
  /** Pure: the same observation gives the same plan. */
  readonly reconcile: (observed: Observed & Subject<K>, context: ReconcileContext) => Plan<StatusOf<K>>;
}

/** The object that an observation is about; undefined once it is gone. */
export interface Subject<K extends CustomKind> {
  readonly object: ResourceByKind[K] | undefined;
}
