import type { CustomKind, ResourceByKind, ResourceKind } from '../../resources/kinds.ts';
import type { NewCondition } from '../../resources/conditions.ts';
import type { Outcome } from './outcome.ts';

type Create = {
  [K in ResourceKind]: {
    readonly do: 'create';
    readonly kind: K;
    readonly object: ResourceByKind[K];
    /** The outcome if an object of this name exists although the store does not show it. Without it the create is retried. */
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
  /** Deletes the object only if it has this uid. */
  readonly uid: string | undefined;
  /** Deletes the object only in this version, if it is given. */
  readonly resourceVersion?: string | undefined;
}

export interface RecordEvent {
  readonly do: 'event';
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A change, as data. */
export type Action = Create | Update | Delete | RecordEvent;

/** The result of a reconciler: the actions are executed in order, then the status is written. */
export interface Plan<Status> {
  /** Written before the actions, if what they write is only valid with it. The conditions stay as they are, because the actions decide them. */
  readonly statusBefore?: PlannedStatus<Status>;
  /** Its fields are written instead of those of `status` if an action was refused, so that the user must act. */
  readonly statusIfRefused?: PlannedStatus<Status>;
  readonly actions: readonly Action[];
  /** Absent if there is no object. */
  readonly status?: PlannedStatus<Status>;
  /** Milliseconds until the key is reconciled again without an event. */
  readonly requeueAfterMs?: number;
}

/** Reason of `Warning` where conditions of a policy could not be compared with the columns of tables. */
export const COLUMNS_NOT_CHECKED = 'ColumnsNotChecked';

export interface PlannedStatus<Status> {
  readonly outcome: Outcome;
  /** The fields of the kind. The controller adds srn, observedGeneration and conditions. */
  readonly fields: Omit<Status, 'srn' | 'observedGeneration' | 'conditions'>;
  /** Become the condition `Warning`. */
  readonly warnings?: readonly string[];
  /** Reason of the condition `Warning`; `NameNotFound` by default. */
  readonly warningReason?: 'NeverMatches' | typeof COLUMNS_NOT_CHECKED | undefined;
  /** Conditions of the kind itself; their types are in `outcome.ts`. */
  readonly conditions?: readonly NewCondition[];
  /** Recorded once the status is written, so that a conflict does not repeat them. */
  readonly events?: readonly RecordEvent[];
}

export type StatusOf<K extends CustomKind> = NonNullable<ResourceByKind[K]['status']>;
