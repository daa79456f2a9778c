import type { Static, TObject, TProperties, TUnsafe } from 'typebox';
import type { Clock } from '../../platform/clock.ts';
import type { UpstreamObserver } from '../../platform/upstreams.ts';
import { choice, type PropertyValues } from '../../platform/setting-schema.ts';
import type { StoredCoding } from '../rows/frames.ts';
import type { ResultStore } from '../result-store.ts';

/** What a store needs from its process. */
export interface StoreContext {
  /** `brokerId` of this gateway. */
  readonly gatewayId: string;
  readonly clock: Clock;
  /** Called with problems for the operator that no caller can fix. */
  readonly onProblem: (message: string) => void;
  /** Counts the calls of a bucket. */
  readonly observer?: UpstreamObserver | undefined;
}

/** A kind of result store with its settings. */
export interface StoreDefinition {
  /** Value of `olap.broker.pagination.protocol`. */
  readonly protocol: string;
  /** Schemas of the store's properties by key, `olap.broker.pagination.<protocol>.…`. See platform/setting-schema.ts. */
  readonly properties: TProperties;
  /** Key of the property that this protocol requires. */
  readonly required?: string;
  /** Key of the property with the folder or the prefix of the results. */
  readonly place?: string;
  /**
   * Creates the store; call `start` before use. An SDK is imported here, so that it is loaded only if it is configured.
   * @throws {TypeError} for properties without a valid location
   */
  create(properties: PropertyValues, context: StoreContext): Promise<ResultStore>;
}

/** The setting of a store that compresses new results. @param store for the description */
export function compressionSetting(store: string): TUnsafe<'none' | StoredCoding> {
  return choice(['none', 'zstd'], {
    description: `How the ${store} store compresses the rows of new results. Results that exist are read either way; releases before 0.2 report compressed ones as damaged.`,
    default: 'none',
  });
}

/** @param value of the setting */
export function codingOf(value: 'none' | StoredCoding): StoredCoding | undefined {
  return value === 'none' ? undefined : value;
}

interface TypedDefinition<T extends TProperties> extends Omit<
  StoreDefinition,
  'properties' | 'required' | 'place' | 'create'
> {
  readonly properties: T;
  readonly place?: keyof T & string;
  readonly required?: keyof T & string;
  create(properties: Static<TObject<T>>, context: StoreContext): Promise<ResultStore>;
}

/** Defines a store. The types of the values that `create` gets follow from `properties`. */
export function defineStore<T extends TProperties>(definition: TypedDefinition<T>): StoreDefinition {
  return {
    ...definition,
    create: (properties, context) => definition.create(properties as Static<TObject<T>>, context),
  };
}
