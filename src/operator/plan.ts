import type { CustomKind, ResourceByKind, ResourceKind } from '../resources/kinds.ts';
import type { Outcome } from './outcome.ts';

type Create = {
  [K in ResourceKind]: {
    readonly do: 'create';
    readonly kind: K;
    readonly object: ResourceByKind[K];
    /** What it means that an object of the name is there already although the store does not show it; else it is tried again. */
    readonly ifExists?: Outcome;
  };
}[ResourceKind];

type Update = {
  [K in ResourceKind]: { readonly do: 'update'; readonly kind: K; readonly object: ResourceByKind[K] };
}[ResourceKind];

interface Delete {
  readonly do: 'delete';
  readonly kind: ResourceKind;
  readonly name: string;
  /** Deletes only this very object. */
  readonly uid: string | undefined;
}

interface Tell {
  readonly do: 'event';
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A change, as data. */
export type Action = Create | Update | Delete | Tell;

/** What a reconciler wants done, in this order: the actions one by one, then the status, once. */
export interface Plan<Status> {
  readonly actions: readonly Action[];
  /** Absent where there is no object to write a status to. */
  readonly status?: PlannedStatus<Status>;
  /** Look at the key again after so many milliseconds, also if nothing changes. */
  readonly requeueAfterMs?: number;
}

export interface PlannedStatus<Status> {
  readonly outcome: Outcome;
  /** The kind's own fields; srn, observedGeneration and conditions are filled in for all kinds alike. */
  readonly fields: Omit<Status, 'srn' | 'observedGeneration' | 'conditions'>;
}

export type StatusOf<K extends CustomKind> = NonNullable<ResourceByKind[K]['status']>;
